"""Path copying: new containers along one path, everything else shared (design §4).

Nothing here mutates its input. A path must exist up to its last part; who creates containers does it itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.values.paths import array_index, pointer_text
from runtime.values.rows import InnkeeperError

Key = str | int

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING", "__bool__": lambda self: False})()
"""What ``get_in`` answers when nothing stands at a path: no JSON value."""


def child(container: object, part: Key) -> Any:
    """What stands under ``part`` of ``container``, or ``MISSING``; an array step must be canonical (``MVU_PATH``)."""
    if isinstance(container, dict):
        return container.get(part if isinstance(part, str) else str(part), MISSING)
    if isinstance(container, list):
        index = index_of(part)
        return container[index] if index < len(container) else MISSING
    return MISSING


def index_of(part: Key) -> int:
    """The array index of a part; raises ``MVU_PATH`` for ``-1``, ``01``, ``1e3``, ``length``."""
    index = array_index(part)
    if index is None:
        raise InnkeeperError("MVU_PATH", f"expected an array index such as 0 or 12, found {str(part)[:80]!r}")
    return index


def get_in(root: Any, path: Iterable[Key], default: Any = MISSING) -> Any:
    """What stands at ``path``, or ``default``."""
    for part in path:
        root = child(root, part)
        if root is MISSING:
            return default
    return root


def trail(root: Any, path: Iterable[Key]) -> list[Any]:
    """The containers from the root to the one above the last part of ``path`` and what stands there at the end."""
    found = [root]
    for part in path:
        root = child(root, part)
        found.append(root)
        if root is MISSING:
            break
    return found


def with_child(container: Any, part: Key, value: Any) -> Any:
    """A copy of ``container`` with ``value`` under ``part``; an index may equal the length."""
    if isinstance(container, dict):
        copied = dict(container)
        copied[str(part)] = value
        return copied
    index = index_of(part)
    items = list(container)
    if index < len(items):
        items[index] = value
    elif index == len(items):
        items.append(value)
    else:
        raise InnkeeperError("MVU_PATH", f"expected an index of at most {len(items)}, found {index}")
    return items


def without_child(container: Any, part: Key) -> Any:
    """A copy of ``container`` without ``part``."""
    if isinstance(container, dict):
        copied = dict(container)
        del copied[str(part)]
        return copied
    items = list(container)
    del items[index_of(part)]
    return items


def rebuild(parents: list[Any], path: tuple[Key, ...], value: Any) -> Any:
    """The new root after ``value`` replaced what stood at ``path``; ``parents`` are the old containers of each part."""
    for container, part in zip(reversed(parents), reversed(path), strict=True):
        value = with_child(container, part, value)
    return value


def _parents(root: Any, path: tuple[Key, ...]) -> list[Any]:
    parents: list[Any] = []
    for depth, part in enumerate(path):
        if not isinstance(root, dict | list):
            raise InnkeeperError(
                "MVU_PATH_MISSING",
                f"expected an object or array, found none at '{pointer_text(path[:depth])}'",
                {"path": pointer_text(path[:depth])},
            )
        parents.append(root)
        root = child(root, part)
    return parents


def set_in(root: Any, path: Iterable[Key], value: Any) -> Any:
    """A root with ``value`` at ``path``; raises ``MVU_PATH_MISSING`` when a container on the way is missing."""
    parts = tuple(path)
    return rebuild(_parents(root, parts), parts, value)


def delete_in(root: Any, path: Iterable[Key]) -> Any:
    """A root without what stands at ``path``; raises ``MVU_PATH_MISSING`` when nothing stands there."""
    parts = tuple(path)
    if not parts:
        raise InnkeeperError("MVU_PATH", "expected a path below the root, found the root")
    parents = _parents(root, parts)
    if child(parents[-1], parts[-1]) is MISSING:
        raise InnkeeperError(
            "MVU_PATH_MISSING", f"nothing stands at '{pointer_text(parts)}'", {"path": pointer_text(parts)}
        )
    return rebuild(parents[:-1], parts[:-1], without_child(parents[-1], parts[-1]))


def insert_in(root: Any, path: Iterable[Key], value: Any) -> Any:
    """Like ``set_in``, but an array index inserts before that item (RFC 6902 ``add``)."""
    parts = tuple(path)
    if not parts:
        return value
    parents = _parents(root, parts[:-1])
    target = get_in(root, parts[:-1])
    if isinstance(target, list):
        index = len(target) if parts[-1] == "-" else index_of(parts[-1])
        if index > len(target):
            raise InnkeeperError("MVU_PATH", f"expected an index of at most {len(target)}, found {index}")
        return rebuild(parents, parts[:-1], [*target[:index], value, *target[index:]])
    if not isinstance(target, dict):
        raise InnkeeperError(
            "MVU_PATH_MISSING",
            f"expected an object or array, found none at '{pointer_text(parts[:-1])}'",
            {"path": pointer_text(parts[:-1])},
        )
    return rebuild([*parents, target], parts, value)


def plain_copy(value: Any) -> Any:
    """A deep copy out of plain ``dict`` and ``list``; for values whose depth was checked."""
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    return value
