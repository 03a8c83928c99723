"""The world's tools over the Model Context Protocol, by its official SDK (spec/worldkernel.md §7.1).

The same names, schemas and answers as the function-calling tools of HTTP: a refusal is an answer with ``ok: false``.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from runtime.values.rows import InnkeeperError
from runtime.world.service import WorldService

T = TypeVar("T")
# Runs a piece of work on the service inside one transaction of its store.
Transact = Callable[[Callable[[WorldService], T]], T]

_OPERATION_BYTES = 12


class WorldTools:
    """The tools of one session; the role that it was opened with decides which there are."""

    def __init__(self, transact: Transact[Any], session_id: str) -> None:
        self._transact = transact
        self._session_id = session_id
        session: dict[str, Any] = transact(lambda service: service.session(session_id))
        self.role = str(session["role"])
        self.title = str(session["title"])

    def list(self) -> list[types.Tool]:
        """The tools as the protocol describes them."""
        listed: dict[str, Any] = self._transact(lambda service: service.tools(self.role))
        return [
            types.Tool(
                name=entry["function"]["name"],
                description=entry["function"]["description"],
                input_schema=dict(entry["function"]["parameters"]),
            )
            for entry in listed["tools"]
        ]

    def call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Run one tool; a bad request is a tool error with its sentence, so that the model can mend it."""
        operation = secrets.token_hex(_OPERATION_BYTES)
        try:
            answer: dict[str, Any] = self._transact(
                lambda service: service.tool(self._session_id, name, arguments, operation)
            )
        except InnkeeperError as error:
            answer = {"ok": False, "code": error.code, "message": error.message}
        text = types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=answer, is_error=not answer["ok"])


def build_server(tools: WorldTools) -> Server[Any]:
    """A protocol server that offers the tools of one session."""

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await anyio.to_thread.run_sync(tools.list))

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = dict(params.arguments or {})
        return await anyio.to_thread.run_sync(tools.call, params.name, arguments)

    return Server("innkeeper", title=tools.title, on_list_tools=list_tools, on_call_tool=call_tool)


def serve_stdio(tools: WorldTools) -> None:
    """Serve one session on standard input and output until the client leaves."""
    server = build_server(tools)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
