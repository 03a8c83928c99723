"""Transactions, revisions, operations and versions behind one contract; SQLite is the embedded store."""
