"""The upstream's own schema: derived from data and its ``$meta`` marks, asked on insert and delete.

Rules: spec/magvarupdate.md §8. Schema nodes are plain JSON objects that nobody mutates. Deriving shares: a subtree
whose node comes out the same is the old node itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.mvu.commands.magvarupdate.paths import index_of
from runtime.mvu.commands.magvarupdate.values import NamedList, is_container, is_number, key_text

EXTENSIBLE_MARK = "$__META_EXTENSIBLE__$"
ZOD_MARK = "没有用别管这个"
"""What the Zod companion leaves where a schema would stand."""

INTERNAL = "$internal"
_ROOT_FLAGS = ("strictTemplate", "concatTemplateArray", "strictSet")


def _meta_of(data: dict[str, Any]) -> dict[str, Any]:
    meta = data.get("$meta")
    return meta if isinstance(meta, dict) else {}


def _is_array_mark(item: Any) -> bool:
    return isinstance(item, dict) and item.get("$arrayMeta") is True and isinstance(item.get("$meta"), dict)


def is_mark(item: Any) -> bool:
    """Whether an array item is a mark and no data."""
    return item == EXTENSIBLE_MARK if isinstance(item, str) else _is_array_mark(item)


class Deriver:
    """Derives schemas; ``warnings`` collects what changed its kind."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def root(self, data: Any, old: Any = None, previous: Any = None) -> Any:
        """The schema of a whole state, with the flags that only a root carries.

        ``previous`` is a state that ``old`` was derived from: what is still the same object there keeps its node.
        """
        node = self.node(data, old, recursive=False, previous=previous, root=True)
        if not isinstance(data, dict):
            return node
        meta = _meta_of(data)
        flags: dict[str, Any] = {}
        for flag in _ROOT_FLAGS:
            value = meta.get(flag, old.get(flag) if isinstance(old, dict) else None)
            if value is not None:
                flags[flag] = value
        flagged = {**{key: value for key, value in node.items() if key not in _ROOT_FLAGS}, **flags}
        return old if flagged == old else flagged

    def node(self, data: Any, old: Any, *, recursive: bool, previous: Any = None, root: bool = False) -> Any:
        """The node of one value; ``old`` is what was known of it, ``recursive`` whether everything below is open."""
        if isinstance(data, list):
            return self._array(data, self._checked(old, "array"), recursive, previous)
        if isinstance(data, dict):
            return self._object(data, self._checked(old, "object"), recursive, previous, root=root)
        kind = "any"
        if isinstance(data, bool):
            kind = "boolean"
        elif is_number(data):
            kind = "number"
        elif isinstance(data, str):
            kind = "string"
        return {"type": kind}

    def _checked(self, old: Any, kind: str) -> dict[str, Any]:
        if not isinstance(old, dict):
            return {}
        if old.get("type") != kind:
            self.warnings.append(f"schema.expected_{kind}")
            return {}
        return old

    def _array(self, data: list[Any], old: dict[str, Any], recursive: bool, previous: Any) -> dict[str, Any]:
        meta: dict[str, Any] = next((item["$meta"] for item in data if _is_array_mark(item)), {})
        marked = EXTENSIBLE_MARK in data
        items = [item for item in data if not is_mark(item)] if marked or meta else data
        below = recursive or old.get("recursiveExtensible") is True
        element: Any = {"type": "any"}
        if items:
            before = previous[0] if isinstance(previous, list) and previous else None
            known = old.get("elementType")
            same = before is items[0] and is_container(before) and known is not None
            element = known if same else self.node(items[0], known, recursive=below, previous=before)
        node = {
            "type": "array",
            "extensible": below or marked or meta.get("extensible") is True or old.get("extensible") is True,
            "recursiveExtensible": below,
            "elementType": element,
        }
        template = meta.get("template", old.get("template"))
        if template is not None:
            node["template"] = template
        return node

    def _object(
        self, data: dict[str, Any], old: dict[str, Any], recursive: bool, previous: Any, *, root: bool
    ) -> dict[str, Any]:
        meta = _meta_of(data)
        lately = previous if isinstance(previous, dict) and not meta else {}
        known = old.get("properties", {})
        below = recursive or meta.get("recursiveExtensible") is True or old.get("recursiveExtensible") is True
        extensible = below or meta.get("extensible") is True or old.get("extensible") is True
        listed = meta.get("required")
        required = frozenset(item for item in listed if isinstance(item, str)) if isinstance(listed, list) else ()
        properties: dict[str, Any] = {}
        for key, value in data.items():
            if (key == "$meta" and meta) or (root and key == INTERNAL):
                continue
            before = known.get(key)
            former = lately.get(key)
            if before is not None and former is value and value is not None:
                properties[key] = before
                continue
            child = self.node(value, before, recursive=below, previous=former)
            earlier = before.get("required") if isinstance(before, dict) else None
            child["required"] = earlier if isinstance(earlier, bool) else (not extensible or key in required)
            properties[key] = before if child == before else child
        node = {
            "type": "object",
            "properties": properties,
            "extensible": extensible,
            "recursiveExtensible": below,
        }
        template = meta.get("template", old.get("template"))
        if template is not None:
            node["template"] = template
        return node


def strip(data: Any) -> Any:
    """``data`` without ``$meta`` objects and array marks, at every depth; shares what holds none."""
    if isinstance(data, dict):
        members = {key: strip(value) for key, value in data.items() if key != "$meta" or not isinstance(value, dict)}
        same = len(members) == len(data) and all(members[key] is value for key, value in data.items())
        return data if same else members
    if isinstance(data, list):
        items = [strip(item) for item in data if not is_mark(item)]
        if len(items) == len(data) and all(new is item for new, item in zip(items, data, strict=True)):
            return data
        return NamedList(items, data.named) if isinstance(data, NamedList) else items
    return data


def strip_new(data: Any, previous: Any) -> Any:
    """``strip`` of a collection whose members were stripped before as far as they stand in ``previous`` too."""
    if isinstance(data, dict) and isinstance(previous, dict) and "$meta" not in data:
        changed = {key: strip(item) for key, item in data.items() if previous.get(key) is not item}
        return {**data, **changed} if any(changed[key] is not data[key] for key in changed) else data
    if isinstance(data, list):
        known = {id(item) for item in previous} if isinstance(previous, list) else set()
        if all(id(item) in known or (not is_mark(item) and strip(item) is item) for item in data):
            return data
    return strip(data)


def node_at(schema: Any, keys: Sequence[str]) -> Any:
    """The node that a path leads to, None when the schema does not know it."""
    for key in keys:
        if not isinstance(schema, dict):
            return None
        if schema.get("type") == "array":
            schema = schema.get("elementType") if index_of(key) is not None else None
        else:
            schema = schema.get("properties", {}).get(key)
    return schema if isinstance(schema, dict) else None


def with_node(schema: dict[str, Any], keys: Sequence[str], node: dict[str, Any]) -> dict[str, Any]:
    """The schema with another node at a path that it knows; the flag ``required`` stays."""
    if not keys:
        return node
    if schema.get("type") == "array":
        return {**schema, "elementType": with_node(schema["elementType"], keys[1:], node)}
    child = schema["properties"][keys[0]]
    replaced = with_node(child, keys[1:], node)
    if "required" in child and "required" not in replaced:
        replaced = {**replaced, "required": child["required"]}
    return {**schema, "properties": {**schema["properties"], keys[0]: replaced}}


def fill(value: Any, template: Any, root: Any, warnings: list[str]) -> Any:
    """A value that goes into a collection with a template: completed by it."""
    if template is None:
        return value
    flags = root if isinstance(root, dict) else {}
    if isinstance(template, list):
        if not is_container(value):
            if flags.get("strictTemplate") is True:
                return value
            value = [value]
        if isinstance(value, list):
            if flags.get("concatTemplateArray") is False:
                return merge(template, value)
            return [*value, *template]
    elif isinstance(template, dict) and isinstance(value, dict):
        return merge(template, value)
    warnings.append("template.type_mismatch")
    return value


def merge(base: Any, value: Any) -> Any:
    """lodash's deep merge of two objects or two arrays: ``value`` wins, arrays go by index."""
    if isinstance(base, dict) and isinstance(value, dict):
        merged = dict(base)
        for key, item in value.items():
            merged[key] = merge(base[key], item) if key in base else item
        return merged
    if isinstance(base, list) and isinstance(value, list):
        return [merge(base[at], item) if at < len(base) else item for at, item in enumerate(value)] + base[len(value) :]
    if isinstance(base, list) and isinstance(value, dict) and value:
        return NamedList(list(base), {key_text(key): item for key, item in value.items()})
    return value


def strict_set(schema: Any) -> bool:
    """Whether pairs with a description are set as a whole."""
    return isinstance(schema, dict) and schema.get("strictSet") is True
