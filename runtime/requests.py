"""What one model request carries of all sources, and whether that is still true right before sending (spec/http.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import macro, prompts
from runtime.mvu.service import MvuService
from runtime.sessions import store
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError

SOURCES = ("mvu", "dimensions", "world")
BlockSource = Callable[[str, int | None], Sequence[Mapping[str, Any]]]


def _names(value: object, name: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(
        isinstance(item, (str, int)) and not isinstance(item, bool) for item in value
    ):
        raise InnkeeperError("HOST_REQUEST", f"expected {name} as a list of names, found {value!r:.80}")
    return [str(item) for item in value]


class Requests:
    """The prompt parts of a session; ``others`` gives the blocks of the sources beside MVU variables."""

    def __init__(
        self,
        mvu: MvuService,
        others: Mapping[str, BlockSource],
        revision: Callable[[Transaction, str], str] = lambda tx, session_id: "",
    ) -> None:
        self._mvu = mvu
        self._others = others
        self._revision = revision

    def prompt(self, session_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """``POST /host/sessions/{id}/prompt``: blocks of the included sources, the activated world-book entries, a lease."""
        include = _names(body.get("include"), "include")
        for name in include:
            if name not in SOURCES:
                raise InnkeeperError(
                    "HOST_REQUEST", f"expected include out of {', '.join(SOURCES)}, found {name!r:.80}"
                )
        activated = _names(body.get("activated"), "activated")
        turn = body.get("turn")
        if turn is not None and (not isinstance(turn, int) or isinstance(turn, bool) or turn < 0):
            raise InnkeeperError("HOST_REQUEST", f"expected turn as a non-negative whole number, found {turn!r:.80}")
        preview = bool(body.get("preview", False))
        blocks: list[Mapping[str, Any]] = []
        lease = self.lease(session_id)
        if "mvu" in include:
            blocks.extend(self._mvu.resolve_request(session_id, preview=preview, turn=turn))
        for name in include:
            source = self._others.get(name)
            if source is not None:
                blocks.extend(source(session_id, turn))
        book = self._world_book(session_id, activated, turn, preview)
        if self.lease(session_id) != lease:
            raise InnkeeperError(
                "MVU_USAGE_CANCELLED", "the session changed while the prompt was put together: ask again"
            )
        return {"blocks": blocks, "worldBook": book, "lease": lease}

    def check(self, session_id: str, lease: object) -> dict[str, Any]:
        """``POST …/prompt/check``: whether a prompt's parts are still those of the session."""
        if not isinstance(lease, str):
            raise InnkeeperError("HOST_REQUEST", f"expected lease as the string of a prompt, found {lease!r:.80}")
        return {"current": self.lease(session_id) == lease}

    def lease(self, session_id: str) -> str:
        """The hash of everything that a prompt of this session rests on."""

        def job(tx: Transaction) -> list[Any]:
            session = store.session_row(tx, session_id)
            reply = store.last_reply(tx, session)
            counters = prompts.request_counters(tx, session)
            seq = None if reply is None else reply.seq
            return [counters, seq, self._mvu.policy.epoch, self._revision(tx, session_id)]

        return sha(self._mvu.ledger.read(job))

    def _world_book(
        self, session_id: str, activated: list[str], turn: int | None, preview: bool
    ) -> list[dict[str, Any]]:
        if not activated:
            return []

        def look(tx: Transaction) -> list[tuple[str, str]]:
            session: Row = store.session_row(tx, session_id)
            card = self._mvu.shelf.card(tx, store.selection_row(tx, session_id)["character_id"])
            if card is None:
                raise InnkeeperError(
                    "HOST_REQUEST", f"no card is selected in session {session['id']!r}: nothing can be activated"
                )
            found = []
            for name in activated:
                entry = card.entry(name)
                if entry is None:
                    raise InnkeeperError("HOST_REQUEST", f"the card has no world-book entry {name!r:.80}")
                found.append((name, entry.content))
            return found

        entries = self._mvu.ledger.read(look)
        return [{"id": name, "text": self._expand(session_id, name, text, turn, preview)} for name, text in entries]

    def _expand(self, session_id: str, name: str, text: str, turn: int | None, preview: bool) -> str:
        """Macro expansion in one activated entry; an entry without the macro reads no variables (spec/mvu.md §10)."""
        if not macro.references(text):
            return text
        event: dict[str, Any] = {
            "preview": preview,
            "usage": "world-book-variable",
            "consumer": {"adapterId": "tavern.world-books", "id": f"world-book:{name}"},
        }
        if turn is not None:
            event["turn"] = turn
        scope = {"authority": "local", "sessionId": session_id}
        found = self._mvu.resolve_prompt_dependency(scope, event)
        if found is None:
            raise InnkeeperError(
                "WORLD_BOOK_VARIABLE_DENIED", f"the entry {name!r:.80} reads variables that may not be read now"
            )
        return macro.expand(text, found["content"].get("stat_data"))
