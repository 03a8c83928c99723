"""Tests of character card reading."""
