"""Equality of JSON values as JavaScript sees them: numbers by value, booleans never numbers (design §5)."""

from __future__ import annotations

from typing import Any


def json_equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same; object key order does not matter. Iterative."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if isinstance(one, dict):
            if not isinstance(other, dict) or len(one) != len(other):
                return False
            for key, value in one.items():
                if key not in other:
                    return False
                stack.append((value, other[key]))
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            stack.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
            return False  # both singletons, and not identical
        elif isinstance(one, str) != isinstance(other, str) or isinstance(other, dict | list) or one != other:
            return False
    return True
