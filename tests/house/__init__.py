"""Tests of the repository itself: layout, tidiness, documents, packaging."""
