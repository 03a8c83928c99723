"""The world's tools through the protocol's own client (spec/worldkernel.md §7.1)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from runtime.assembly import open_runtime
from runtime.world import api
from runtime.world.service import WorldService
from server.mcp_tools import WorldTools, build_server
from tests.world.support import FERRY, files_of, service

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_serves_over_standard_input_and_output(tmp_path: Path) -> None:
    runtime = open_runtime(tmp_path / "innkeeper.sqlite", with_sandbox=False)
    body = {"packId": "lantern-ferry", "role": "play", "sessionId": "s", "operationId": "open"}
    runtime.world.write(lambda world: api.post_pack(world, {"files": files_of(FERRY)}))
    runtime.world.write(lambda world: api.post_session(world, body))
    runtime.close()
    program = "import sys; from server.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["-c", program, "mcp", "--session", "s", "--data-dir", str(tmp_path)]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)

    async def run() -> str:
        async with Client(stdio_client(parameters)) as client:
            result = await client.call_tool("state_read", {"pointer": "scene"})
            assert result.structured_content is not None
            return str(result.structured_content["receipt"]["value"])

    assert anyio.run(run) == "ferry.landing"


def session(role: str) -> tuple[WorldService, str]:
    world = service()
    api.post_pack(world, {"files": files_of(FERRY)})
    body = {"packId": "lantern-ferry", "role": role, "operationId": "open", "seed": "s"}
    return world, api.post_session(world, body)["sessionId"]


def talk(role: str, calls: list[tuple[str, dict[str, Any]]]) -> tuple[list[str], list[tuple[bool, dict[str, Any]]]]:
    """Connect a client, list the tools, make the calls."""
    world, name = session(role)
    server = build_server(WorldTools(lambda work: work(world), name))

    async def run() -> tuple[list[str], list[tuple[bool, dict[str, Any]]]]:
        async with Client(server) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            answers = []
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                assert result.structured_content is not None
                answers.append((bool(result.is_error), dict(result.structured_content)))
            return names, answers

    return anyio.run(run)


def test_a_model_plays_through_the_protocol() -> None:
    names, answers = talk(
        "play",
        [
            ("state_propose_fact", {"pointer": "facts.commission", "value": "accepted"}),
            ("state_propose_fact", {"pointer": "characters.wren.rank", "value": 1}),
            ("check_match", {"tags": ["insight"]}),
            ("check_propose", {"checkId": "travel", "actors": {}, "patch": {"scene": "ferry.chandlery"}}),
            ("lore_get", {"key": "ferry-chandlery"}),
            ("state_read", {"pointer": "scene"}),
            ("pack_validate", {}),
        ],
    )
    assert names == ["lore_get", "state_read", "check_match", "check_propose", "state_propose_fact"]
    assert [error for error, _ in answers] == [False, True, False, False, False, False, True]
    assert answers[1][1]["code"] == "CHANNEL_VIOLATION"
    assert answers[2][1]["forced"] == [{"checkId": "insight", "actors": {"seer": "wren"}}]
    assert answers[3][1]["turn"] == 2
    assert answers[4][1]["receipt"]["body"].startswith("# The chandlery")
    assert answers[5][1]["receipt"]["value"] == "ferry.chandlery"
    assert answers[6][1]["code"] == "HOST_TOOL_HIDDEN"
    assert "rng_seed" not in str(answers)


def test_an_author_has_four_more_tools() -> None:
    names, answers = talk("author", [("pack_validate", {}), ("pack_interview", {})])
    assert len(names) == 9
    assert answers[0][1]["valid"] is True
    assert [len(page) for page in answers[1][1]["pages"]] == [4, 4]


@pytest.mark.parametrize("arguments", [{"pointer": "facts.a", "value": ["x" * 300_000]}, {"value": 1}])
def test_a_bad_call_is_a_tool_error_with_a_sentence(arguments: dict[str, Any]) -> None:
    _, answers = talk("play", [("state_propose_fact", arguments)])
    error, body = answers[0]
    assert error
    assert body["message"].startswith("expected")
