"""Tests of the sessions room."""
