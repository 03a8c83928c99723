"""Numbered migrations of the SQLite store; a released one never changes.

``PRAGMA user_version`` holds the number of the newest migration that a file has seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from runtime.ledger.contract import Table
from runtime.ledger.tables import TABLES
from runtime.values.rows import InnkeeperError

_TYPES = {"text": "TEXT", "integer": "INTEGER", "json": "TEXT", "blob": "BLOB"}


def table_statements(table: Table) -> list[str]:
    """The statements that create ``table`` and its indexes."""
    columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in table.columns.items())
    # Rows with large bodies stay out of the key's tree, small ones live in it.
    tail = "" if "blob" in table.columns.values() else " WITHOUT ROWID"
    statements = [f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)})){tail}"]
    for number, index in enumerate(table.indexes):
        statements.append(f"CREATE INDEX {table.name}_{number} ON {table.name} ({', '.join(index)})")
    return statements


def _first(connection: sqlite3.Connection) -> None:
    for table in TABLES:
        for statement in table_statements(table):
            connection.execute(statement)


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first,)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file to the newest version, each step in one transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise InnkeeperError(
            "STORAGE_VERSION",
            f"the data directory is at version {version}, this release knows {len(MIGRATIONS)}: use the newer release",
        )
    for number in range(version, len(MIGRATIONS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            MIGRATIONS[number](connection)
            connection.execute(f"PRAGMA user_version={number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
