"""A stage for scenario tests: a whole runtime in memory, cards made of parts, short ways to play (spec/mvu.md §12)."""

from __future__ import annotations

import hashlib
import itertools
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime.assembly import Runtime, open_runtime
from runtime.values.rows import InnkeeperError

PINNED = "https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js"
NOW = 1_700_000_000_000


def declaration(body: str) -> str:
    """A declaration script whose schema is ``body``."""
    return f"import {{ registerMvuSchema }} from '{PINNED}';\nconst Schema = {body};\n$(() => {{ registerMvuSchema(Schema); }});\n"


def card_bytes(
    initvar: str | None = "hp: 100\n",
    *,
    schema: str | None = None,
    greetings: Sequence[str] = ("Hello, {{user}}.",),
    helper: str | None = None,
    name: str = "Card",
    entries: Sequence[Mapping[str, Any]] = (),
) -> bytes:
    """A V2 card as JSON bytes."""
    book = (
        []
        if initvar is None
        else [{"keys": [], "comment": "[initvar]", "content": initvar, "enabled": False, "insertion_order": 0}]
    )
    book += [{"keys": [], "enabled": True, "insertion_order": 1, **entry} for entry in entries]
    scripts = []
    if schema is not None:
        scripts.append(
            {"type": "script", "value": {"id": "s", "name": "schema", "content": declaration(schema), "enabled": True}}
        )
    if helper is not None:
        scripts.append({"type": "script", "value": {"id": "h", "name": "helper", "content": helper, "enabled": True}})
    data = {
        "name": name,
        "description": "",
        "personality": "",
        "scenario": "",
        "first_mes": greetings[0] if greetings else "",
        "mes_example": "",
        "alternate_greetings": list(greetings[1:]),
        "character_book": {"entries": book},
        "extensions": {"tavern_helper": {"scripts": [script["value"] for script in scripts]}},
    }
    return json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}).encode()


class Stage:
    """A runtime with counted ids; ``restart`` opens the same file again under a new deployment."""

    def __init__(
        self, path: Path | None = None, configured: Sequence[Mapping[str, Any]] = (), *, with_sandbox: bool = False
    ) -> None:
        self._numbers = itertools.count(1)
        self._path = path
        self._configured = configured
        self._with_sandbox = with_sandbox
        self.rt = self._open("deployment-1")

    def _open(self, deployment: str) -> Runtime:
        return open_runtime(
            self._path,
            configured=self._configured,
            with_sandbox=self._with_sandbox,
            new_id=lambda: str(uuid.UUID(int=next(self._numbers), version=4)),
            now=lambda: NOW,
            deployment=deployment,
        )

    def restart(self) -> None:
        """Stop and open the same file as another deployment."""
        self.rt.close()
        self.rt = self._open(f"deployment-{next(self._numbers)}")

    def close(self) -> None:
        """End the runtime."""
        self.rt.close()

    def op(self) -> str:
        """A fresh operation id."""
        return f"op-{next(self._numbers)}"

    # -- playing --------------------------------------------------------------------------------------------------

    def card(self, character: str = "hero", **parts: Any) -> dict[str, Any]:
        """Import a card made of ``parts``."""
        return self.rt.cards.add(card_bytes(**parts), character)

    def begin(self, character: str = "hero", **more: Any) -> dict[str, Any]:
        """A playthrough of a card."""
        return self.rt.playthroughs.create(character, self.op(), **more)

    def turn(self, session: str, reply: str, user: str = "go on") -> dict[str, Any]:
        """One completed turn."""
        return self.rt.sessions.turn(session, {"text": user}, {"text": reply}, self.op())

    def events(self, session: str, *events: Mapping[str, Any]) -> dict[str, Any]:
        """Append events wherever the session stands."""
        at = self.rt.sessions.session(session)["nextSeq"]
        return self.rt.sessions.append(session, at, [dict(event) for event in events], self.op())

    def start_turn(self, session: str, turn: int, text: str = "go on") -> dict[str, Any]:
        """Begin a turn with the user's message."""
        return self.events(
            session,
            {"type": "turn/start", "turn": turn},
            {"type": "user/message", "id": f"u{session}{turn}", "turn": turn, "text": text, "source": {"kind": "user"}},
        )

    def end_turn(self, session: str, turn: int, *replies: Mapping[str, Any], kind: str = "completed") -> dict[str, Any]:
        """End a turn after replies."""
        messages = [{"type": "assistant/message", "turn": turn, **reply} for reply in replies]
        return self.events(session, *messages, {"type": "turn/end", "turn": turn, "reason": {"kind": kind}})

    def branch(self, session: str, kind: str, at: int) -> dict[str, Any]:
        """A fork, reply-swipe or request-retry."""
        return self.rt.branches.branch(session, kind, at, self.op())

    # -- looking --------------------------------------------------------------------------------------------------

    def scope(self, session: str, **more: Any) -> dict[str, Any]:
        """A trace scope."""
        return {"authority": "local", "sessionId": session, **more}

    def resource_id(self, session: str) -> str:
        """The id of the session's only state."""
        found = self.rt.sessions.session(session)["resources"]
        assert len(found) == 1, found
        return str(found[0]["id"])

    def record(self, session: str, **more: Any) -> dict[str, Any]:
        """The record of the session's only state."""
        found = self.rt.mvu.read(self.resource_id(session), self.scope(session, **more))
        assert found is not None
        return found

    def data(self, session: str, **more: Any) -> Any:
        """``stat_data`` of the session's only state."""
        return self.record(session, **more)["content"]["stat_data"]

    def edit(self, session: str, data: Any, revision: int | None = None, **content: Any) -> dict[str, Any]:
        """A manual edit."""
        record = self.record(session)
        expected = record["currentRevision"] if revision is None else revision
        return self.rt.mvu.update(
            record["id"], {"stat_data": data, **content}, expected, self.op(), self.scope(session)
        )

    def facts(self, session: str) -> list[dict[str, Any]]:
        """The kept facts of the session's only state."""
        found = self.rt.mvu.facts(self.resource_id(session), self.scope(session))["records"]
        return list(found)

    # -- card writes ----------------------------------------------------------------------------------------------

    def initial_scope(self, begun: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The scope of an opening that may be written."""
        return {
            "mode": "initial",
            "playthroughId": begun["playthroughId"],
            "sessionId": begun["sessionId"],
            "characterId": begun["characterId"],
            **more,
        }

    def message_scope(
        self, begun: Mapping[str, Any], turn: Mapping[str, Any], session: str | None = None
    ) -> dict[str, Any]:
        """The scope of a saved reply."""
        return {
            "playthroughId": begun["playthroughId"],
            "sessionId": session or begun["sessionId"],
            "nodeId": turn["nodeId"],
            "variantId": turn["variantId"],
            "endEventId": turn["endEventId"],
        }

    def grant(self, scope: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """A rendering grant for a scope: the request's answer."""
        source = json.dumps({"version": 1, "scope": scope, "runs": [], "modules": {}, "html": "<p>x</p>", **more})
        identity = {"version": 1, "sha256": hashlib.sha256(source.encode()).hexdigest(), "scope": dict(scope)}
        request = {"source": source, "sourceIdentity": identity, "downloaded": True, "enabled": True}
        return self.rt.mvu.grants.grant(request)

    def bind(self, scope: Mapping[str, Any], grant: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """A binding on a scope."""
        given = grant or self.grant(scope)
        request = {"scope": dict(scope), "grantId": given["grantId"], "sourceIdentity": given["sourceIdentity"], **more}
        return self.rt.mvu.create_card_binding(request)

    def write(
        self,
        bound: Mapping[str, Any],
        value: Any,
        revision: int,
        *,
        operation: str = "patch",
        op: str | None = None,
        cause: str = "user-interaction",
    ) -> dict[str, Any]:
        """A card write."""
        return self.rt.mvu.card_write(
            {
                "capability": bound["capability"],
                "operation": operation,
                "value": value,
                "expectedRevision": revision,
                "operationId": op or self.op(),
                "cause": cause,
            }
        )


class refuses:  # noqa: N801 - reads as a verb in tests
    """``with refuses("CODE"):`` - the block must raise an ``InnkeeperError`` with this code."""

    def __init__(self, *codes: str) -> None:
        self.codes = codes
        self.error: InnkeeperError | None = None

    def __enter__(self) -> refuses:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            pytest.fail(f"expected {' or '.join(self.codes)}, nothing was raised")
        if not isinstance(error, InnkeeperError):
            return False
        assert error.code in self.codes, f"expected {' or '.join(self.codes)}, found {error}"
        self.error = error
        return True


def delta(path: str, amount: float) -> str:
    """A reply that adds to a number."""
    return f"So be it. _.add('{path}', {amount});"
