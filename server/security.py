"""Who may call what: host tokens, renderer tokens, the pages' session cookie and the seed's security wrapper (spec/http.md).

Decisions are plain functions of a request's facts, so that every rule can be tested without a server.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from runtime.values.rows import InnkeeperError

Access = Literal["open", "host", "pages", "renderer", "inspector"]
COOKIE = "innkeeper_session"
REQUEST_TOKEN_HEADER = "x-tavern-request-token"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a request before its body is read; header names are lower-case."""

    method: str
    peer: str | None
    headers: Mapping[str, str]

    @property
    def bearer(self) -> str | None:
        """The token of an ``Authorization: Bearer`` header."""
        value = self.headers.get("authorization", "")
        scheme, _, token = value.partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token.strip() else None

    def cookie(self, name: str) -> str | None:
        """One cookie."""
        try:
            found = SimpleCookie(self.headers.get("cookie", "")).get(name)
        except CookieError:
            return None
        return None if found is None else found.value


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request was let in as; ``playthroughs`` limits a renderer token."""

    kind: Literal["host", "renderer", "wrapper", "inspector", "open"]
    playthroughs: frozenset[str] | None = None


def same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


def is_loopback(address: str | None) -> bool:
    """Whether an address is this machine's own."""
    if address is None:
        return False
    try:
        parsed = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return address in ("localhost", "testclient")
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def host_name(header: str | None) -> str | None:
    """The name in a Host header, without its port."""
    if not header:
        return None
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


class Security:
    """The secrets of one running server."""

    def __init__(
        self,
        host_token: str,
        *,
        loopback: bool = True,
        allowed_hosts: frozenset[str] = frozenset(),
        allow_remote: bool = False,
    ) -> None:
        self.host_token = host_token
        self.request_token = secrets.token_hex(32)
        self._cookie = secrets.token_urlsafe(32)
        self._keys: set[str] = set()
        self._renderers: dict[str, tuple[frozenset[str], float]] = {}
        self._lock = threading.Lock()
        self._loopback = loopback
        self._hosts = allowed_hosts
        self._remote = allow_remote

    # -- the pages' cookie ----------------------------------------------------------------------------------------

    def new_link_key(self) -> str:
        """A key for one link that opens the pages once."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._keys.add(key)
        return key

    def redeem(self, key: str) -> str | None:
        """The cookie for a link's key; the key is used up."""
        with self._lock:
            found = next((known for known in self._keys if same(known, key)), None)
            if found is None:
                return None
            self._keys.discard(found)
            return self._cookie

    def cookie_valid(self, facts: Facts) -> bool:
        """Whether the request carries the pages' cookie."""
        value = facts.cookie(COOKIE)
        return value is not None and same(value, self._cookie)

    # -- renderer tokens ------------------------------------------------------------------------------------------

    def new_renderer_token(self, playthroughs: frozenset[str], expires_at: float) -> str:
        """A token that opens the renderer calls of these playthroughs until ``expires_at`` (seconds)."""
        token = "ikr_" + secrets.token_urlsafe(32)
        with self._lock:
            self._renderers[token] = (playthroughs, expires_at)
        return token

    def _renderer(self, token: str, now: float) -> frozenset[str] | None:
        with self._lock:
            for known, (playthroughs, expires) in self._renderers.items():
                if same(known, token):
                    return playthroughs if now < expires else None
        return None

    # -- the decision ---------------------------------------------------------------------------------------------

    def admit(self, access: Access, facts: Facts, now: float, *, raw: bool = False) -> Caller:
        """Let a request in or raise the reason why not; ``raw`` calls take a file as their body."""
        if access == "open":
            return Caller("open")
        token = facts.bearer
        if token is not None and same(token, self.host_token):
            return Caller("host")
        if access == "host":
            raise InnkeeperError("HOST_UNAUTHORIZED", "expected Authorization: Bearer with the host token")
        if access == "renderer":
            return self._admit_renderer(token, facts, now)
        if token is not None:
            raise InnkeeperError(
                "HOST_UNAUTHORIZED", "the bearer token is no host token; renderer tokens do not open this call"
            )
        if not self.cookie_valid(facts):
            code = "SESSION_COOKIE_REQUIRED" if access == "inspector" else "HOST_UNAUTHORIZED"
            raise InnkeeperError(
                code, "expected the host token, or the session cookie of the link that the server printed"
            )
        self.check_wrapper(facts, raw=raw)
        return Caller("inspector")

    def _admit_renderer(self, token: str | None, facts: Facts, now: float) -> Caller:
        if token is not None:
            playthroughs = self._renderer(token, now)
            if playthroughs is None:
                raise InnkeeperError(
                    "RENDERER_UNAUTHORIZED", "the token is unknown or has expired: ask the host for a new one"
                )
            return Caller("renderer", playthroughs)
        if not self._loopback and not self._remote and not self.cookie_valid(facts):
            raise InnkeeperError(
                "RENDERER_UNAUTHORIZED", "this server listens beyond this machine: a token is required"
            )
        self.check_wrapper(facts)
        return Caller("wrapper")

    def check_wrapper(self, facts: Facts, *, raw: bool = False) -> None:
        """The seed's security wrapper (spec/mvu.md §3): peer, Host, fetch site, Origin or request token, media type."""
        if not self._remote and self._loopback and not is_loopback(facts.peer):
            raise InnkeeperError(
                "TAVERN_API_REMOTE_FORBIDDEN", "calls without a token are answered on this machine only"
            )
        name = host_name(facts.headers.get("host"))
        if name is None or not (is_loopback(name) or name in self._hosts):
            raise InnkeeperError(
                "TAVERN_API_HOST_FORBIDDEN", f"expected a loopback name in the Host header, found {name!r:.80}"
            )
        if facts.method in _SAFE_METHODS:
            return
        self._check_origin(facts)
        media = facts.headers.get("content-type", "").partition(";")[0].strip().lower()
        has_body = facts.headers.get("content-length", "0") != "0" or "transfer-encoding" in facts.headers
        # A PNG's media type is, like JSON's, one that a page of another origin cannot send without asking first.
        if media not in (("application/json", "image/png") if raw else ("application/json",)) and (
            has_body or facts.method != "DELETE"
        ):
            raise InnkeeperError(
                "TAVERN_API_CONTENT_TYPE_REQUIRED", f"expected Content-Type: application/json, found {media!r:.80}"
            )

    def _check_origin(self, facts: Facts) -> None:
        refused = InnkeeperError(
            "TAVERN_API_ORIGIN_FORBIDDEN", "expected a same-origin call, or the request token in X-Tavern-Request-Token"
        )
        if facts.headers.get("sec-fetch-site", "").lower() == "cross-site":
            raise refused
        origin = facts.headers.get("origin")
        if origin is not None:
            parsed = urlsplit(origin)
            if parsed.scheme not in ("http", "https") or parsed.netloc.lower() != facts.headers.get("host", "").lower():
                raise refused
            return
        token = facts.headers.get(REQUEST_TOKEN_HEADER)
        if token is None or not same(token, self.request_token):
            raise refused

    def give_request_token(self, facts: Facts) -> dict[str, Any]:
        """``GET …/request-token``: the process token for embedded clients of the same origin."""
        self.check_wrapper(facts)
        if facts.headers.get("x-tavern-client") != "embedded":
            raise InnkeeperError("TAVERN_API_ORIGIN_FORBIDDEN", "expected the header X-Tavern-Client: embedded")
        origin = facts.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != facts.headers.get("host", "").lower():
            raise InnkeeperError("TAVERN_API_ORIGIN_FORBIDDEN", "the request token is given to the same origin only")
        if facts.headers.get("sec-fetch-site", "").lower() == "cross-site":
            raise InnkeeperError("TAVERN_API_ORIGIN_FORBIDDEN", "the request token is given to the same origin only")
        return {"ok": True, "token": self.request_token}


def load_host_token(data_dir: Path, given: str | None) -> tuple[str, Path | None]:
    """``(token, file)``: the given token, else the one in the data directory, made at first start with mode 0600."""
    if given:
        return given, None
    path = data_dir / "host-token"
    if path.exists():
        token = path.read_text(encoding="ascii").strip()
        if token:
            return token, path
    token = secrets.token_urlsafe(32)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(token + "\n")
    return token, path
