"""Rendering grants: a rendered execution may write, as long as this deployment lives (spec/mvu.md §7.1)."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.mvu.service_limits import GRANT_SOURCE, GRANTS
from runtime.values.canonical import canonical_json, text_sha
from runtime.values.jsontext import JsonTextError, loads_strict
from runtime.values.rows import InnkeeperError

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)
_SHA = re.compile(r"[0-9a-f]{64}\Z")
GRANT_SOURCE_DEPTH = 512


def is_uuid(value: object) -> bool:
    """Whether a value is the text of a UUID."""
    return isinstance(value, str) and _UUID.match(value) is not None


def _invalid(message: str) -> InnkeeperError:
    return InnkeeperError("GRANT_INVALID", message)


def check_identity(identity: object) -> dict[str, Any]:
    """A source identity ``{version:1, sha256, scope}``."""
    if not isinstance(identity, dict) or identity.get("version") != 1 or isinstance(identity.get("version"), bool):
        raise _invalid("expected sourceIdentity as {version:1, sha256, scope}")
    sha256 = identity.get("sha256")
    if not isinstance(sha256, str) or _SHA.match(sha256) is None or not isinstance(identity.get("scope"), dict):
        raise _invalid("expected sourceIdentity with sha256 of 64 hex digits and the scope as an object")
    return identity


@dataclass(frozen=True, slots=True)
class Grant:
    """One live grant and the canonical text of its identity."""

    id: str
    identity: str
    scope: dict[str, Any]


class RenderingGrants:
    """The live grants of a deployment; thread-safe."""

    def __init__(self, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._new_id = new_id
        self._lock = threading.Lock()
        self._grants: dict[str, Grant] = {}
        self._disposed = False
        self._listeners: list[Callable[[Grant], None]] = []

    def on_revoked(self, listener: Callable[[Grant], None]) -> None:
        """Call ``listener(grant)`` when a grant ends."""
        self._listeners.append(listener)

    def grant(self, request: dict[str, Any]) -> dict[str, Any]:
        """Grant writing to one rendered execution; the same execution again answers the same."""
        if request.get("downloaded") is not True or request.get("enabled") is not True:
            raise _invalid(
                "expected downloaded:true and enabled:true: only a downloaded, switched-on execution may write"
            )
        execution = request.get("executionId")
        if execution is not None and not is_uuid(execution):
            raise _invalid(f"expected executionId as a UUID, found {execution!r:.80}")
        identity = check_identity(request.get("sourceIdentity"))
        scope = _read_source(request.get("source"))
        own = {"version": 1, "sha256": text_sha(request["source"]), "scope": scope}
        text = canonical_json(own)
        if text != canonical_json({key: identity[key] for key in ("version", "sha256", "scope")}) or set(
            identity
        ) != set(own):
            raise _invalid("the sourceIdentity is not that of the submitted source: sha256 or scope differ")
        with self._lock:
            if self._disposed:
                raise _invalid("the deployment is stopping")
            known = self._grants.get(execution) if execution is not None else None
            if known is not None:
                if known.identity != text:
                    raise _invalid("this executionId was granted to another source")
                return {"ok": True, "grantId": known.id, "sourceIdentity": own}
            if len(self._grants) >= GRANTS.default:
                raise InnkeeperError("GRANT_LIMIT", f"expected at most {GRANTS.default} live grants; revoke one first")
            grant = Grant(execution or self._new_id(), text, scope)
            self._grants[grant.id] = grant
        return {"ok": True, "grantId": grant.id, "sourceIdentity": own}

    def resolve(self, grant_id: object, identity: object) -> dict[str, Any] | None:
        """``{valid, write, scope}`` of a live grant with this identity, or ``None``."""
        with self._lock:
            grant = self._grants.get(grant_id) if isinstance(grant_id, str) else None
        if grant is None or not isinstance(identity, dict) or canonical_json(identity) != grant.identity:
            return None
        return {"valid": True, "write": True, "scope": grant.scope}

    def is_current(self, grant_id: str, identity: str) -> bool:
        """Whether the grant still lives; ``identity`` is its canonical text."""
        grant = self._grants.get(grant_id)
        return grant is not None and grant.identity == identity

    def revoke(self, grant_id: object) -> dict[str, Any]:
        """End a grant; an unknown one is fine."""
        with self._lock:
            found = self._grants.pop(grant_id, None) if isinstance(grant_id, str) else None
        if found is not None:
            for listener in self._listeners:
                listener(found)
        return {"ok": True}

    def dispose(self) -> None:
        """End all grants."""
        with self._lock:
            self._disposed = True
            ended = list(self._grants.values())
            self._grants.clear()
        for grant in ended:
            for listener in self._listeners:
                listener(grant)


def _read_source(source: object) -> dict[str, Any]:
    """The scope inside a rendered source: JSON with version 1, scope.sessionId, runs, modules, html (spec/mvu.md §7.1)."""
    if not isinstance(source, str):
        raise _invalid("expected source as a string of JSON text")
    if len(source.encode("utf-8", "surrogatepass")) > GRANT_SOURCE.default:
        raise _invalid(f"expected a source of at most {GRANT_SOURCE.default} bytes")
    try:
        value = loads_strict(source, depth=GRANT_SOURCE_DEPTH)
    except JsonTextError as error:
        raise _invalid(f"expected source as JSON text: {error.message}") from None
    fits = (
        isinstance(value, dict)
        and value.get("version") == 1
        and isinstance(value.get("scope"), dict)
        and isinstance(value["scope"].get("sessionId"), str)
        and isinstance(value.get("runs"), list)
        and "modules" in value
        and isinstance(value.get("html"), str)
    )
    if not fits:
        raise _invalid("expected source to hold version 1, scope with sessionId, runs as a list, modules and html")
    scope: dict[str, Any] = value["scope"]
    return scope
