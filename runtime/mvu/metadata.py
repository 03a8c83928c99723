"""Native metadata: what data says about itself through ``$meta``, ``$arrayMeta`` and markers (spec/mvu.md §4.5).

A derived tree is *sparse*: a node says only what the data does not (an object is closed, each of its keys is required,
a value keeps its type), and its root carries ``implicit: true``. So a plain state has a schema of one node, and a
command pays for what it changes. A tree that somebody supplies is validated in full and kept until the first command.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from runtime.mvu.errors import Refused, refuse_schema
from runtime.values.copying import MISSING
from runtime.values.paths import pointer_text

META = "$meta"
ARRAY_META = "$arrayMeta"
EXTENSIBLE_MARKER = "$__META_EXTENSIBLE__$"
IMPLICIT = "implicit"
ROOT_SWITCHES = ("strictSet", "strictTemplate", "concatTemplateArray")

OPEN_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "extensible": True, "strictSet": True}
"""The native schema of a state that a declaration guards (spec/mvu.md §1.2). Never mutated."""

Node = dict[str, Any]


class Zone(NamedTuple):
    """What the metadata say about one container: its node, whether it is open, whether everything below is.

    ``free``: inside array elements and under a declaration nothing is derived, protected or validated.
    """

    node: Node | None
    extensible: bool
    recursive: bool
    free: bool

    def child(self, container: Any, part: str) -> Zone:
        """The zone of what stands under ``part`` of ``container``."""
        if self.free or isinstance(container, list):
            return FREE
        node = property_of(self.node, part)
        if node is None:
            return CLOSED if not self.recursive else RECURSIVE
        recursive = self.recursive or node.get("recursiveExtensible") is True
        return Zone(node, recursive or node.get("extensible") is True, recursive, False)

    def required(self, part: str) -> bool:
        """Whether the key ``part`` of this object may not go."""
        node = property_of(self.node, part)
        if node is not None and isinstance(node.get("required"), bool):
            return bool(node["required"])
        return not self.extensible


FREE = Zone(None, True, True, True)
CLOSED = Zone(None, False, False, False)
RECURSIVE = Zone(None, True, True, False)


def property_of(node: Node | None, key: str) -> Node | None:
    """The node of an object's key, or None when nothing is said."""
    if node is None:
        return None
    properties = node.get("properties")
    found = properties.get(key) if isinstance(properties, dict) else None
    return found if isinstance(found, dict) else None


def root_zone(schema: Node) -> Zone:
    """The zone of the whole data."""
    recursive = schema.get("recursiveExtensible") is True
    return Zone(schema, recursive or schema.get("extensible") is True, recursive, False)


def type_name(value: Any) -> str:
    """The native type of a value: object, array, string, number, boolean or any."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "any" if value is None else "number"


def has_metadata(value: Any) -> bool:
    """Whether a value holds anything that a derivation would take out. Iterative."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if META in item:
                return True
            stack.extend(child for child in item.values() if isinstance(child, dict | list))
        elif isinstance(item, list):
            for child in item:
                if child == EXTENSIBLE_MARKER or (isinstance(child, dict) and child.get(ARRAY_META) is True):
                    return True
    return False


# --- derivation --------------------------------------------------------------------------------------------------


def derive_root(value: dict[str, Any], old: Node | None = None) -> tuple[dict[str, Any], Node]:
    """The data without its metadata and the sparse tree, with ``old`` as memory."""
    if (old is None or old.get(IMPLICIT) is True) and not has_metadata(value):
        return value, old or {"type": "object", "extensible": False, IMPLICIT: True}
    clean, node = derive(value, old, MISSING, CLOSED._replace(node=None))
    root: Node = node or {"type": "object", "extensible": False}
    root.setdefault("extensible", False)
    root[IMPLICIT] = True
    return clean, root


def derive(value: Any, old: Node | None, old_value: Any, above: Zone) -> tuple[Any, Node | None]:
    """A value without its metadata and its node (None: it says nothing); ``old``, ``old_value`` are the memory.

    ``above`` is the zone that holds the value. For values whose depth was checked.
    """
    if isinstance(value, dict):
        return _derive_object(value, old, old_value, above)
    if isinstance(value, list):
        return _derive_array(value, old, above)
    return value, None


def _derive_object(
    value: dict[str, Any], old: Node | None, old_value: Any, above: Zone
) -> tuple[dict[str, Any], Node | None]:
    meta = value.get(META)
    meta = meta if isinstance(meta, dict) else None
    said = meta or {}
    before = old or {}
    own_recursive = said.get("recursiveExtensible") is True or before.get("recursiveExtensible") is True
    recursive = own_recursive or above.recursive
    was_extensible = above.recursive or before.get("recursiveExtensible") is True or before.get("extensible") is True
    extensible = recursive or said.get("extensible") is True or before.get("extensible") is True
    zone = Zone(None, extensible, recursive, False)
    listed = said.get("required")
    required = set(filter(_is_text, listed)) if isinstance(listed, list) else set()
    properties: dict[str, Node] = {}
    clean: dict[str, Any] = {}
    known = old_value if isinstance(old_value, dict) else {}
    for key, child in value.items():
        if key == META and meta is not None:
            continue
        old_child = property_of(old, key)
        clean[key], node = derive(child, old_child, known.get(key, MISSING), zone)
        if old_child is not None and isinstance(old_child.get("required"), bool):
            needed = bool(old_child["required"])
        elif key in known:
            needed = not was_extensible
        else:
            needed = key in required or not extensible
        if needed != (not extensible):
            node = {**(node or {"type": type_name(clean[key])}), "required": needed}
        if node is not None:
            properties[key] = node
    node = _node("object", own_recursive, extensible and not above.recursive, said, before, properties)
    if all(clean[key] is value.get(key) for key in clean) and len(clean) == len(value):
        clean = value
    return clean, node


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _derive_array(value: list[Any], old: Node | None, above: Zone) -> tuple[list[Any], Node | None]:
    meta: dict[str, Any] | None = None
    marked = False
    clean: list[Any] = []
    for item in value:
        if isinstance(item, str) and item == EXTENSIBLE_MARKER:
            marked = True
        elif meta is None and isinstance(item, dict) and item.get(ARRAY_META) is True:
            meta = item[META] if isinstance(item.get(META), dict) else {}
        else:
            clean.append(item)
    said, before = meta or {}, old or {}
    extensible = said.get("extensible") is True or marked or before.get("extensible") is True
    node = _node("array", False, extensible and not above.recursive, said, before, {})
    return (value if len(clean) == len(value) else clean), node


def _node(
    kind: str, recursive: bool, extensible: bool, said: Node, before: Node, properties: dict[str, Node]
) -> Node | None:
    node: Node = {"type": kind}
    if extensible:
        node["extensible"] = True
    if recursive:
        node["recursiveExtensible"] = True
    for name in ("template", *ROOT_SWITCHES):
        if name in said or name in before:
            node[name] = said.get(name, before.get(name))
    if "elementType" in before and before["elementType"] != {"type": "any"}:
        node["elementType"] = before["elementType"]
    if properties:
        node["properties"] = properties
    return node if len(node) > 1 else None


def replace_node(schema: Node, path: tuple[str, ...], node: Node | None) -> Node:
    """The tree with ``node`` at ``path`` (None: nothing is said there); shared when nothing changes."""
    if not path:
        fresh = dict(node or {"type": "object"})
        fresh.setdefault("extensible", False)
        fresh[IMPLICIT] = True
        return fresh
    trail: list[Node] = [schema]
    for part in path[:-1]:
        trail.append(property_of(trail[-1], part) or {})
    old = property_of(trail[-1], path[-1])
    if old is node or (old is None and node is None):
        return schema
    for depth in range(len(path) - 1, -1, -1):
        above = trail[depth]
        properties = dict(above.get("properties") or {})
        if node is None:
            properties.pop(path[depth], None)
        else:
            properties[path[depth]] = node
        fresh = {key: value for key, value in above.items() if key != "properties"}
        fresh.setdefault("type", "object")
        if properties:
            fresh["properties"] = properties
        node = fresh if depth == 0 or len(fresh) > 1 else None
    assert node is not None
    return node


# --- validation --------------------------------------------------------------------------------------------------


def validate_change(old_value: Any, value: Any, zone: Zone, path: tuple[str, ...]) -> None:
    """Refuse (``MVU_SCHEMA``) a value that may not take the place of ``old_value``; ``zone`` is that place's zone."""
    if type(value) is type(old_value) and not isinstance(value, dict):
        return
    stack = [(old_value, value, zone, path)]
    while stack:
        old, new, here, where = stack.pop()
        if new is old or new is None or old is None or here.free:
            continue
        if type_name(new) != type_name(old):
            raise _wrong_type(type_name(old), new, where)
        if not isinstance(new, dict):
            continue
        for key in old:
            if key not in new and here.required(key):
                raise _missing_key(key, where)
        for key, child in new.items():
            if key == META:
                continue
            if key in old:
                stack.append((old[key], child, here.child(old, key), (*where, key)))
            elif not here.extensible:
                raise _unknown_key(key, old, where)


def validate_tree(value: Any, schema: Node) -> None:
    """Refuse (``MVU_SCHEMA``) data that a supplied tree does not fit (spec/mvu.md §4.5)."""
    stack: list[tuple[Any, Any, tuple[str, ...]]] = [(value, schema, ())]
    implicit = schema.get(IMPLICIT) is True
    while stack:
        item, node, where = stack.pop()
        if item is None or not isinstance(node, dict):
            continue
        wanted = node.get("type", "any")
        if wanted != "any" and type_name(item) != wanted:
            raise _wrong_type(str(wanted), item, where)
        if isinstance(item, list):
            element = node.get("elementType")
            stack.extend((child, element, (*where, str(index))) for index, child in enumerate(item))
        elif isinstance(item, dict):
            properties = node.get("properties")
            properties = properties if isinstance(properties, dict) else {}
            _validate_keys(item, node, properties, implicit, where)
            stack.extend((child, properties.get(key), (*where, key)) for key, child in item.items())


def _validate_keys(
    item: dict[str, Any], node: Node, properties: dict[str, Any], implicit: bool, where: tuple[str, ...]
) -> None:
    for key, child in properties.items():
        if key not in item and isinstance(child, dict) and child.get("required") is True:
            raise _missing_key(key, where)
    if implicit or node.get("type") != "object" or node.get("extensible") is not False:
        return
    for key in item:
        if key not in properties and key != META:
            raise _unknown_key(key, properties, where)


def _wrong_type(wanted: str, found: Any, where: tuple[str, ...]) -> Refused:
    pointer = pointer_text(where)
    found_name = "null" if found is None else type_name(found)
    return refuse_schema(
        f"expected {wanted}, found {found_name} at '{pointer}'", path=pointer, expected=wanted, found=found_name
    )


def _missing_key(key: str, where: tuple[str, ...]) -> Refused:
    pointer = pointer_text((*where, key))
    return refuse_schema(
        f"the key {key!r} is required and may not go, at '{pointer}'", path=pointer, expected="a value", found="nothing"
    )


def _unknown_key(key: str, known: Any, where: tuple[str, ...]) -> Refused:
    pointer = pointer_text((*where, key))
    return refuse_schema(
        f"the object takes no new keys (it is not extensible), found {key[:80]!r} at '{pointer}'",
        path=pointer,
        expected="one of the existing keys",
        found=key[:80],
    )
