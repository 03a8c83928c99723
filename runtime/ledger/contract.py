"""The contract between the domain and a store: tables as data and a handful of operations (design §8).

A room describes what it keeps as :class:`Table` rows; a store (SQLite, PostgreSQL) offers the same operations over them.
Column kinds: ``text``, ``integer`` (64 bit), ``json`` (any JSON value; decoded on reading), ``blob``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

ColumnKind = Literal["text", "integer", "json", "blob"]
Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its ``columns`` (name to kind), its primary ``key`` and further ``indexes`` (tuples of columns)."""

    name: str
    columns: Mapping[str, ColumnKind]
    key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()
    decoded: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "decoded", frozenset(n for n, kind in self.columns.items() if kind == "json"))


@dataclass(frozen=True, slots=True)
class StoredContent:
    """One stored JSON value: ``key`` names it in the store, ``hash`` is the SHA-256 of its canonical form."""

    key: str
    hash: str
    size: int


class Transaction(Protocol):
    """One consistent view of the store; writes of a failed job leave nothing behind."""

    def get(self, table: Table, *key: Any) -> Row | None:
        """The row with this primary key, or ``None``."""
        ...

    def select(
        self,
        table: Table,
        equals: Mapping[str, Any] | None = None,
        *,
        above: tuple[str, int] | None = None,
        below: tuple[str, int] | None = None,
        order: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[Row]:
        """Rows whose columns equal ``equals``; ``above``/``below`` bound one integer column, both inclusive."""
        ...

    def insert(self, table: Table, row: Mapping[str, Any]) -> None:
        """Add a row; an existing key is a fault of the caller."""
        ...

    def put(self, table: Table, row: Mapping[str, Any]) -> None:
        """Add a whole row or replace the one with its key."""
        ...

    def update(self, table: Table, key: Sequence[Any], changes: Mapping[str, Any]) -> None:
        """Change columns of the row with this primary key."""
        ...

    def delete(self, table: Table, equals: Mapping[str, Any]) -> None:
        """Remove the rows whose columns equal ``equals``."""
        ...

    def store_content(self, value: Any, *, near: str | None = None) -> StoredContent:
        """Keep a JSON value once; ``near`` is the key of a similar content that it may be stored against."""
        ...

    def load_content(self, key: str) -> Any:
        """The value kept under ``key``; shared, nobody mutates it."""
        ...

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run ``action`` once the transaction is durable; never when it fails."""
        ...


class Ledger(Protocol):
    """A store of tables and contents; thread-safe."""

    def write(self, job: Callable[[Transaction], T]) -> T:
        """Run ``job`` in one durable transaction and return its result; its exception rolls back and is raised."""
        ...

    def read(self, job: Callable[[Transaction], T]) -> T:
        """Run ``job`` on one consistent snapshot."""
        ...

    def close(self) -> None:
        """Finish the queued writes and release the store."""
        ...
