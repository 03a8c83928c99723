"""The variables envelope: its stored form, its form as served, its budget (spec/mvu.md §1.2, design §12).

Stored: ``stat_data``, ``schema``, ``mvu_schema``?, ``initialized_lorebooks``, ``update_diagnostics``? and other keys.
``display_data`` and ``delta_data`` are derived when the envelope is read; the budget counts them nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from runtime.mvu.errors import fatal, refuse_schema
from runtime.mvu.metadata import OPEN_SCHEMA, derive_root, type_name, validate_tree
from runtime.mvu.weigh import Weight, entry, weigh
from runtime.values.bounds import Size, check_json, quick_size
from runtime.values.limits import DEFAULT
from runtime.values.patch import Change
from runtime.values.paths import parse_pointer, path_text
from runtime.values.rows import InnkeeperError

Variables = dict[str, Any]

VERSIONS = (1, 2, 3)
"""Interpreter versions that a descriptor may name (spec/mvu.md §0)."""

DERIVED = ("display_data", "delta_data")
"""Keys that are derived on read and never stored."""

_DELTA_LEVEL = 3  # root, delta_data, path, before/after
_FRAME = 2
_SMALL_DELTA = 2_000  # a delta of this size is never cut: states keep that much room
_OMITTED = {"omitted": True}
_DESCRIPTOR_KEYS = frozenset({"mvuSchema", "interpreterVersion", "source"})


def check_descriptor(descriptor: object) -> int:
    """The interpreter version of a descriptor; ``MVU_SCHEMA_CODE`` when it is none (spec/mvu.md §5.7)."""
    if (
        not isinstance(descriptor, dict)
        or set(descriptor) != _DESCRIPTOR_KEYS
        or descriptor["mvuSchema"] != 1
        or isinstance(descriptor["mvuSchema"], bool)
        or not isinstance(descriptor["source"], str)
    ):
        raise fatal(
            "MVU_SCHEMA_CODE",
            "expected mvu_schema to be exactly {mvuSchema: 1, interpreterVersion, source}, found something else",
        )
    version = descriptor["interpreterVersion"]
    if isinstance(version, bool) or version not in VERSIONS:
        raise fatal("MVU_SCHEMA_CODE", f"expected interpreterVersion 1, 2 or 3, found {version!r:.40}")
    return int(version)


def version_of(variables: Mapping[str, Any]) -> int | None:
    """The interpreter version of an envelope's declaration, None without one."""
    descriptor = variables.get("mvu_schema")
    return None if descriptor is None else check_descriptor(descriptor)


def normalise(content: Any) -> Variables:
    """The stored form of an envelope from outside; nothing of ``content`` is mutated.

    Raises ``MVU_JSON``, ``MVU_PATH``, ``MVU_LIMIT`` for what no envelope may hold, ``MVU_SCHEMA`` when ``stat_data`` is
    no object or does not fit a supplied native schema, ``MVU_SCHEMA_CODE`` for a bad descriptor.
    """
    check_json(content)
    if not isinstance(content, dict):
        raise refuse_schema(f"expected an envelope with stat_data, found {type_name(content)}", path="")
    data = content.get("stat_data")
    if not isinstance(data, dict):
        raise refuse_schema(
            f"expected an object as stat_data, found {'nothing' if data is None else type_name(data)}",
            path="/stat_data",
            expected="object",
        )
    variables: Variables = {"stat_data": data, "schema": None}
    if content.get("mvu_schema") is not None:
        check_descriptor(content["mvu_schema"])
        variables["schema"] = OPEN_SCHEMA
        variables["mvu_schema"] = content["mvu_schema"]
    elif content.get("schema") is not None:
        supplied = content["schema"]
        if not isinstance(supplied, dict):
            raise refuse_schema(f"expected an object as schema, found {type_name(supplied)}", path="/schema")
        validate_tree(data, supplied)
        variables["schema"] = supplied
    else:
        variables["stat_data"], variables["schema"] = derive_root(data)
    lorebooks = content.get("initialized_lorebooks")
    variables["initialized_lorebooks"] = {} if lorebooks is None else lorebooks
    for key, value in content.items():
        if key not in variables and key not in DERIVED and key != "mvu_schema":
            variables[key] = value
    check_budget(variables)
    return variables


def delta_data(changes: Iterable[Change]) -> dict[str, Any]:
    """What an update changed, by path text: ``before`` and ``after``, each only where there was a value."""
    delta: dict[str, Any] = {}
    for change in changes:
        name = path_text(parse_pointer(change["path"]))
        known = delta.get(name)
        if known is None:
            delta[name] = {key: change[key] for key in ("before", "after") if key in change}
        else:  # the same place twice: an array item that went and whose successor changed
            known.pop("after", None)
            if "after" in change:
                known["after"] = change["after"]
    return delta


def served(variables: Mapping[str, Any], changes: Iterable[Change] = ()) -> Variables:
    """The envelope as readers see it: with ``display_data`` and ``delta_data``; ``changes`` are the last update's.

    A delta that would take the envelope over its budget leaves out values, the largest first: such an entry is
    ``{"omitted": true}``. So whatever can be stored can be served, and can take a command.
    """
    result = dict(variables)
    result["display_data"] = variables["stat_data"]
    result["delta_data"] = _fitting(variables, delta_data(changes))
    return result


def _fitting(variables: Mapping[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """``delta``, or as much of it as the budget leaves room for."""
    fitting: dict[str, Any] = {}
    weights: dict[str, Weight] = {}
    for name, change in delta.items():
        try:
            weights[name] = weigh(change, _DELTA_LEVEL - 1)
            fitting[name] = change
        except InnkeeperError:  # deeper than any value may be, three levels down
            weights[name] = weigh(_OMITTED)
            fitting[name] = _OMITTED
    charge = sum(weight.charge + entry(name) for name, weight in weights.items())
    nodes = sum(weight.nodes for weight in weights.values())
    if charge <= _SMALL_DELTA:
        data = rest = Weight(0, 0)
    else:
        data, rest = exact_weights(variables)
    omitted = weigh(_OMITTED)
    for name in sorted(weights, key=lambda name: -weights[name].charge):
        if not exceeds(data, rest, Weight(nodes, charge)):
            return fitting
        fitting[name] = _OMITTED
        charge += omitted.charge - weights[name].charge
        nodes += omitted.nodes - weights[name].nodes
    return {} if exceeds(data, rest, Weight(nodes, charge)) else fitting


def rest_weight(variables: Mapping[str, Any]) -> Weight:
    """An upper bound of everything in the served envelope but ``stat_data``, ``display_data`` and the delta."""
    nodes, charge = 3, _SMALL_DELTA + _FRAME + entry("stat_data") + entry("display_data") + entry("delta_data") + _FRAME
    for key, value in variables.items():
        if key in DERIVED or key == "stat_data":
            continue
        if not value and isinstance(value, dict | list):
            nodes += 1
            charge += _FRAME + entry(key)
            continue
        size = _descriptor_size(value["source"]) if key == "mvu_schema" else quick_size(value)
        nodes += size.nodes
        charge += size.charge + entry(key)
    return Weight(nodes, charge)


@lru_cache(maxsize=256)
def _descriptor_size(source: str) -> Size:
    """An upper bound of a descriptor; its source is long and always the same."""
    return quick_size({"mvuSchema": 1, "interpreterVersion": 1, "source": source})


def data_weight(data: Any) -> Weight:
    """An upper bound of ``stat_data``."""
    size = quick_size(data)
    return Weight(size.nodes, size.charge)


def exceeds(data: Weight, rest: Weight, delta: Weight = Weight(0, 0)) -> bool:  # noqa: B008 - an immutable constant
    """Whether an envelope of these parts is over the budget."""
    return (
        2 * data.charge + rest.charge + delta.charge > DEFAULT.charge
        or 2 * data.nodes + rest.nodes + delta.nodes > DEFAULT.nodes
    )


def over_budget(charge: int, nodes: int) -> InnkeeperError:
    """The error of an envelope that is too large as served."""
    return fatal(
        "MVU_LIMIT",
        f"expected variables of at most {DEFAULT.charge} charged bytes and {DEFAULT.nodes} values as served (the data "
        f"counts twice, for stat_data and display_data), found {charge} and {nodes}",
        {"limit": DEFAULT.charge, "found": charge},
    )


def exact_weights(variables: Mapping[str, Any]) -> tuple[Weight, Weight]:
    """The data, and everything else but the delta, exactly."""
    data = weigh(variables["stat_data"], 1)
    frame = rest_weight({})
    nodes, charge = frame
    for key, value in variables.items():
        if key not in DERIVED and key != "stat_data":
            weight = weigh(value, 1)
            nodes += weight.nodes
            charge += weight.charge + entry(key)
    return data, Weight(nodes, charge)


def check_budget(variables: Mapping[str, Any]) -> None:
    """Refuse (``MVU_LIMIT``) an envelope that is too large as served: first by bounds, then exactly."""
    if not exceeds(data_weight(variables["stat_data"]), rest_weight(variables)):
        return
    data, rest = exact_weights(variables)
    if exceeds(data, rest):
        raise over_budget(2 * data.charge + rest.charge, 2 * data.nodes + rest.nodes)
