"""The world service: one method per endpoint of ``spec/http.md`` (World kernel), over a store's transaction.

It holds no rule of the world: it loads a line, acts on it, appends the events, and shows what the role may see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.values.canonical import canonical_json
from runtime.values.rows import InnkeeperError
from runtime.world.bounds import too_large
from runtime.world.canon import Canon, compile_canon
from runtime.world.dice import SHA
from runtime.world.fold import fold
from runtime.world.host.act import run_command_text, run_intent, run_tool
from runtime.world.host.claims import uncaused_claims
from runtime.world.host.context import context_block, context_data
from runtime.world.host.line import Answer, Line
from runtime.world.host.message import missing_checks, run_message
from runtime.world.host.tools import ROLES, tools_for
from runtime.world.host.views import record_view, reveal_of, state_view
from runtime.world.intents import check_actors
from runtime.world.kernel import Event
from runtime.world.limits import COMMAND_CHARS, EVENTS_PAGE, MESSAGE_CHARS, SNAPSHOT_EVENTS, STATE_CHARS, TAGS
from runtime.world.opening import opening_state, take_seat
from runtime.world.pack.load import LoadedPack, load_pack, read_directory
from runtime.world.pointers import State
from runtime.world.store import PackRecord, WorldRecord, WorldStore

_CANONS = 64
_DETAIL_FINDINGS = 20
_canons: dict[str, Canon] = {}


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """What a deployment decides: fresh seeds and ids, the folder of packs, and test mode (injected draws)."""

    new_seed: Callable[[], str]
    new_id: Callable[[], str]
    packs_dir: Path | None = None
    test_mode: bool = False


class WorldService:
    """The endpoints. Construct one per transaction; it keeps nothing."""

    def __init__(self, store: WorldStore, settings: WorldSettings) -> None:
        self._store = store
        self._settings = settings

    # -- packs -------------------------------------------------------------------------------------------------

    def add_pack(self, files: Mapping[str, str]) -> dict[str, Any]:
        """``POST /world/packs`` with files: load, judge, keep."""
        loaded = load_pack(files)
        record = _pack_record(loaded)
        if loaded.canon is None or not loaded.canon.id:
            return _pack_answer(record, None)
        self._store.put_pack(record, loaded.canon.document)
        return _pack_answer(record, loaded.canon)

    def add_directory(self, directory: str) -> dict[str, Any]:
        """``POST /world/packs`` with a folder below the packs folder, links resolved."""
        root = self._settings.packs_dir
        if root is None:
            raise InnkeeperError("WORLD_PACK_PATH", "expected a packs folder (--packs-dir), found none")
        base = root.resolve()
        chosen = (base / directory).resolve()
        if not chosen.is_relative_to(base):
            raise InnkeeperError("WORLD_PACK_PATH", "expected a folder below the packs folder, found one outside")
        return self.add_pack(read_directory(chosen))

    def pack(self, pack_id: str) -> dict[str, Any]:
        """``GET /world/packs/{id}``."""
        record = self._pack_record(pack_id)
        return _pack_answer(record, self._canon(record.canon_hash))

    def _pack_record(self, pack_id: str) -> PackRecord:
        record = self._store.pack(pack_id)
        if record is None:
            raise InnkeeperError("WORLD_PACK_UNKNOWN", f"expected the id of a stored pack, found {pack_id!r:.100}")
        return record

    def _canon(self, canon_hash: str) -> Canon:
        canon = _canons.get(canon_hash)
        if canon is None:
            document = self._store.canon(canon_hash)
            if document is None:
                raise InnkeeperError("WORLD_PACK_UNKNOWN", f"the Canon {canon_hash} is not stored")
            canon = compile_canon(document)
            while len(_canons) >= _CANONS:
                _canons.pop(next(iter(_canons)), None)
            _canons[canon_hash] = canon
        return canon

    # -- sessions ----------------------------------------------------------------------------------------------

    def open_session(
        self,
        pack_id: str,
        role: str,
        operation_id: str,
        *,
        session_id: str | None = None,
        seed: str | None = None,
        seat: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """``POST /world/sessions``: the opening State under the pack's current Canon; the role is fixed here."""
        request = ["open", pack_id, role, session_id, seed, dict(seat) if seat is not None else None]

        def produce() -> dict[str, Any]:
            if role not in ROLES:
                raise InnkeeperError("WORLD_REQUEST", f"expected a role out of {', '.join(ROLES)}, found {role!r}")
            record = self._pack_record(pack_id)
            if not record.ok:
                errors = [item for item in record.diagnostics if item["severity"] == "error"]
                raise InnkeeperError(
                    "WORLD_PACK_INVALID",
                    f"expected a pack without errors, found {len(errors)} in {pack_id}: {errors[0]['message']}",
                    {"diagnostics": errors[:_DETAIL_FINDINGS]},
                )
            canon = self._canon(record.canon_hash)
            chosen = session_id or self._settings.new_id()
            state = take_seat(canon, opening_state(canon, seed or self._settings.new_seed(), SHA), seat)
            world = WorldRecord(chosen, pack_id, canon.hash, role, state)
            self._store.create(world)
            return self._header(self._line(world)) | {"context": context_block(canon, state)}

        return self._store.once("world:open", operation_id, request, produce)

    def session(self, session_id: str) -> dict[str, Any]:
        """``GET /world/sessions/{id}``."""
        return self._header(self.line(session_id))

    def events(self, session_id: str, start: int = 0, limit: int | None = None) -> dict[str, Any]:
        """``GET /world/sessions/{id}/events``: a page of the log, as the role may see it."""
        line = self.line(session_id)
        count = min(limit if limit is not None else EVENTS_PAGE.default, EVENTS_PAGE.default)
        chosen = line.events[max(0, start) : max(0, start) + max(0, count)]
        shown = [{"index": start + offset, **self._view(line, event)} for offset, event in enumerate(chosen)]
        return {"sessionId": session_id, "events": shown, "next": start + len(shown), "total": len(line.events)}

    def context(self, session_id: str) -> dict[str, Any]:
        """``GET /world/sessions/{id}/context``."""
        line = self.line(session_id)
        text = context_block(line.canon, line.state)
        return {"text": text, "context": text, "data": context_data(line.canon, line.state)}

    def line(self, session_id: str) -> Line:
        """The line of a session, or ``WORLD_SESSION_UNKNOWN``."""
        record = self._store.load(session_id)
        if record is None:
            raise InnkeeperError("WORLD_SESSION_UNKNOWN", f"expected a session with a world, found {session_id!r:.100}")
        return self._line(record)

    def _line(self, record: WorldRecord) -> Line:
        count, state = record.snapshot if record.snapshot is not None else (0, record.opening)
        if count > len(record.events):
            count, state = 0, record.opening
        state = fold(state, record.events[count:])
        return Line(
            record.session_id, self._canon(record.canon_hash), record.role, record.opening, record.events, state
        )

    def _header(self, line: Line) -> dict[str, Any]:
        view = state_view(line.state, line.role)
        # The State's own fields stand at the top (the contract's answer is the State), and together under ``state``.
        return {
            **view,
            "sessionId": line.session_id,
            "packId": line.canon.id,
            "title": line.canon.title,
            "canonHash": line.canon.hash,
            "role": line.role,
            "state": view,
            "events": len(line.events),
        }

    # -- acting ------------------------------------------------------------------------------------------------

    def match(self, session_id: str, tags: list[str], actors: Mapping[str, str] | None = None) -> dict[str, Any]:
        """``POST …/match``: the forced checks; nothing changes."""
        if len(tags) > TAGS.default:
            raise too_large(TAGS, len(tags), "tags")
        line = self.line(session_id)
        hits = line.kernel.match(line.state, tags, check_actors(actors or {}))
        return {"forced": [hit.to_json() for hit in hits]}

    def turn(
        self, session_id: str, intent: Any, expected_turn: int, operation_id: str, *, u: float | None = None
    ) -> dict[str, Any]:
        """``POST …/turn``: one intent; a refusal is an answer."""
        self._check_injected(u)
        return self._act(
            session_id,
            operation_id,
            ["turn", intent, expected_turn, u],
            expected_turn,
            lambda line: run_intent(line, intent, u=u),
        )

    def message(self, session_id: str, text: str, expected_turn: int, operation_id: str) -> dict[str, Any]:
        """``POST …/message``: tags, staging, forced checks and the context, before a model is called."""
        if len(text) > MESSAGE_CHARS.default:
            raise too_large(MESSAGE_CHARS, len(text), "text")

        def act(line: Line) -> Answer:
            run = run_message(line, text)
            body = {
                "ok": True,
                "tags": run.tags,
                "staged": run.staged,
                "forced": [
                    forced.to_json() | ({"receipt": self._view(line, forced.receipt)} if forced.receipt else {})
                    for forced in run.forced
                ],
                "receipts": [self._view(line, forced.receipt) for forced in run.forced if forced.receipt],
                "context": context_block(line.canon, run.state),
            }
            return Answer(body, run.events, None, run.state)

        return self._act(session_id, operation_id, ["message", text, expected_turn], expected_turn, act)

    def command(self, session_id: str, text: str, expected_turn: int, operation_id: str) -> dict[str, Any]:
        """``POST …/command``: a slash command. Its result never enters a prompt (§00.4)."""
        if len(text) > COMMAND_CHARS.default:
            raise too_large(COMMAND_CHARS, len(text), "text")
        return self._act(
            session_id,
            operation_id,
            ["command", text, expected_turn],
            expected_turn,
            lambda line: run_command_text(line, text),
        )

    def tool(
        self,
        session_id: str,
        name: str,
        arguments: Mapping[str, Any],
        operation_id: str,
        *,
        expected_turn: int | None = None,
    ) -> dict[str, Any]:
        """``POST …/tools/{name}``: one tool call of a model."""
        return self._act(
            session_id,
            operation_id,
            ["tool", name, dict(arguments), expected_turn],
            expected_turn,
            lambda line: run_tool(line, name, arguments),
        )

    def tools(self, role: str) -> dict[str, Any]:
        """``GET /world/tools?role=``."""
        if role not in ROLES:
            raise InnkeeperError("WORLD_REQUEST", f"expected a role out of {', '.join(ROLES)}, found {role!r}")
        return {"role": role, "tools": tools_for(role)}

    def claims(self, session_id: str, reply: str, since: int) -> list[dict[str, Any]]:
        """Warnings for a reply, given the number of world events at the last one (§00.9)."""
        line = self.line(session_id)
        return uncaused_claims(line.canon, reply, line.events[since:])

    def missing_checks(self, session_id: str, text: str, since: int) -> None:
        """Raise ``FORCED_CHECK_MISSING`` when a text forces checks that no message since then has run."""
        line = self.line(session_id)
        missing = missing_checks(line, text, since)
        if missing:
            raise InnkeeperError(
                "FORCED_CHECK_MISSING",
                f"expected the message to be run first; it forces {', '.join(missing)}",
                {"checks": missing},
            )

    def _check_injected(self, u: float | None) -> None:
        if u is not None and not self._settings.test_mode:
            raise InnkeeperError("WORLD_TEST_MODE", "a draw may only be injected in test mode")

    def _act(
        self,
        session_id: str,
        operation_id: str,
        request: list[Any],
        expected_turn: int | None,
        act: Callable[[Line], Answer],
    ) -> dict[str, Any]:
        def produce() -> dict[str, Any]:
            line = self.line(session_id)
            if expected_turn is not None and line.state["turn"] != expected_turn:
                raise InnkeeperError(
                    "WORLD_TURN_CONFLICT",
                    f"expected turn {expected_turn}, found turn {line.state['turn']}; read the State and try again",
                    {"turn": line.state["turn"]},
                )
            return self._finish(line, act(line))

        return self._store.once(f"session:{session_id}", operation_id, request, produce)

    def _finish(self, line: Line, answer: Answer) -> dict[str, Any]:
        """Keep what an answer did and show it."""
        body = dict(answer.body)
        if "receipt" in body:
            body["receipt"] = self._view(line, body["receipt"])
        if answer.fork is not None:
            child = self._store.fork(line.session_id, answer.fork.index, answer.fork.session_id)
            fork = {"sessionId": child, "from": line.session_id, "checkId": answer.fork.check_id}
            after = self.line(child)
            return body | {"fork": fork, "sessionId": child, "events": [], **self._standing(after)}
        after = line
        if answer.events:
            after = line.after(answer.events)
            self._keep(line, after, answer.events)
        body["events"] = [self._view(line, event) for event in answer.events]
        return body | {"sessionId": line.session_id, **self._standing(after)}

    def _standing(self, line: Line) -> dict[str, Any]:
        return {"turn": line.state["turn"], "state": state_view(line.state, line.role)}

    def _keep(self, before: Line, after: Line, events: tuple[Event, ...]) -> None:
        size = len(canonical_json(after.state))
        if size > STATE_CHARS.default:
            raise too_large(STATE_CHARS, size, "state")
        every = SNAPSHOT_EVENTS.default
        crossed = len(after.events) // every > len(before.events) // every
        snapshot: tuple[int, State] | None = (len(after.events), after.state) if crossed else None
        self._store.append(before.session_id, events, snapshot)

    def _view(self, line: Line, record: Mapping[str, Any]) -> dict[str, Any]:
        return record_view(record, line.role, reveal_of(line.canon, line.role))


def _pack_record(loaded: LoadedPack) -> PackRecord:
    diagnostics = tuple(finding.to_json() for finding in loaded.findings)
    if loaded.canon is None:
        return PackRecord("", "", False, diagnostics)
    return PackRecord(loaded.canon.id, loaded.canon.hash, loaded.ok, diagnostics)


def _pack_answer(record: PackRecord, canon: Canon | None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "ok": record.ok,
        "packId": record.pack_id or None,
        "canonHash": record.canon_hash or None,
        "diagnostics": list(record.diagnostics),
    }
    if canon is not None:
        answer |= {
            "title": canon.title,
            "rng": canon.rng,
            "checks": [
                {"id": check.id, "kind": check.kind, "when": check.when, "slots": list(check.slots)}
                for check in canon.checks.values()
            ],
            "characters": [{"id": card.id, "name": card.name} for card in canon.cards.values()],
            "lore": list(canon.lore),
            "scenes": list(canon.index.get("scenes", ())),
        }
    return answer
