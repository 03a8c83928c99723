"""Conformance as data: one runner over recorded cases, ``python -m tests.conformance SUITE FILE…``."""
