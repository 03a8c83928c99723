"""Changes between two values, and what can be written from them: RFC 6902 and RFC 7386 (spec/mvu.md §4).

A change is ``{"path": pointer, "op": "add"|"remove"|"replace", "before"?, "after"?}``. Applied in order, the changes of
``diff(before, after)`` turn ``before`` into ``after``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.values.copying import delete_in, insert_in, set_in
from runtime.values.equal import json_equal
from runtime.values.paths import parse_pointer
from runtime.values.rows import InnkeeperError

Change = dict[str, Any]


def _escape(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def diff(before: Any, after: Any) -> list[Change]:
    """The changes from ``before`` to ``after``; shared containers are skipped at once."""
    changes: list[Change] = []
    _diff(before, after, "", changes)
    return changes


def _diff(before: Any, after: Any, path: str, changes: list[Change]) -> None:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                changes.append({"path": f"{path}/{_escape(key)}", "op": "remove", "before": value})
        for key, value in after.items():
            if key not in before:
                changes.append({"path": f"{path}/{_escape(key)}", "op": "add", "after": value})
            elif before[key] is not value:
                _diff(before[key], value, f"{path}/{_escape(key)}", changes)
    elif isinstance(before, list) and isinstance(after, list):
        _diff_list(before, after, path, changes)
    elif not json_equal(before, after):
        changes.append({"path": path, "op": "replace", "before": before, "after": after})


def _diff_list(before: list[Any], after: list[Any], path: str, changes: list[Change]) -> None:
    """Trim what is equal at both ends, change the items in between one by one, then remove or add the rest."""
    shortest = min(len(before), len(after))
    start = 0
    while start < shortest and json_equal(before[start], after[start]):
        start += 1
    tail = 0
    while tail < shortest - start and json_equal(before[-1 - tail], after[-1 - tail]):
        tail += 1
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    both = min(len(old), len(new))
    for offset in range(both):
        _diff(old[offset], new[offset], f"{path}/{start + offset}", changes)
    changes.extend(
        {"path": f"{path}/{start + offset}", "op": "remove", "before": old[offset]}
        for offset in range(len(old) - 1, both - 1, -1)
    )
    changes.extend(
        {"path": f"{path}/{start + offset}", "op": "add", "after": new[offset]} for offset in range(both, len(new))
    )


def to_rfc6902(changes: Iterable[Change]) -> list[Change]:
    """The changes as an RFC 6902 JSON patch."""
    patch: list[Change] = []
    for change in changes:
        operation: Change = {"op": change["op"], "path": change["path"]}
        if change["op"] != "remove":
            operation["value"] = change["after"]
        patch.append(operation)
    return patch


def apply_changes(root: Any, changes: Iterable[Change]) -> Any:
    """The root after ``changes`` in order; nothing is mutated."""
    for change in changes:
        path = parse_pointer(change["path"])
        op = change["op"]
        if op == "remove":
            root = delete_in(root, path)
        elif op == "add":
            root = insert_in(root, path, change["after"])
        elif op == "replace":
            root = set_in(root, path, change["after"])
        else:
            raise InnkeeperError("MVU_UNSUPPORTED", f"expected add, remove or replace, found {op!r}")
    return root


def to_merge_patch(before: Any, after: Any) -> Any:
    """An RFC 7386 merge patch from ``before`` to ``after``.

    A merge patch cannot set a member to null, so a null that must be set below the root raises ``MVU_UNSUPPORTED`` with
    its path: use the RFC 6902 form there.
    """
    return _merge(before, after, "")


def _merge(before: Any, after: Any, path: str) -> Any:
    if not isinstance(after, dict):
        return after
    _refuse_new_null(before, after, path)
    if not isinstance(before, dict):
        return {key: _merge(None, value, f"{path}/{_escape(key)}") for key, value in after.items()}
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = _merge(None, value, f"{path}/{_escape(key)}")
        elif not json_equal(before[key], value):
            patch[key] = _merge(before[key], value, f"{path}/{_escape(key)}")
    return patch


def _refuse_new_null(before: Any, after: dict[str, Any], path: str) -> None:
    for key, value in after.items():
        if value is None and not (isinstance(before, dict) and key in before and before[key] is None):
            raise InnkeeperError(
                "MVU_UNSUPPORTED",
                f"a merge patch cannot set null; use the JSON patch form, at '{path}/{_escape(key)}'",
                {"path": f"{path}/{_escape(key)}"},
            )


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386 application; nothing is mutated."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result
