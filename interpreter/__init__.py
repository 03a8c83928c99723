"""Zod declarations: text to syntax to schema to parse(value). Pure: no I/O, imports nothing of ours."""
