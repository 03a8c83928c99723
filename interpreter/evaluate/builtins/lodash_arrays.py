"""lodash on arrays and collections (spec/zod.md §4.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.builtins.arguments import arg, integer, number
from interpreter.evaluate.builtins.arrays import flatten
from interpreter.evaluate.builtins.lodash_base import (
    Seen,
    array_of,
    is_equal,
    iteratee,
    test,
)
from interpreter.evaluate.operators import call_function, is_callable, property_key
from interpreter.evaluate.properties import call_member, check_mutable
from interpreter.javascript import UNDEFINED, truthy

Items = list[Any]
Function = Callable[[Run, Items], Any]
ARRAYS: dict[str, Function] = {}


def lodash(*names: str) -> Callable[[Function], Function]:
    """Register a function under its names."""

    def register(function: Function) -> Function:
        for name in names:
            ARRAYS[name] = function
        return function

    return register


def _count(value: Any, default: float = 1) -> int:
    return int(min(max(integer(value, default), 0), 2**31))


@lodash("take")
def _take(run: Run, a: Items) -> Any:
    return array_of(run, arg(a, 0))[: _count(arg(a, 1))]


@lodash("takeRight")
def _take_right(run: Run, a: Items) -> Any:
    items, count = array_of(run, arg(a, 0)), _count(arg(a, 1))
    return items[max(0, len(items) - count) :] if count else []


@lodash("drop")
def _drop(run: Run, a: Items) -> Any:
    return array_of(run, arg(a, 0))[_count(arg(a, 1)) :]


@lodash("dropRight")
def _drop_right(run: Run, a: Items) -> Any:
    items = array_of(run, arg(a, 0))
    return items[: max(0, len(items) - _count(arg(a, 1)))]


def _while(*, right: bool, take: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        items, check = list(array_of(run, arg(a, 0))), test(run, arg(a, 1))
        count = 0
        order = range(len(items) - 1, -1, -1) if right else range(len(items))
        for index in order:
            if not check(items[index], index, items):
                break
            count += 1
        if right:
            return items[len(items) - count :] if take else items[: len(items) - count]
        return items[:count] if take else items[count:]

    return function


ARRAYS["takeWhile"] = _while(right=False, take=True)
ARRAYS["takeRightWhile"] = _while(right=True, take=True)
ARRAYS["dropWhile"] = _while(right=False, take=False)
ARRAYS["dropRightWhile"] = _while(right=True, take=False)


@lodash("head", "first")
def _head(run: Run, a: Items) -> Any:
    items = array_of(run, arg(a, 0))
    return items[0] if items else UNDEFINED


@lodash("last")
def _last(run: Run, a: Items) -> Any:
    items = array_of(run, arg(a, 0))
    return items[-1] if items else UNDEFINED


@lodash("nth")
def _nth(run: Run, a: Items) -> Any:
    items, index = array_of(run, arg(a, 0)), integer(arg(a, 1))
    index = index + len(items) if index < 0 else index
    return items[int(index)] if 0 <= index < len(items) else UNDEFINED


@lodash("initial")
def _initial(run: Run, a: Items) -> Any:
    return array_of(run, arg(a, 0))[:-1]


@lodash("tail")
def _tail(run: Run, a: Items) -> Any:
    return array_of(run, arg(a, 0))[1:]


@lodash("slice")
def _slice(run: Run, a: Items) -> Any:
    return call_member(run, list(array_of(run, arg(a, 0))), "slice", a[1:])


@lodash("compact")
def _compact(run: Run, a: Items) -> Any:
    return [item for item in array_of(run, arg(a, 0)) if truthy(item)]


@lodash("concat")
def _concat(run: Run, a: Items) -> Any:
    first = arg(a, 0)
    return call_member(run, list(first) if isinstance(first, list) else ([first] if a else []), "concat", a[1:])


@lodash("join")
def _join(run: Run, a: Items) -> Any:
    return call_member(run, array_of(run, arg(a, 0)), "join", a[1:])


@lodash("flatten")
def _flatten(run: Run, a: Items) -> Any:
    return flatten(run, array_of(run, arg(a, 0)), 1)


@lodash("flattenDeep")
def _flatten_deep(run: Run, a: Items) -> Any:
    return flatten(run, array_of(run, arg(a, 0)), float("inf"))


@lodash("flattenDepth")
def _flatten_depth(run: Run, a: Items) -> Any:
    return flatten(run, array_of(run, arg(a, 0)), integer(arg(a, 1), 1))


def _unique(items: Items, key: Callable[[Any], Any]) -> Items:
    seen = Seen()
    return [item for item in items if seen.add(key(item))]


@lodash("uniq", "sortedUniq")
def _uniq(run: Run, a: Items) -> Any:
    return _unique(array_of(run, arg(a, 0)), lambda item: item)


@lodash("uniqBy", "sortedUniqBy")
def _uniq_by(run: Run, a: Items) -> Any:
    return _unique(array_of(run, arg(a, 0)), iteratee(run, arg(a, 1)))


@lodash("uniqWith")
def _uniq_with(run: Run, a: Items) -> Any:
    made: Items = []
    for item in array_of(run, arg(a, 0)):
        if not any(truthy(call_function(run, arg(a, 1), [known, item])) for known in made):
            made.append(item)
    return made


def _list(run: Run, value: Any) -> Items:
    """An array, or nothing: texts do not count."""
    return array_of(run, value) if isinstance(value, list) else []


def _arrays(run: Run, a: Items) -> list[Items]:
    return [array_of(run, item) for item in a if isinstance(item, list)]


def _by(run: Run, a: Items) -> tuple[Items, Callable[[Any], Any]]:
    """The arrays of a ``…By`` function and its iteratee (the last argument, unless it is an array)."""
    last = a[-1] if a else UNDEFINED
    if isinstance(last, list) or len(a) < 2:
        return a, lambda item: item
    return a[:-1], iteratee(run, last)


def _difference(by: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        arrays, key = _by(run, a) if by else (a, lambda item: item)
        excluded = Seen([key(item) for other in _arrays(run, arrays[1:]) for item in other])
        return [item for item in _list(run, arg(arrays, 0)) if not excluded.has(key(item))]

    return function


def _union(by: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        arrays, key = _by(run, a) if by else (a, lambda item: item)
        return _unique([item for other in _arrays(run, arrays) for item in other], key)

    return function


def _intersection(by: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        arrays, key = _by(run, a) if by else (a, lambda item: item)
        others = [Seen([key(item) for item in other]) for other in _arrays(run, arrays[1:])]
        if len(others) != len(arrays) - 1:
            return []
        return [
            item for item in _unique(_list(run, arg(arrays, 0)), key) if all(other.has(key(item)) for other in others)
        ]

    return function


def _xor(by: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        arrays, key = _by(run, a) if by else (a, lambda item: item)
        lists = _arrays(run, arrays)
        made: Items = []
        for position, items in enumerate(lists):
            others = Seen([key(item) for index, other in enumerate(lists) if index != position for item in other])
            made.extend(item for item in items if not others.has(key(item)))
        return _unique(made, key)

    return function


for _name, _make in {"difference": _difference, "union": _union, "intersection": _intersection, "xor": _xor}.items():
    ARRAYS[_name] = _make(False)
    ARRAYS[_name + "By"] = _make(True)


@lodash("differenceWith")
def _difference_with(run: Run, a: Items) -> Any:
    compare = arg(a, 2)
    return [
        item
        for item in array_of(run, arg(a, 0))
        if not any(
            truthy(call_function(run, compare, [item, other])) if is_callable(compare) else is_equal(run, item, other)
            for other in array_of(run, arg(a, 1))
        )
    ]


@lodash("without")
def _without(run: Run, a: Items) -> Any:
    excluded = Seen(a[1:])
    return [item for item in _list(run, arg(a, 0)) if not excluded.has(item)]


def _remove_where(run: Run, items: Any, unwanted: Callable[[Any, int], bool]) -> tuple[Items, Items]:
    if not isinstance(items, list):
        return [], []
    check_mutable(run, items)
    run.charge(len(items))
    marks = [unwanted(item, index) for index, item in enumerate(list(items))]
    removed = [item for item, mark in zip(items, marks, strict=True) if mark]
    items[:] = [item for item, mark in zip(items, marks, strict=True) if not mark]
    return removed, items


@lodash("pull")
def _pull(run: Run, a: Items) -> Any:
    excluded = Seen(a[1:])
    _remove_where(run, arg(a, 0), lambda item, _index: excluded.has(item))
    return arg(a, 0)


@lodash("pullAll")
def _pull_all(run: Run, a: Items) -> Any:
    return _pull(run, [arg(a, 0), *array_of(run, arg(a, 1))])


@lodash("pullAt")
def _pull_at(run: Run, a: Items) -> Any:
    wanted = {int(integer(item)) for item in flatten(run, a[1:], 1)}
    return _remove_where(run, arg(a, 0), lambda _item, index: index in wanted)[0]


@lodash("remove")
def _remove(run: Run, a: Items) -> Any:
    check = test(run, arg(a, 1))
    return _remove_where(run, arg(a, 0), check)[0]


@lodash("reverse")
def _reverse(run: Run, a: Items) -> Any:
    return call_member(run, a[0], "reverse", []) if isinstance(arg(a, 0), list) else arg(a, 0)


@lodash("fill")
def _fill(run: Run, a: Items) -> Any:
    return call_member(run, a[0], "fill", a[1:]) if isinstance(arg(a, 0), list) else []


@lodash("indexOf")
def _index_of(run: Run, a: Items) -> Any:
    items = array_of(run, arg(a, 0))
    start = int(integer(arg(a, 2)))
    start = max(len(items) + start, 0) if start < 0 else start
    return next((i for i in range(start, len(items)) if js.same_value_zero(items[i], arg(a, 1))), -1)


@lodash("lastIndexOf")
def _last_index_of(run: Run, a: Items) -> Any:
    items = array_of(run, arg(a, 0))
    return next((i for i in range(len(items) - 1, -1, -1) if js.same_value_zero(items[i], arg(a, 1))), -1)


def _find_index(*, right: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        items, check = array_of(run, arg(a, 0)), test(run, arg(a, 1))
        order = range(len(items) - 1, -1, -1) if right else range(len(items))
        return next((index for index in order if check(items[index], index, items)), -1)

    return function


ARRAYS["findIndex"] = _find_index(right=False)
ARRAYS["findLastIndex"] = _find_index(right=True)


@lodash("chunk")
def _chunk(run: Run, a: Items) -> Any:
    items, size = array_of(run, arg(a, 0)), _count(arg(a, 1))
    return [items[index : index + size] for index in range(0, len(items), size)] if size else []


@lodash("zip")
def _zip(run: Run, a: Items) -> Any:
    lists = _arrays(run, a)
    length = max((len(items) for items in lists), default=0)
    return [[arg(items, index) for items in lists] for index in range(length)]


@lodash("unzip")
def _unzip(run: Run, a: Items) -> Any:
    return _zip(run, array_of(run, arg(a, 0)))


@lodash("zipObject")
def _zip_object(run: Run, a: Items) -> Any:
    keys, values = array_of(run, arg(a, 0)), array_of(run, arg(a, 1))
    return {property_key(run, key): arg(values, index) for index, key in enumerate(keys)}


@lodash("fromPairs")
def _from_pairs(run: Run, a: Items) -> Any:
    return {
        property_key(run, arg(pair, 0)): arg(pair, 1) for pair in array_of(run, arg(a, 0)) if isinstance(pair, list)
    }


def _finite(value: Any) -> Any:
    """``_.toFinite``."""
    found = number(value)
    if found != found:
        return 0
    return math.copysign(1.7976931348623157e308, found) if math.isinf(found) else found


@lodash("range", "rangeRight")
def _range(run: Run, a: Items) -> Any:
    start, end = _finite(arg(a, 0)), arg(a, 1)
    low, high = (0, start) if end is UNDEFINED else (start, _finite(end))
    step = arg(a, 2)
    width = _finite(step) if step is not UNDEFINED else (1 if low < high else -1)
    count = max(0, math.ceil((high - low) / (width or 1)))
    run.charge(count)
    return [js.js_number(low + width * index) for index in range(count)]
