"""A seeded simulation: random play on the real store, every snapshot predicted by a naive model of its own.

The model knows three fixed dimensions and nothing of the product's code: plain numbers, whole copies at every branch.
A failure prints the seed and the steps.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime.values.rows import InnkeeperError
from tests.dimensions.test_host import Inn
from tests.dimensions.worlds import STORM, STUDY, WALL

STEPS = 120
KEPT = 20


@dataclass
class Debt:
    """What the model knows of a receipt."""

    turn: int
    order: int
    status: str = "pending-settlement"
    reads: dict[str, int] = field(default_factory=dict)
    failed: bool = False


@dataclass
class Room:
    """One session in the model."""

    study: int = 0
    wall: int = 100
    passed: bool = False
    minutes: int = 180
    versions: dict[str, int] = field(default_factory=lambda: {"study": 1, "storm": 1, "cityWall": 1})
    debts: dict[str, Debt] = field(default_factory=dict)
    elapsed: int = 0
    moved: set[int] = field(default_factory=set)
    turn: int = 0
    told: int = 0
    declared: int = 100
    imported: int = 1
    # What a fork of a reply and a swipe of it would start from.
    before: dict[str, Room] = field(default_factory=dict)
    after: dict[str, Room] = field(default_factory=dict)
    last: str | None = None

    def bare(self) -> Room:
        """A copy to branch from; it keeps the branches that lie in its past."""
        twin = copy.copy(self)
        twin.versions, twin.debts = dict(self.versions), copy.deepcopy(self.debts)
        twin.moved, twin.before, twin.after = set(self.moved), dict(self.before), dict(self.after)
        return twin

    def pending(self) -> list[str]:
        """Debts, oldest first."""
        owed = [key for key, debt in self.debts.items() if debt.status == "pending-settlement"]
        return sorted(owed, key=lambda key: (self.debts[key].turn, self.debts[key].order))

    def put(self, key: str, value: int) -> None:
        """Write a number; equal ones do not count."""
        name = "wall" if key == "cityWall" else key
        if getattr(self, name) != value:
            setattr(self, name, value)
            self.versions[key] += 1

    def shown(self) -> dict[str, Any]:
        """The snapshot that the product should give."""
        left = self.minutes
        stage = "distant" if left > 120 else "approaching" if left > 30 else "imminent" if left > 0 else "overhead"
        values = {
            "study": self.study,
            "cityWall": self.wall,
            "storm": {"minutesRemaining": left, "stage": stage, "frontPassed": self.passed},
        }
        return {
            "values": values,
            "versions": self.versions,
            "debts": {key: (debt.status, debt.failed) for key, debt in self.debts.items()},
            "elapsed": self.elapsed,
        }


class Play:
    """The product and the model side by side."""

    def __init__(self, seed: int, path: Path) -> None:
        self.random = random.Random(seed)
        self.path = path
        self.inn = Inn(path)
        self.counter = 0
        self.log: list[str] = []
        definitions = {"study": STUDY, "storm": STORM, "cityWall": WALL}
        self.rooms = {self.inn.open(definitions): Room()}

    def name(self, prefix: str) -> str:
        """A fresh id."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def step(self) -> None:
        """One random operation in one random session."""
        session = self.random.choice(list(self.rooms))
        actions = [self.turn] * 4 + [self.settle] * 5 + [self.edit] * 3 + [self.resolve, self.retry] + [self.clock] * 3
        actions += [self.branch, self.sync, self.crash, self.torn]
        action = self.random.choice(actions)
        self.log.append(f"{action.__name__} {session}")
        action(session, self.rooms[session])

    # -- operations ---------------------------------------------------------------------------------------------------

    def turn(self, session: str, room: Room) -> None:
        """A whole turn, refused while a debt stands."""
        reply = self.name("r")
        if room.pending():
            with pytest.raises(InnkeeperError) as refused:
                self.inn.turn(session, reply)
            assert refused.value.code == "DIMENSION_SETTLEMENT_PENDING"
            return
        if room.last is not None:
            room.after[room.last] = room.bare()
        start = room.bare()
        self.inn.turn(session, reply)
        room.turn += 1
        room.told += 1
        room.before[reply] = start
        room.last = reply
        order = max((debt.order for debt in room.debts.values()), default=0) + 1
        done = sorted((debt.order for debt in room.debts.values() if debt.status != "pending-settlement"), reverse=True)
        room.debts = {
            key: debt
            for key, debt in room.debts.items()
            if debt.status == "pending-settlement" or debt.order in done[:KEPT]
        }
        room.debts[reply] = Debt(room.told, order, reads=dict(room.versions))

    def settle(self, session: str, room: Room) -> None:
        """A tracker's answer: fine, out of range, for a dimension without a rule, or nothing."""
        debts = list(room.debts)
        if not debts:
            return
        reply = self.random.choice(room.pending() or debts)
        debt = room.debts[reply]
        kind = self.random.choice(["study", "storm", "none", "range", "no-rule"])
        calls: dict[str, list[Any]] = {
            "study": [{"id": "study", "value": self.random.randrange(0, 5)}],
            "storm": [{"id": "storm", "changes": [{"path": "frontPassed", "value": self.random.random() < 0.5}]}],
            "none": [],
            "range": [{"id": "study", "value": 101}],
            "no-rule": [{"id": "cityWall", "value": 3}],
        }
        updates = calls[kind]
        self.inn.service.settle(session, reply, {"updates": updates, "followsClock": []})
        if debt.status != "pending-settlement":
            return
        if debt.reads != room.versions or kind in ("range", "no-rule"):
            debt.failed = True
            return
        versions = dict(room.versions)
        if kind == "study":
            room.put("study", updates[0]["value"])
        elif kind == "storm" and room.passed != updates[0]["changes"][0]["value"]:
            room.passed = not room.passed
            room.versions["storm"] += 1
        debt.status = "settled" if versions != room.versions else "no-change"
        debt.failed = False

    def edit(self, session: str, room: Room) -> None:
        """A player's edit, sometimes with a stale version."""
        key = self.random.choice(["study", "cityWall"])
        value, stale = self.random.randrange(0, 5), self.random.random() < 0.3
        version = room.versions[key] + (1 if stale else 0)
        answer = self.inn.service.edit(session, {"updates": [{"id": key, "expectedVersion": version, "value": value}]})
        assert answer["applied"] is not stale
        if not stale:
            room.put(key, value)

    def resolve(self, session: str, room: Room) -> None:
        """Handled by hand, with a correction, or given up."""
        for reply in room.pending()[:1]:
            how = self.random.choice(["manual", "skipped"])
            updates = []
            if how == "manual":
                value = self.random.randrange(0, 5)
                updates = [{"id": "cityWall", "expectedVersion": room.versions["cityWall"], "value": value}]
                room.put("cityWall", value)
                room.imported = -1
            self.inn.service.edit(session, {"updates": updates, "resultId": reply, "resolution": how})
            room.debts[reply].status = how
            room.debts[reply].failed = False

    def retry(self, session: str, room: Room) -> None:
        """Open a retry of any receipt."""
        if not room.debts:
            return
        reply = self.random.choice(list(room.debts))
        self.inn.service.retry(session, reply)
        debt = room.debts[reply]
        if debt.status == "pending-settlement":
            debt.reads, debt.failed = dict(room.versions), False

    def clock(self, session: str, room: Room) -> None:
        """Move the clock for the current turn; a second move of the turn does nothing."""
        amount = self.random.choice([0, 1, 20, 45])
        back = self.random.random() < 0.25
        move = {"amount": amount, "direction": "backward" if back else "forward"}
        self.inn.service.move_clock(session, str(room.turn), move)
        if room.turn not in room.moved:
            room.moved.add(room.turn)
            room.elapsed += -amount if back else amount
        left = min(180, max(0, 180 - room.elapsed))
        if left != room.minutes:
            old = room.versions["storm"]
            room.minutes = left
            room.versions["storm"] += 1
            for reply in room.pending():
                reads = room.debts[reply].reads
                if reads["storm"] == old:
                    reads["storm"] = room.versions["storm"]

    def branch(self, session: str, room: Room) -> None:
        """Fork or swipe at any reply of the session's past."""
        if not room.before:
            return
        reply = self.random.choice(list(room.before))
        kind = self.random.choice(["fork", "reply-swipe"])
        events = self.inn.host.events(session)["events"]
        seq = next(event["seq"] for event in events if event.get("id") == reply)
        child = self.name("s")
        self.inn.branches.branch(session, kind, seq, self.inn.operation(), child)
        if kind == "reply-swipe":
            origin = room.before[reply]
        else:
            origin = room if reply == room.last else room.after[reply]
        self.rooms[child] = origin.bare()
        if len(self.rooms) > 6:
            del self.rooms[next(iter(self.rooms))]

    def sync(self, session: str, room: Room) -> None:
        """The author changes the wall's initial value."""
        initial = self.random.choice([100, 50])
        definitions = {"study": STUDY, "storm": STORM, "cityWall": {**WALL, "initialValue": initial}}
        self.inn.service.declare_world(world_id="reed", definitions=definitions)
        report = self.inn.service.sync(session, "reed", dry_run=False)
        if initial == room.declared:
            assert report["outcomes"]["cityWall"] == "unchanged"
        elif room.versions["cityWall"] == room.imported and not room.pending():
            assert report["outcomes"]["cityWall"] == "replace"
            room.wall, room.declared = initial, initial
            room.versions["cityWall"] += 1
            room.imported = room.versions["cityWall"]
        else:
            assert report["outcomes"]["cityWall"] == "conflict:modified"

    def crash(self, session: str, room: Room) -> None:
        """The process ends and starts again."""
        self.inn.close()
        self.inn = Inn(self.path)

    def torn(self, session: str, room: Room) -> None:
        """A transaction that fails after its write leaves nothing behind."""

        def job(tx: Any) -> None:
            row = tx_session(tx, session)
            batch = {"updates": [{"id": "study", "expectedVersion": room.versions["study"], "value": 99}]}
            self.inn.service.change(tx, row, lambda state: domain_update(state, batch))
            raise RuntimeError("torn")

        with pytest.raises(RuntimeError, match="torn"):
            self.inn.ledger.write(job)

    # -- comparison ---------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        """Every session as the model has it."""
        for session, room in self.rooms.items():
            found = self.inn.service.snapshot(session)
            shown = {
                "values": {key: entry["value"] for key, entry in found["dimensions"].items()},
                "versions": {key: entry["version"] for key, entry in found["dimensions"].items()},
                "debts": {
                    item["source"]["resultId"]: (item["status"], "error" in item)
                    for item in found["dimensionSettlements"]
                },
                "elapsed": found["clock"]["summary"]["elapsedSinceStart"],
            }
            assert shown == room.shown(), session


def tx_session(tx: Any, session: str) -> Any:
    """The row of a session."""
    from runtime.sessions.store import session_row

    return session_row(tx, session)


def domain_update(state: Any, batch: Any) -> Any:
    """A plain update."""
    from runtime.dimensions.domain import update

    return update(state, batch)


@pytest.mark.parametrize("seed", range(6))
def test_play_is_as_predicted(seed: int, tmp_path: Path) -> None:
    play = Play(seed, tmp_path / "ledger.sqlite")
    try:
        for _ in range(STEPS):
            play.step()
            play.compare()
    except BaseException:
        print(f"seed {seed}:", *play.log[-40:], sep="\n  ")
        raise
    finally:
        play.inn.close()
