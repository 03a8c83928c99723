"""From source text to a checked syntax tree."""
