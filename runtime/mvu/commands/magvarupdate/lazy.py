"""The upstream's schema out of sparse metadata, unfolded only where a command looks (design §8, spec/mvu.md §4.5).

What is stored is sparse: a node says only what the data does not. ``unfold`` shows it as the schema that the upstream
would hold for that data, without a walk over it; ``fold`` gives back the sparse form, and of what was not touched the
very object it came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.mvu.commands.magvarupdate.values import is_number

_ROOT_FLAGS = ("strictTemplate", "concatTemplateArray", "strictSet")


class LazyNode(dict[str, Any]):
    """A schema node that came from metadata; ``sparse`` is what said so (None: nothing was said)."""

    sparse: Any = None


class LazyProperties(Mapping[str, Any]):
    """The properties of an object node, made when asked for."""

    def __init__(self, data: dict[str, Any], sparse: Mapping[str, Any], *, extensible: bool, recursive: bool) -> None:
        self._data = data
        self._sparse = sparse
        self._extensible = extensible
        self._recursive = recursive
        self._made: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        made = self._made.get(key)
        if made is None:
            said = self._sparse.get(key)
            made = _node(self._data[key], said, self._recursive)
            required = said.get("required") if isinstance(said, dict) else None
            made["required"] = required if isinstance(required, bool) else not self._extensible
            self._made[key] = made
        return made

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return self is other  # comparing must not unfold

    __hash__ = None  # type: ignore[assignment]


def _node(data: Any, sparse: Any, recursive: bool) -> dict[str, Any]:
    said = sparse if isinstance(sparse, dict) else {}
    node = LazyNode()
    node.sparse = sparse
    below = recursive or said.get("recursiveExtensible") is True
    extensible = below or said.get("extensible") is True
    if isinstance(data, dict):
        properties = said.get("properties") or {}
        node["type"] = "object"
        node["properties"] = LazyProperties(data, properties, extensible=extensible, recursive=below)
    elif isinstance(data, list):
        node["type"] = "array"
        node["elementType"] = _node(data[0], said.get("elementType"), below) if data else {"type": "any"}
    else:
        node["type"] = _kind(data)
        return node
    node["extensible"] = extensible
    node["recursiveExtensible"] = below
    if said.get("template") is not None:
        node["template"] = said["template"]
    return node


def _kind(data: Any) -> str:
    if isinstance(data, bool):
        return "boolean"
    if isinstance(data, str):
        return "string"
    return "number" if is_number(data) else "any"


def unfold(data: Any, sparse: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a state as the upstream has it."""
    node = _node(data, sparse, recursive=False)
    node.update({flag: sparse[flag] for flag in _ROOT_FLAGS if sparse.get(flag) is not None})
    return node


def fold(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The sparse form of a schema that came out of ``unfold`` and was worked with."""
    folded = dict(_folded(schema, recursive=False) or {"type": "object"})
    folded.update({flag: schema[flag] for flag in _ROOT_FLAGS if flag in schema})
    folded.setdefault("extensible", False)
    return folded


def _folded(node: Any, *, recursive: bool) -> Any:
    if isinstance(node, LazyNode):
        return node.sparse
    if not isinstance(node, dict) or node.get("type") not in ("object", "array"):
        return None
    below = node.get("recursiveExtensible") is True
    folded: dict[str, Any] = {"type": node["type"]}
    if node.get("extensible") is True and not below:
        folded["extensible"] = True
    if below and not recursive:
        folded["recursiveExtensible"] = True
    if node.get("template") is not None:
        folded["template"] = node["template"]
    element = _folded(node.get("elementType"), recursive=below)
    if element is not None:
        folded["elementType"] = element
    properties = _folded_properties(node, below)
    if properties:
        folded["properties"] = properties
    return folded if len(folded) > 1 else None


def _folded_properties(node: dict[str, Any], below: bool) -> dict[str, Any]:
    usual = node.get("extensible") is not True
    properties: dict[str, Any] = {}
    for key, child in node.get("properties", {}).items():
        said = _folded(child, recursive=below)
        required = child.get("required", usual)
        if required is not usual:
            said = {**(said or {"type": child["type"]}), "required": required}
        elif isinstance(said, dict) and said.get("required", usual) is not usual:
            said = {name: value for name, value in said.items() if name != "required"}
        if said is not None:
            properties[key] = said
    return properties
