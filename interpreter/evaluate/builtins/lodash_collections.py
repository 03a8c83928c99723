"""lodash on collections: arrays and objects alike (spec/zod.md §4.5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.builtins.arguments import arg, integer, text
from interpreter.evaluate.builtins.arrays import flatten
from interpreter.evaluate.builtins.lodash_arrays import ARRAYS, Function, Items, lodash
from interpreter.evaluate.builtins.lodash_base import (
    compare_ascending,
    get_path,
    items_of,
    iteratee,
    test,
    values_of,
)
from interpreter.evaluate.builtins.symbols import symbol_count
from interpreter.evaluate.operators import call_function, is_callable, property_key, to_text
from interpreter.evaluate.properties import call_member
from interpreter.evaluate.values import type_error
from interpreter.javascript import UNDEFINED


@lodash("map")
def _map(run: Run, a: Items) -> Any:
    collection, call = arg(a, 0), iteratee(run, arg(a, 1))
    return [call(value, key, collection) for key, value in items_of(run, collection)]


@lodash("flatMap")
def _flat_map(run: Run, a: Items) -> Any:
    return flatten(run, _map(run, a), 1)


@lodash("filter")
def _filter(run: Run, a: Items) -> Any:
    collection, check = arg(a, 0), test(run, arg(a, 1))
    return [value for key, value in items_of(run, collection) if check(value, key, collection)]


@lodash("reject")
def _reject(run: Run, a: Items) -> Any:
    collection, check = arg(a, 0), test(run, arg(a, 1))
    return [value for key, value in items_of(run, collection) if not check(value, key, collection)]


@lodash("partition")
def _partition(run: Run, a: Items) -> Any:
    return [_filter(run, a), _reject(run, a)]


def _find(*, right: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        collection, check = arg(a, 0), test(run, arg(a, 1))
        pairs = items_of(run, collection)
        order = reversed(pairs) if right else iter(pairs)
        return next((value for key, value in order if check(value, key, collection)), UNDEFINED)

    return function


ARRAYS["find"] = _find(right=False)
ARRAYS["findLast"] = _find(right=True)


@lodash("some", "any")
def _some(run: Run, a: Items) -> Any:
    collection, check = arg(a, 0), test(run, arg(a, 1))
    return any(check(value, key, collection) for key, value in items_of(run, collection))


@lodash("every", "all")
def _every(run: Run, a: Items) -> Any:
    collection, check = arg(a, 0), test(run, arg(a, 1))
    return all(check(value, key, collection) for key, value in items_of(run, collection))


def _each(*, right: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        collection, call = arg(a, 0), iteratee(run, arg(a, 1))
        pairs = items_of(run, collection)
        for key, value in reversed(pairs) if right else pairs:
            if call(value, key, collection) is False:
                break
        return collection

    return function


for _name in ("forEach", "each", "forOwn", "forIn"):
    ARRAYS[_name] = _each(right=False)
for _name in ("forEachRight", "eachRight", "forOwnRight"):
    ARRAYS[_name] = _each(right=True)


def _reduce(*, right: bool) -> Function:
    def function(run: Run, a: Items) -> Any:
        collection, call = arg(a, 0), iteratee(run, arg(a, 1))
        pairs = items_of(run, collection)
        if right:
            pairs.reverse()
        if len(a) > 2:
            value = a[2]
        else:
            value = pairs.pop(0)[1] if pairs else UNDEFINED
        for key, item in pairs:
            value = call(value, item, key, collection)
        return value

    return function


ARRAYS["reduce"] = _reduce(right=False)
ARRAYS["reduceRight"] = _reduce(right=True)


def _grouped(combine: Callable[[dict[str, Any], str, Any], None]) -> Function:
    def function(run: Run, a: Items) -> Any:
        key_of = iteratee(run, arg(a, 1))
        made: dict[str, Any] = {}
        for value in values_of(run, arg(a, 0)):
            combine(made, property_key(run, key_of(value)), value)
        return made

    return function


def _append(made: dict[str, Any], key: str, value: Any) -> None:
    made.setdefault(key, []).append(value)


def _tally(made: dict[str, Any], key: str, _value: Any) -> None:
    made[key] = made.get(key, 0) + 1


ARRAYS["groupBy"] = _grouped(_append)
ARRAYS["countBy"] = _grouped(_tally)
ARRAYS["keyBy"] = _grouped(dict.__setitem__)


@lodash("size")
def _size(run: Run, a: Items) -> Any:
    value = arg(a, 0)
    return symbol_count(value) if isinstance(value, str) else len(items_of(run, value))


@lodash("includes", "contains")
def _includes(run: Run, a: Items) -> Any:
    collection, wanted = arg(a, 0), arg(a, 1)
    if isinstance(collection, str):
        return text(wanted) in collection
    start = int(integer(arg(a, 2)))
    values = values_of(run, collection)
    return any(
        js.same_value_zero(value, wanted) for value in values[max(start, -len(values)) if start < 0 else start :]
    )


@lodash("sample")
def _sample(run: Run, a: Items) -> Any:
    raise type_error("_.sample needs randomness, which a declaration has not")


def sort_by(run: Run, collection: Any, keys: Items, orders: list[str]) -> Items:
    """``_.orderBy`` and ``_.sortBy``: stable."""
    called = [iteratee(run, key) for key in keys] or [lambda item: item]
    values = values_of(run, collection)
    run.charge(len(values) * max(1, len(values).bit_length()))
    rows = [([call(value) for call in called], value) for value in values]

    def compare(a: tuple[Items, Any], b: tuple[Items, Any]) -> int:
        for position, (left, right) in enumerate(zip(a[0], b[0], strict=True)):
            answer = compare_ascending(left, right)
            if answer:
                return -answer if position < len(orders) and orders[position] == "desc" else answer
        return 0

    return [value for _keys, value in sorted(rows, key=cmp_to_key(compare))]


@lodash("orderBy")
def _order_by(run: Run, a: Items) -> Any:
    keys, orders = arg(a, 1), arg(a, 2)
    listed = keys if isinstance(keys, list) else ([] if keys is UNDEFINED or keys is None else [keys])
    named = orders if isinstance(orders, list) else ([] if orders is UNDEFINED else [orders])
    return sort_by(run, arg(a, 0), listed, [to_text(order) for order in named])


@lodash("sortBy")
def _sort_by(run: Run, a: Items) -> Any:
    return sort_by(run, arg(a, 0), flatten(run, a[1:], 1), [])


@lodash("invokeMap")
def _invoke_map(run: Run, a: Items) -> Any:
    method = arg(a, 1)
    return [
        call_function(run, method, a[2:]) if is_callable(method) else call_member(run, item, text(method), a[2:])
        for item in values_of(run, arg(a, 0))
    ]


@lodash("pluck")
def _pluck(run: Run, a: Items) -> Any:
    return [get_path(run, item, arg(a, 1)) for item in values_of(run, arg(a, 0))]
