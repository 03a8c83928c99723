"""Tests of the world kernel."""
