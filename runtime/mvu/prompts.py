"""What reaches the model: the state block, prompt dependencies, bound lists, management defaults (spec/mvu.md §10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import VARIANTS
from runtime.mvu import resources
from runtime.mvu.policy import CHAINS, UsagePolicy
from runtime.mvu.scopes import TraceScope
from runtime.mvu.service_limits import CONSUMER_ID
from runtime.sessions import store
from runtime.sessions.timelines import playthrough_row
from runtime.values.canonical import ordered_json, sha
from runtime.values.rows import InnkeeperError

STRATEGY_REVISION = 1
INSTRUCTIONS = (
    "The JSON above is the current state. To change it, end your reply with one block "
    "<JSONPatch>[...]</JSONPatch> that holds a JSON array of operations with literal values only, for example "
    '{"op":"replace","path":"/hp","value":90} to set a value or {"op":"delta","path":"/hp","value":-3} to add to a '
    "number. Name only paths that exist, change only what the story changed, and leave the block out when nothing did."
)
_TEMPLATE_CONSUMER = re.compile(r"prompt-template:[A-Za-z0-9_.-]{1,100}\Z")
_BOOK_CONSUMER = re.compile(r"world-book:.+\Z", re.DOTALL)
USAGES = {"prompt-template-dependency": "tavern.prompt-templates", "world-book-variable": "tavern.world-books"}


def state_block(
    resource: Row, variables: Mapping[str, Any], revision: int, config_revision: int | None
) -> dict[str, Any]:
    """The system block of one resource: its ``stat_data`` and how to change it."""
    block_id = "v1-" + sha([resource["id"], revision, config_revision, STRATEGY_REVISION])
    instructions = resource["definition"].get("instructions") or INSTRUCTIONS
    return {
        "id": block_id,
        "source": "tavern.mvu/state",
        "role": "system",
        "lifetime": "request",
        "text": f"{ordered_json(variables.get('stat_data'))}\n{instructions}",
        "diagnostics": [
            {
                "code": "MVU_RESOURCE_VERSION",
                "resourceId": resource["id"],
                "blockId": block_id,
                "revision": revision,
                "configRevision": config_revision,
                "strategyRevision": STRATEGY_REVISION,
            }
        ],
    }


def request_counters(tx: Transaction, session: Row) -> list[Any]:
    """The counters that a prompt's lease compares: identity, selection, membership and each bound state."""
    selection = store.selection_row(tx, session["id"])
    epoch = None if session["playthrough_id"] is None else playthrough_row(tx, session["playthrough_id"])["epoch"]
    states = [[row["id"], row["revision"], row["source_error"]] for row in resources.session_resources(tx, session)]
    return [session["id"], session["header_epoch"], session["last_turn"], selection["generation"], epoch, states]


def prompt_content(tx: Transaction, resource: Row, session: Row, turn: int | None) -> tuple[str, int]:
    """``(content key, revision)`` that a request reads: the turn's checkpoint, else the current content."""
    if turn is None:
        return resource["current_content"], resource["revision"]
    start = store.last_turn_start(tx, session)
    if start is None or start.turn != turn:
        raise InnkeeperError("WORLD_BOOK_VARIABLE_DENIED", f"turn {turn} is not the latest started turn of the session")
    found = resources.checkpoint_at(tx, resource, session, turn)
    if found is None:
        raise InnkeeperError("WORLD_BOOK_VARIABLE_DENIED", f"turn {turn} has no checkpoint of {resource['id']}")
    return found["content"], found["revision"]


def check_dependency_event(event: object) -> Mapping[str, Any]:
    """The event of a prompt dependency: only its keys, a known usage and that usage's consumer."""
    if not isinstance(event, Mapping) or set(event) - {"preview", "turn", "step", "usage", "consumer"}:
        raise InnkeeperError("MVU_SCOPE", "expected an event with preview, turn?, step?, usage and consumer only")
    adapter = USAGES.get(str(event.get("usage")))
    consumer = event.get("consumer")
    if adapter is None or not isinstance(event.get("preview"), bool):
        raise InnkeeperError("MVU_SCOPE", f"expected usage as one of {', '.join(USAGES)} and a boolean preview")
    if not isinstance(consumer, Mapping) or set(consumer) != {"adapterId", "id"} or consumer["adapterId"] != adapter:
        raise InnkeeperError("MVU_SCOPE", f"expected the consumer {{adapterId: {adapter!r}, id}}")
    form = _TEMPLATE_CONSUMER if adapter == "tavern.prompt-templates" else _BOOK_CONSUMER
    if (
        not isinstance(consumer["id"], str)
        or form.match(consumer["id"]) is None
        or len(consumer["id"]) > CONSUMER_ID.default + 16
    ):
        raise InnkeeperError("MVU_SCOPE", "expected the consumer's id as prompt-template:… or world-book:…")
    for name in ("turn", "step"):
        value = event.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise InnkeeperError("MVU_SCOPE", f"expected {name} as a non-negative whole number, found {value!r:.80}")
    return event


def same_character(tx: Transaction, resource: Row, session: Row) -> bool:
    """Whether every playthrough that refers to the session names the resource's own card (spec/mvu.md §10)."""
    template = resources.template_row(tx, resource["template_id"])
    character = None if template is None else template["character_id"]
    named = set(referring_characters(tx, session))
    if len(named) > 1:
        return False
    return not named or character is None or named == {character}


def referring_characters(tx: Transaction, session: Row) -> list[str]:
    """The cards of all playthroughs that the session belongs to or stands in."""
    ids = {row["playthrough_id"] for row in tx.select(VARIANTS, {"session_id": session["id"]})}
    if session["playthrough_id"] is not None:
        ids.add(session["playthrough_id"])
    return [playthrough_row(tx, playthrough_id)["character_id"] for playthrough_id in sorted(ids)]


def management_defaults(resource: Row, scope: TraceScope, check: Callable[[], bool]) -> dict[str, Any] | None:
    """The source's default configuration for a manager, or ``None`` for errored or legacy resources."""
    if resource["source_error"] is not None or resource["definition"].get("legacy"):
        return None
    configuration = {
        "type": "mvu-state",
        "store": {
            "on": "assistant_message_committed",
            "rule": True,
            "strategy": list(CHAINS["assistant_message_committed"]),
        },
        "retrieve": {"on": "before_model_request", "rule": True, "strategy": list(CHAINS["before_model_request"])},
    }
    return {
        "protocolVersion": 1,
        "revision": sha(configuration),
        "configuration": configuration,
        "scopePolicy": "source-bound",
        "checkCurrent": check,
        "scope": scope.to_json(),
    }


def decide_request(
    policy: UsagePolicy,
    resource: Row,
    session_id: str,
    event: Mapping[str, Any],
    variables: Any,
    *,
    strict: bool = False,
) -> Any:
    """Ask the usage policies whether a request may read a resource."""
    call = {
        "on": "before_model_request",
        "id": resource["id"],
        "scope": {"authority": "local", "sessionId": session_id},
        "event": dict(event),
        "variables": variables,
    }
    return policy.decide(call, strict=strict)
