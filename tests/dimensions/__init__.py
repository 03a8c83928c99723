"""Tests of world dimensions and the world clock."""
