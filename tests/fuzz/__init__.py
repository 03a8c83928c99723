"""Fuzzing of the interpreter: broken and hostile declarations, compiled schemas on any JSON value.

The test runs a few examples each time; ``python -m tests.fuzz --seconds 600`` runs for as long as asked.
"""
