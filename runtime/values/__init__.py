"""JSON values: bounds, JavaScript rules, paths, pointers, canonical form, YAML and JSON5 reading."""
