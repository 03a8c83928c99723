"""Tools for function calling (§7.1): schemas by role, and calls translated into intents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.world.host.refusals import HostRefusal

PLAY = "play"
AUTHOR = "author"
ROLES: tuple[str, ...] = (PLAY, AUTHOR)

_TEXT = {"type": "string"}
_ACTORS = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": 'Slot name to character id, for example {"attacker": "ann"}.',
}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, what it is for, its parameters (JSON Schema), and whether only authors see it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    author_only: bool = False

    def schema(self) -> dict[str, Any]:
        """The function-calling form that model endpoints take."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


TOOLS: tuple[Tool, ...] = (
    Tool(
        "lore_get",
        "Read one lore document or character card of the pack by its key. Nothing changes.",
        _object({"key": _TEXT}, "key"),
    ),
    Tool(
        "state_read",
        "Read the State, or the part of it at a dotted pointer. Nothing changes.",
        _object({"pointer": _TEXT}),
    ),
    Tool(
        "check_match",
        "List the checks that the rules force for these tags. Nothing changes.",
        _object({"tags": {"type": "array", "items": _TEXT}, "actors": _ACTORS}, "tags"),
    ),
    Tool(
        "check_propose",
        "Run a check of the pack. The rules decide the outcome; tell only what the receipt says. "
        "'patch' may ask for a scene (travel) or note unguarded facts.",
        _object({"checkId": _TEXT, "actors": _ACTORS, "patch": {"type": "object"}}, "checkId", "actors"),
    ),
    Tool(
        "state_propose_fact",
        "Record a narrative fact such as facts.weather. Numbers of characters, the scene and the stage are refused.",
        _object({"pointer": _TEXT, "value": {}}, "pointer", "value"),
    ),
    Tool("pack_validate", "Judge the pack again and list every finding.", _object({}), True),
    Tool(
        "pack_scaffold",
        "Make the files of a new pack from the answers of the interview.",
        _object({"packId": _TEXT, "answers": {"type": "object", "additionalProperties": _TEXT}}, "packId", "answers"),
        True,
    ),
    Tool(
        "pack_open_play",
        "Say how to open a play session of this pack; refused while the pack has errors.",
        _object({}),
        True,
    ),
    Tool("pack_interview", "The questions to ask before a new pack is made, as two pages.", _object({}), True),
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def tools_for(role: str) -> list[dict[str, Any]]:
    """The schemas that a role sees."""
    return [tool.schema() for tool in TOOLS if role == AUTHOR or not tool.author_only]


def tool_of(name: str, role: str) -> Tool:
    """The tool, or a refusal when there is none or the role may not use it."""
    tool = _BY_NAME.get(name)
    if tool is None or (tool.author_only and role != AUTHOR):
        have = ", ".join(entry["function"]["name"] for entry in tools_for(role))
        raise HostRefusal("HOST_TOOL_HIDDEN", f"expected one of {have}; found {name!r} in the role {role}")
    return tool


def tool_intent(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a call of one of the four intent tools. Bad actors become none, a bad patch is ignored (§7.1)."""
    if name == "lore_get":
        return {"type": "lore", "key": _required(arguments, "key")}
    if name == "state_read":
        pointer = arguments.get("pointer")
        return {"type": "look", "pointer": pointer} if isinstance(pointer, str) and pointer else {"type": "look"}
    if name == "check_propose":
        intent: dict[str, Any] = {
            "type": "check",
            "checkId": _required(arguments, "checkId"),
            "actors": actors_of(arguments.get("actors")),
        }
        if isinstance(arguments.get("patch"), dict):
            intent["patch"] = arguments["patch"]
        return intent
    if name == "state_propose_fact":
        return {"type": "fact", "pointer": _required(arguments, "pointer"), "value": arguments.get("value")}
    raise HostRefusal("HOST_COMMAND", f"the tool {name} is not an intent")


def actors_of(value: Any) -> dict[str, str]:
    """A map of texts, or an empty one."""
    if isinstance(value, dict) and all(isinstance(actor, str) for actor in value.values()):
        return dict(value)
    return {}


def tags_of(value: Any) -> list[str]:
    """The texts of a list of tags."""
    return [tag for tag in value if isinstance(tag, str)] if isinstance(value, list) else []


def _required(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        raise HostRefusal("HOST_COMMAND", f"expected the argument {name!r} as text, found {value!r}")
    return value
