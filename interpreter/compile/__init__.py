"""From the schema graph to parsers."""
