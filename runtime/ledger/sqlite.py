"""The embedded store: SQLite in WAL mode, ``synchronous=FULL``, one writer thread with group commit (design §8).

Every queued job runs in a savepoint of one shared transaction, so one failure does not touch its neighbours, and no
job is answered before the commit that holds it. Readers use a connection of their own per thread.
"""

from __future__ import annotations

import json
import logging
import queue
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import orjson

from runtime.ledger import contents
from runtime.ledger.cancellation import Cancelled, current_signal
from runtime.ledger.contract import Row, StoredContent, Table
from runtime.ledger.limits import BUSY_TIMEOUT, GROUP_COMMIT
from runtime.ledger.migrations import migrate
from runtime.values.rows import InnkeeperError

log = logging.getLogger("innkeeper.ledger")
T = TypeVar("T")
_STOP = object()


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _decode(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # lone surrogates and integers beyond 64 bits
        return json.loads(text)


class SqliteTransaction:
    """The operations of :class:`runtime.ledger.contract.Transaction` over one SQLite connection."""

    def __init__(self, connection: sqlite3.Connection, cache: contents.ContentCache) -> None:
        self._connection = connection
        self._cache = cache
        self._actions: list[Callable[[], None]] = []

    def _rows(self, table: Table, cursor: sqlite3.Cursor) -> list[Row]:
        names = tuple(table.columns)
        rows = [dict(zip(names, values, strict=True)) for values in cursor]
        for name in table.decoded:
            for row in rows:
                row[name] = _decode(row[name])
        return rows

    def _values(self, table: Table, row: Mapping[str, Any]) -> list[Any]:
        return [_encode(value) if name in table.decoded and value is not None else value for name, value in row.items()]

    def get(self, table: Table, *key: Any) -> Row | None:
        """See the contract."""
        found = self.select(table, dict(zip(table.key, key, strict=True)), limit=1)
        return found[0] if found else None

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
        """See the contract."""
        terms = [f"{name} IS ?" if value is None else f"{name} = ?" for name, value in (equals or {}).items()]
        values = list((equals or {}).values())
        for bound, sign in ((above, ">="), (below, "<=")):
            if bound is not None:
                terms.append(f"{bound[0]} {sign} ?")
                values.append(bound[1])
        text = f"SELECT {', '.join(table.columns)} FROM {table.name}"
        if terms:
            text += " WHERE " + " AND ".join(terms)
        if order:
            text += " ORDER BY " + ", ".join(f"{name}{' DESC' if descending else ''}" for name in order)
        if limit is not None:
            text += " LIMIT ?"
            values.append(limit)
        return self._rows(table, self._connection.execute(text, values))

    def _write(self, verb: str, table: Table, row: Mapping[str, Any]) -> None:
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self._connection.execute(f"{verb} INTO {table.name} ({names}) VALUES ({marks})", self._values(table, row))

    def insert(self, table: Table, row: Mapping[str, Any]) -> None:
        """See the contract."""
        self._write("INSERT", table, row)

    def put(self, table: Table, row: Mapping[str, Any]) -> None:
        """See the contract."""
        self._write("INSERT OR REPLACE", table, row)

    def update(self, table: Table, key: Sequence[Any], changes: Mapping[str, Any]) -> None:
        """See the contract."""
        if not changes:
            return
        assignments = ", ".join(f"{name} = ?" for name in changes)
        condition = " AND ".join(f"{name} = ?" for name in table.key)
        text = f"UPDATE {table.name} SET {assignments} WHERE {condition}"
        self._connection.execute(text, [*self._values(table, changes), *key])

    def delete(self, table: Table, equals: Mapping[str, Any]) -> None:
        """See the contract."""
        condition = " AND ".join(f"{name} = ?" for name in equals)
        self._connection.execute(f"DELETE FROM {table.name} WHERE {condition}", list(equals.values()))

    def store_content(self, value: Any, *, near: str | None = None) -> StoredContent:
        """See the contract."""
        return contents.store(self, self._cache, value, near)

    def load_content(self, key: str) -> Any:
        """See the contract."""
        return contents.load(self, self._cache, key)

    def after_commit(self, action: Callable[[], None]) -> None:
        """See the contract."""
        self._actions.append(action)

    def take_actions(self) -> list[Callable[[], None]]:
        """The actions to run after the commit."""
        return self._actions


class _Job:
    """A queued write and the caller's future."""

    def __init__(self, run: Callable[[SqliteTransaction], Any]) -> None:
        self.run = run
        self.signal = current_signal()
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: BaseException | None = None
        self.actions: list[Callable[[], None]] = []


class SqliteLedger:
    """A ledger in one SQLite file (``None``: a temporary one that ends with the ledger).

    Raises ``STORAGE_UNAVAILABLE`` when the file cannot be used, ``STORAGE_VERSION`` when a newer release wrote it.
    """

    def __init__(self, path: Path | None) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="innkeeper-") if path is None else None
        self._path = str(path) if self._directory is None else str(Path(self._directory.name) / "ledger.sqlite")
        self._cache = contents.ContentCache()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        try:
            self._writer = self._connect()
            migrate(self._writer)
        except sqlite3.Error as error:
            raise InnkeeperError("STORAGE_UNAVAILABLE", f"the storage cannot be opened: {error}") from error
        self._thread = threading.Thread(target=self._serve, name="ledger-writer", daemon=True)
        self._thread.start()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, cached_statements=512)
        connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT.default}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL" if self._directory is None else "PRAGMA synchronous=OFF")
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    def write(self, job: Callable[[SqliteTransaction], T]) -> T:
        """See the contract."""
        if self._closed:
            raise InnkeeperError("STORAGE_UNAVAILABLE", "the storage is closed")
        if threading.current_thread() is self._thread:
            raise RuntimeError("a write inside a write: pass the transaction on instead")
        entry = _Job(job)
        self._queue.put(entry)
        result: T = entry.future.result()
        return result

    def read(self, job: Callable[[SqliteTransaction], T]) -> T:
        """See the contract."""
        if self._closed:
            raise InnkeeperError("STORAGE_UNAVAILABLE", "the storage is closed")
        connection = self._reader()
        try:
            connection.execute("BEGIN")
            try:
                return job(SqliteTransaction(connection, self._cache))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise InnkeeperError("STORAGE_UNAVAILABLE", f"the storage did not answer: {error}") from error

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
            with self._lock:
                self._readers.append(connection)
        return connection

    def _serve(self) -> None:
        while True:
            entry = self._queue.get()
            if entry is _STOP:
                return
            batch = [entry]
            stopping = False
            while len(batch) < GROUP_COMMIT.default and not self._queue.empty():
                following = self._queue.get()
                if following is _STOP:
                    stopping = True
                    break
                batch.append(following)
            self._commit(batch)
            for job in batch:
                self._answer(job)
            if stopping:
                return

    def _commit(self, batch: list[_Job]) -> None:
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for job in batch:
                self._run(job)
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            refusal = InnkeeperError("STORAGE_UNAVAILABLE", f"the storage did not take the change: {error}")
            for job in batch:
                job.error = job.error or refusal

    def _run(self, job: _Job) -> None:
        self._writer.execute("SAVEPOINT job")
        transaction = SqliteTransaction(self._writer, self._cache)
        try:
            if job.signal is not None and job.signal():
                raise Cancelled
            job.result = job.run(transaction)
            job.actions = transaction.take_actions()
        except BaseException as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK TO job")
            job.error = error
            if isinstance(error, sqlite3.OperationalError):
                job.error = InnkeeperError("STORAGE_UNAVAILABLE", f"the storage did not take the change: {error}")
        if self._writer.in_transaction:
            self._writer.execute("RELEASE job")

    @staticmethod
    def _answer(job: _Job) -> None:
        if job.error is not None:
            job.future.set_exception(job.error)
            return
        for action in job.actions:
            try:
                action()
            except Exception:  # what listens to commits must never stop the writer
                log.exception("a listener of a commit failed")
        job.future.set_result(job.result)

    def close(self) -> None:
        """See the contract."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(_STOP)
        self._thread.join()
        for connection in [*self._readers, self._writer]:
            connection.close()
        if self._directory is not None:
            self._directory.cleanup()

    def backup(self, target: Path) -> None:
        """Copy a consistent state of the whole store to ``target`` while the service runs."""
        destination = sqlite3.connect(target)
        try:
            self._reader().backup(destination)
        finally:
            destination.close()
