"""Applying a compiled declaration to a value."""
