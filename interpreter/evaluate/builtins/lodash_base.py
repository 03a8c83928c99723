"""What the lodash functions share: paths, iteratees, equality, iteration over arrays and objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.errors import EvaluationError
from interpreter.evaluate.builtins.arguments import text
from interpreter.evaluate.builtins.objects import object_entries
from interpreter.evaluate.operators import call_function, is_callable, property_key
from interpreter.evaluate.properties import UNSAFE, array_index, get_member, set_member
from interpreter.evaluate.values import Chain, MapValue, SetValue
from interpreter.javascript import UNDEFINED, truthy

_PATH = re.compile(
    r"""[^.\[\]]+|\[(?:(-?\d+(?:\.\d+)?)|(["'])((?:(?!\2)[^\\]|\\.)*?)\2)\]|(?=(?:\.|\[\])(?:\.|\[\]|$))"""
)


def to_path(value: Any) -> list[str]:
    """``_.toPath(value)``."""
    if isinstance(value, list):
        return [text(part) for part in value]
    source = text(value)
    parts = [""] if source.startswith(".") else []
    for found in _PATH.finditer(source):
        number, quote, quoted = found.groups()
        if quote:
            parts.append(re.sub(r"\\(\\)?", r"\1", quoted))
        else:
            parts.append(number if number is not None else found.group())
    return parts


def path_of(run: Run, target: Any, path: Any) -> list[str]:
    """The parts of a path; a text that is a key of the target is that key."""
    if not isinstance(path, list):
        name = property_key(run, path)
        if (type(target) is dict and name in target) or not ("." in name or "[" in name):
            return [name]
    return to_path(path)


def get_path(run: Run, target: Any, path: Any, default: Any = UNDEFINED) -> Any:
    """``_.get(target, path, default)``."""
    value = target
    parts = path_of(run, target, path)
    if not parts:
        return default
    for part in parts:
        if value is None or value is UNDEFINED:
            return default
        run.charge(1)
        if part in UNSAFE and not (type(value) is dict and part in value):
            return default
        value = get_member(run, value, part)
    return default if value is UNDEFINED else value


def has_path(run: Run, target: Any, path: Any) -> bool:
    """``_.has(target, path)``."""
    value = target
    parts = path_of(run, target, path)
    for part in parts:
        if type(value) is dict:
            if part not in value:
                return False
        elif isinstance(value, list):
            index = array_index(part)
            if index is None or index >= len(value):
                return part == "length" and isinstance(value, list) and part == parts[-1]
        else:
            return False
        value = get_member(run, value, part)
    return bool(parts)


def set_path(run: Run, target: Any, path: Any, update: Callable[[Any], Any]) -> Any:
    """``_.set`` and ``_.update``: containers are made on the way."""
    if not isinstance(target, (dict, list)):
        return target
    parts = path_of(run, target, path)
    if any(part in UNSAFE for part in parts):
        raise EvaluationError("MVU_PATH", f"expected a safe path, found {'.'.join(parts)}")
    node: Any = target
    for position, part in enumerate(parts):
        if position == len(parts) - 1:
            set_member(run, node, part, update(get_member(run, node, part)))
            break
        following = get_member(run, node, part)
        if not isinstance(following, (dict, list)):
            following = [] if array_index(parts[position + 1]) is not None else {}
            set_member(run, node, part, following)
        node = following
    return target


def identity(_run: Run, arguments: list[Any]) -> Any:
    """``_.identity``."""
    return arguments[0] if arguments else UNDEFINED


Iteratee = Callable[..., Any]


def iteratee(run: Run, value: Any) -> Iteratee:
    """``_.iteratee(value)`` as a Python function of the item (and key and collection)."""
    if value is UNDEFINED or value is None:
        return lambda item, *_rest: item
    if is_callable(value):
        return lambda *arguments: call_function(run, value, list(arguments))
    if isinstance(value, list):
        path, wanted = (value[0] if value else UNDEFINED), (value[1] if len(value) > 1 else UNDEFINED)
        return lambda item, *_rest: is_equal(run, get_path(run, item, path), wanted)
    if type(value) is dict:
        return lambda item, *_rest: is_match(run, item, value)
    return lambda item, *_rest: UNDEFINED if item is None or item is UNDEFINED else get_path(run, item, value)


def test(run: Run, value: Any) -> Callable[..., bool]:
    """An iteratee whose answer is read as a boolean."""
    called = iteratee(run, value)
    return lambda *arguments: truthy(called(*arguments))


def is_match(run: Run, item: Any, wanted: Any) -> bool:
    """``_.isMatch(item, wanted)``."""
    run.charge(1)
    if type(wanted) is dict and type(item) is dict:
        return all(key in item and is_match(run, item[key], value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(item, list):
        return all(any(is_match(run, candidate, value) for candidate in item) for value in wanted)
    if type(wanted) is dict and not wanted:
        return item is not None and item is not UNDEFINED
    return is_equal(run, item, wanted)


def is_equal(run: Run, a: Any, b: Any) -> bool:
    """``_.isEqual(a, b)``; key order does not matter."""
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        run.charge(1)
        if js.same_value_zero(left, right):
            continue
        if type(left) is dict and type(right) is dict:
            if len(left) != len(right) or any(key not in right for key in left):
                return False
            stack.extend((value, right[key]) for key, value in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            stack.extend(zip(left, right, strict=True))
        elif isinstance(left, SetValue) and isinstance(right, SetValue):
            if len(left) != len(right) or not all(right.has(item) for item in left):
                return False
        elif isinstance(left, MapValue) and isinstance(right, MapValue):
            stack.append((left.entries(), right.entries()))
        else:
            return False
    return True


def is_array_like(value: Any) -> bool:
    """Whether lodash iterates a value by index."""
    return isinstance(value, (list, str))


def items_of(run: Run, collection: Any) -> list[tuple[Any, Any]]:
    """The pairs ``(key, value)`` of a collection as lodash iterates it; null and undefined are empty."""
    if isinstance(collection, Chain):
        collection = collection.value
    if isinstance(collection, list):
        run.charge(len(collection))
        return list(enumerate(collection))
    if isinstance(collection, str):
        run.charge(len(collection))
        return list(enumerate(collection))
    if collection is None or collection is UNDEFINED or isinstance(collection, (bool, int, float)):
        return []
    if isinstance(collection, SetValue):
        return [(item, item) for item in collection]
    if isinstance(collection, MapValue):
        return [(key, value) for key, value in collection.entries()]
    return [(key, value) for key, value in object_entries(run, collection)]


def values_of(run: Run, collection: Any) -> list[Any]:
    """The values of a collection."""
    return [value for _key, value in items_of(run, collection)]


def array_of(run: Run, value: Any) -> list[Any]:
    """An array argument; anything else counts as empty."""
    if isinstance(value, Chain):
        value = value.value
    if isinstance(value, list):
        run.charge(len(value))
        return value
    return list(value) if isinstance(value, str) else []


class Seen:
    """A set of values by SameValueZero."""

    __slots__ = ("known",)

    def __init__(self, values: list[Any] | None = None) -> None:
        self.known = SetValue(values)

    def has(self, value: Any) -> bool:
        """Whether the value was seen."""
        return self.known.has(value)

    def add(self, value: Any) -> bool:
        """Add a value; whether it was new."""
        if self.known.has(value):
            return False
        self.known.add(value)
        return True


def compare_ascending(a: Any, b: Any) -> int:
    """lodash's order of two sort keys: undefined, null and NaN go last."""
    if js.same_value_zero(a, b):
        return 0

    def rank(value: Any) -> int:
        if value is UNDEFINED:
            return 3
        if value is None:
            return 1
        return 4 if isinstance(value, float) and value != value else 0

    left, right = rank(a), rank(b)
    if left or right:
        order = {0: 0, 1: 1, 3: 2, 4: 3}
        return (order[left] > order[right]) - (order[left] < order[right])
    if js.less_than(b, a, str) is True:
        return 1
    return -1 if js.less_than(a, b, str) is True else 0
