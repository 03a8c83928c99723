"""From the checked syntax tree to the schema graph."""
