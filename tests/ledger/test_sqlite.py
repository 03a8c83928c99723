"""The ledger's contract on SQLite: one transaction or nothing, contents once, deltas, reopening (design §8)."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.ledger.cancellation import Cancelled, cancellable
from runtime.ledger.contents import CONTENTS
from runtime.ledger.contract import Transaction
from runtime.ledger.sqlite import SqliteLedger
from runtime.ledger.tables import COUNTERS, OPERATIONS
from runtime.values.rows import InnkeeperError


def counter(name: str, value: int) -> dict[str, Any]:
    return {"name": name, "value": value}


def test_a_failed_job_leaves_nothing_and_its_neighbours_stay() -> None:
    ledger = SqliteLedger(None)

    def fail(tx: Transaction) -> None:
        tx.insert(COUNTERS, counter("lost", 1))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ledger.write(fail)
    ledger.write(lambda tx: tx.insert(COUNTERS, counter("kept", 2)))
    assert ledger.read(lambda tx: tx.select(COUNTERS)) == [counter("kept", 2)]
    ledger.close()


def test_actions_run_after_the_commit_only() -> None:
    ledger = SqliteLedger(None)
    heard: list[str] = []

    def job(tx: Transaction, name: str, fails: bool) -> None:
        tx.after_commit(lambda: heard.append(name))
        if fails:
            raise ValueError

    with pytest.raises(ValueError):
        ledger.write(lambda tx: job(tx, "bad", True))
    ledger.write(lambda tx: job(tx, "good", False))
    assert heard == ["good"]
    ledger.close()


def test_what_was_acknowledged_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = SqliteLedger(path)
    key = ledger.write(lambda tx: tx.store_content({"b": 1, "a": [1.5, None, "\ud800"]})).key
    ledger.close()
    again = SqliteLedger(path)
    assert list(again.read(lambda tx: tx.load_content(key)).items()) == [("b", 1), ("a", [1.5, None, "\ud800"])]
    again.close()


def test_threads_write_side_by_side() -> None:
    ledger = SqliteLedger(None)

    def bump(tx: Transaction) -> None:
        row = tx.get(COUNTERS, "n")
        tx.put(COUNTERS, counter("n", 1 if row is None else row["value"] + 1))

    threads = [threading.Thread(target=lambda: [ledger.write(bump) for _ in range(25)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.read(lambda tx: tx.get(COUNTERS, "n")) == counter("n", 200)
    ledger.close()


def test_a_small_change_is_stored_as_a_delta() -> None:
    import random

    ledger = SqliteLedger(None)
    source = random.Random(7)
    state = {f"key{number}": f"{source.getrandbits(128):032x}" for number in range(1500)}
    first = ledger.write(lambda tx: tx.store_content(state))
    second = ledger.write(lambda tx: tx.store_content({**state, "key3": "changed"}, near=first.key))
    third = ledger.write(lambda tx: tx.store_content({**state, "key3": "changed", "key9": "x"}, near=second.key))
    rows = {row["key"]: row for row in ledger.read(lambda tx: tx.select(CONTENTS))}
    assert len(rows[second.key]["body"]) * 50 < len(rows[first.key]["body"])
    assert rows[third.key]["base"] == first.key
    assert first.hash != second.hash
    fresh = ledger.read(lambda tx: tx.load_content(third.key))
    assert fresh["key9"] == "x"
    ledger.close()


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(InnkeeperError) as error:
        SqliteLedger(path)
    assert error.value.code == "STORAGE_VERSION"


def test_a_closed_ledger_answers_storage_unavailable() -> None:
    ledger = SqliteLedger(None)
    ledger.close()
    ledger.close()
    for call in (ledger.read, ledger.write):
        with pytest.raises(InnkeeperError) as error:
            call(lambda tx: None)
        assert error.value.code == "STORAGE_UNAVAILABLE"


def test_a_backup_is_whole(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "one.sqlite")
    ledger.write(lambda tx: tx.insert(COUNTERS, counter("n", 1)))
    ledger.backup(tmp_path / "two.sqlite")
    ledger.close()
    copy = SqliteLedger(tmp_path / "two.sqlite")
    assert copy.read(lambda tx: tx.get(COUNTERS, "n")) == counter("n", 1)
    copy.close()


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(JSON_VALUES, JSON_VALUES)
def test_rows_and_contents_come_back_as_they_were(first: Any, second: Any) -> None:
    ledger = SqliteLedger(None)
    row = {"scope": "s", "operation_id": "o", "fingerprint": "f", "receipt": {"value": first}}
    ledger.write(lambda tx: tx.put(OPERATIONS, row))
    assert ledger.read(lambda tx: tx.get(OPERATIONS, "s", "o")) == row
    key = ledger.write(lambda tx: tx.store_content(second)).key
    assert ledger.read(lambda tx: tx.load_content(key)) == second
    ledger.close()


def test_a_caller_that_gives_up_before_the_commit_leaves_nothing() -> None:
    ledger = SqliteLedger(None)
    with cancellable(lambda: True), pytest.raises(Cancelled):
        ledger.write(lambda tx: tx.insert(COUNTERS, counter("lost", 1)))
    with cancellable(lambda: False):
        ledger.write(lambda tx: tx.insert(COUNTERS, counter("kept", 1)))
    assert ledger.read(lambda tx: tx.select(COUNTERS)) == [counter("kept", 1)]
    ledger.close()


def test_a_listener_that_fails_never_stops_the_writer(caplog: pytest.LogCaptureFixture) -> None:
    ledger = SqliteLedger(None)

    def listener() -> None:
        raise ValueError("deaf")

    def job(tx: Transaction) -> str:
        tx.after_commit(listener)
        return "done"

    assert ledger.write(job) == "done"
    assert ledger.write(lambda tx: "still here") == "still here"
    assert "a listener of a commit failed" in caplog.text
    ledger.close()
