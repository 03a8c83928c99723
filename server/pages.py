"""The pages and the scripts that they and other pages load: plain files, a strict content policy (design §9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from runtime.values.rows import InnkeeperError
from server.context import Context
from server.http import error_response
from server.security import COOKIE

STATIC = Path(__file__).parent / "static"
PAGES = {"/": "index.html", "/live": "live.html", "/dimensions": "dimensions.html", "/world": "world.html"}
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".ts": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self' blob:; frame-src 'self' blob: data:; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# The frame that a card draws in: no network, no origin, and any page may embed it. Its own script is named by hash in the file.
FRAME = "card-frame.html"
FRAME_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; sandbox allow-scripts"
)
_HEADERS = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-cache"}


def _page_headers() -> dict[str, str]:
    return {**_HEADERS, "content-security-policy": POLICY, "x-frame-options": "DENY"}


def _page(context: Context, file: str) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        key = request.query_params.get("key")
        if key is not None:
            cookie = context.security.redeem(key)
            if cookie is None:
                return Response(
                    "This link was used already. Start the server again for a new one.\n",
                    403,
                    _HEADERS,
                    "text/plain; charset=utf-8",
                )
            response = RedirectResponse(request.url.path, 303, _HEADERS)
            response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
            return response
        path = STATIC / file
        if not path.is_file():
            return error_response(InnkeeperError("NOT_FOUND", "there is no such page"))
        return Response(path.read_bytes(), 200, _page_headers(), _MEDIA[".html"])

    return handle


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    path = (STATIC / name).resolve()
    media = _MEDIA.get(path.suffix)
    if STATIC.resolve() not in path.parents or media is None or not path.is_file():
        return error_response(InnkeeperError("NOT_FOUND", "there is no such file"))
    headers = dict(_HEADERS)
    if path.suffix == ".js":  # the bridge may be loaded by pages of other origins; it carries no secret
        headers["access-control-allow-origin"] = "*"
        headers["cross-origin-resource-policy"] = "cross-origin"
    if path.name == FRAME:
        headers |= {"content-security-policy": FRAME_POLICY, "cross-origin-resource-policy": "cross-origin"}
    elif path.suffix == ".html":
        headers = _page_headers()
    return Response(path.read_bytes(), 200, headers, media)


def routes(context: Context) -> list[Route]:
    """The pages and their files."""
    found = [Route(path, _page(context, file), methods=["GET"]) for path, file in PAGES.items()]
    found.append(Route("/static/{name:path}", _static, methods=["GET"]))
    found.extend(Route(f"/{name}", _alias(name), methods=["GET"]) for name in ("bridge.js", "card-runtime.js"))
    return found


def _alias(name: str) -> Callable[[Request], Any]:
    """A short address; a redirect, so that the module finds its neighbours beside it."""

    async def handle(request: Request) -> Response:
        headers = {**_HEADERS, "access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin"}
        return RedirectResponse(f"/static/{name}", 307, headers)

    return handle
