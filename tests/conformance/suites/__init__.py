"""One module per suite; each offers ``cases(entry, options)``, see ``tests.conformance.runner``."""
