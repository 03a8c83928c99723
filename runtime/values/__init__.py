"""JSON values: bounds, canonical form, paths, copying, changes, YAML and JSON5 reading.

JavaScript's own value rules (numbers, UTF-16, key order, truthiness) live in ``interpreter.javascript``.
"""
