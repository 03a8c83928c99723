"""Array methods (spec/zod.md §4.7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.builtins.arguments import arg, function, integer, number, relative, text
from interpreter.evaluate.operators import call_function, is_callable, to_text
from interpreter.evaluate.properties import check_mutable, methods
from interpreter.evaluate.values import Iterated, range_error, type_error
from interpreter.javascript import UNDEFINED, truthy

Items = list[Any]
Method = Callable[[Run, Items, Items], Any]


def _callback(run: Run, target: Items, arguments: Items) -> Callable[[Any, int], Any]:
    called = function(arg(arguments, 0))
    run.charge(len(target))
    return lambda item, index: called.call(run, [item, index, target])


def _map(run: Run, target: Items, arguments: Items) -> Any:
    call = _callback(run, target, arguments)
    return [call(item, index) for index, item in enumerate(list(target))]


def _filter(run: Run, target: Items, arguments: Items) -> Any:
    call = _callback(run, target, arguments)
    return [item for index, item in enumerate(list(target)) if truthy(call(item, index))]


def _for_each(run: Run, target: Items, arguments: Items) -> Any:
    call = _callback(run, target, arguments)
    for index, item in enumerate(list(target)):
        call(item, index)
    return UNDEFINED


def _find(*, last: bool, position: bool) -> Method:
    def method(run: Run, target: Items, arguments: Items) -> Any:
        call = _callback(run, target, arguments)
        order = range(len(target) - 1, -1, -1) if last else range(len(target))
        for index in order:
            item = target[index] if index < len(target) else UNDEFINED
            if truthy(call(item, index)):
                return index if position else item
        return -1 if position else UNDEFINED

    return method


def _some(run: Run, target: Items, arguments: Items) -> Any:
    call = _callback(run, target, arguments)
    return any(truthy(call(item, index)) for index, item in enumerate(list(target)))


def _every(run: Run, target: Items, arguments: Items) -> Any:
    call = _callback(run, target, arguments)
    return all(truthy(call(item, index)) for index, item in enumerate(list(target)))


def _reduce(*, right: bool) -> Method:
    def method(run: Run, target: Items, arguments: Items) -> Any:
        called = function(arg(arguments, 0))
        run.charge(len(target))
        pairs = list(enumerate(target))
        if right:
            pairs.reverse()
        if len(arguments) > 1:
            value = arguments[1]
        elif pairs:
            value = pairs.pop(0)[1]
        else:
            raise type_error("Reduce of empty array with no initial value")
        for index, item in pairs:
            value = called.call(run, [value, item, index, target])
        return value

    return method


def _slice(run: Run, target: Items, arguments: Items) -> Any:
    length = len(target)
    made = target[relative(arg(arguments, 0), length, 0) : relative(arg(arguments, 1), length, length)]
    run.charge(len(made))
    return made


def _splice(run: Run, target: Items, arguments: Items) -> Any:
    check_mutable(run, target)
    length = len(target)
    run.charge(length + len(arguments))
    start = relative(arg(arguments, 0), length, 0)
    if not arguments:
        count = 0
    elif len(arguments) == 1:
        count = length - start
    else:
        count = int(min(max(integer(arguments[1]), 0), length - start))
    removed = target[start : start + count]
    target[start : start + count] = arguments[2:]
    return removed


def _push(run: Run, target: Items, arguments: Items) -> Any:
    check_mutable(run, target)
    run.charge(len(arguments))
    target.extend(arguments)
    return len(target)


def _pop(run: Run, target: Items, _arguments: Items) -> Any:
    check_mutable(run, target)
    return target.pop() if target else UNDEFINED


def _shift(run: Run, target: Items, _arguments: Items) -> Any:
    check_mutable(run, target)
    run.charge(1 + (len(target) >> 5))
    return target.pop(0) if target else UNDEFINED


def _unshift(run: Run, target: Items, arguments: Items) -> Any:
    check_mutable(run, target)
    run.charge(len(arguments) + (len(target) >> 5))
    target[:0] = arguments
    return len(target)


def _concat(run: Run, target: Items, arguments: Items) -> Any:
    made = list(target)
    for item in arguments:
        if type(item) is list:
            made.extend(item)
        else:
            made.append(item)
    run.charge(len(made))
    return made


def _join(run: Run, target: Items, arguments: Items) -> Any:
    between = "," if arg(arguments, 0) is UNDEFINED else text(arg(arguments, 0))
    joined = between.join("" if item is None or item is UNDEFINED else to_text(item) for item in target)
    run.charge(len(target))
    run.check_string(len(joined))
    return js.join_surrogates(joined)


def _includes(run: Run, target: Items, arguments: Items) -> Any:
    run.charge(len(target))
    wanted = arg(arguments, 0)
    start = relative(arg(arguments, 1), len(target), 0)
    return any(js.same_value_zero(item, wanted) for item in target[start:])


def _index_of(run: Run, target: Items, arguments: Items) -> Any:
    run.charge(len(target))
    wanted = arg(arguments, 0)
    for index in range(relative(arg(arguments, 1), len(target), 0), len(target)):
        if js.strict_equal(target[index], wanted):
            return index
    return -1


def _last_index_of(run: Run, target: Items, arguments: Items) -> Any:
    run.charge(len(target))
    wanted = arg(arguments, 0)
    start = len(target) - 1
    if len(arguments) > 1:
        position = integer(arguments[1])
        start = int(min(position if position >= 0 else len(target) + position, start))
    for index in range(start, -1, -1):
        if js.strict_equal(target[index], wanted):
            return index
    return -1


def flatten(run: Run, items: Items, depth: float) -> Items:
    """``items.flat(depth)``, without recursion."""
    made: Items = []
    stack = [(iter(items), depth)]
    while stack:
        iterator, left = stack[-1]
        for item in iterator:
            run.charge(1)
            if type(item) is list and left > 0:
                stack.append((iter(item), left - 1))
                break
            made.append(item)
        else:
            stack.pop()
    return made


def _flat(run: Run, target: Items, arguments: Items) -> Any:
    return flatten(run, target, integer(arg(arguments, 0), 1))


def _flat_map(run: Run, target: Items, arguments: Items) -> Any:
    return flatten(run, _map(run, target, arguments), 1)


def _at(_run: Run, target: Items, arguments: Items) -> Any:
    index = integer(arg(arguments, 0))
    index = index + len(target) if index < 0 else index
    return target[int(index)] if 0 <= index < len(target) else UNDEFINED


def sort_items(run: Run, items: Items, compare: Any) -> Items:
    """The items sorted as ``sort(compare)`` does: stable, undefined last, by text without a comparison."""
    run.charge(len(items) * max(1, len(items).bit_length()))
    defined = [item for item in items if item is not UNDEFINED]
    missing = [UNDEFINED] * (len(items) - len(defined))
    if compare is UNDEFINED:
        return sorted(defined, key=lambda item: js.utf16_key(to_text(item))) + missing
    called = function(compare)

    def order(a: Any, b: Any) -> int:
        answer = number(called.call(run, [a, b]))
        return 1 if answer > 0 else (-1 if answer < 0 else 0)

    return sorted(defined, key=cmp_to_key(order)) + missing


def _sort(run: Run, target: Items, arguments: Items) -> Any:
    check_mutable(run, target)
    target[:] = sort_items(run, target, arg(arguments, 0))
    return target


def _to_sorted(run: Run, target: Items, arguments: Items) -> Any:
    return sort_items(run, target, arg(arguments, 0))


def _reverse(run: Run, target: Items, _arguments: Items) -> Any:
    check_mutable(run, target)
    run.charge(len(target))
    target.reverse()
    return target


def _to_reversed(run: Run, target: Items, _arguments: Items) -> Any:
    run.charge(len(target))
    return target[::-1]


def _to_spliced(run: Run, target: Items, arguments: Items) -> Any:
    made = list(target)
    _splice(run, made, arguments)
    return made


def _with(run: Run, target: Items, arguments: Items) -> Any:
    index = integer(arg(arguments, 0))
    index = index + len(target) if index < 0 else index
    if not 0 <= index < len(target):
        raise range_error("Invalid index")
    run.charge(len(target))
    made = list(target)
    made[int(index)] = arg(arguments, 1)
    return made


def _fill(run: Run, target: Items, arguments: Items) -> Any:
    check_mutable(run, target)
    length = len(target)
    run.charge(length)
    for index in range(relative(arg(arguments, 1), length, 0), relative(arg(arguments, 2), length, length)):
        target[index] = arg(arguments, 0)
    return target


def _entries(run: Run, target: Items, _arguments: Items) -> Any:
    run.charge(len(target))
    return Iterated([[index, item] for index, item in enumerate(target)])


def _keys(run: Run, target: Items, _arguments: Items) -> Any:
    run.charge(len(target))
    return Iterated(list(range(len(target))))


def _values(run: Run, target: Items, _arguments: Items) -> Any:
    run.charge(len(target))
    return Iterated(list(target))


def _to_string(run: Run, target: Items, _arguments: Items) -> Any:
    return _join(run, target, [])


def _next(_run: Run, target: Iterated, _arguments: Items) -> Any:
    if target.position >= len(target.items):
        return {"value": UNDEFINED, "done": True}
    target.position += 1
    return {"value": target.items[target.position - 1], "done": False}


def _iterator_method(name: str) -> Callable[[Run, Iterated, Items], Any]:
    return lambda run, target, arguments: methods(list)[name](run, target.rest(), arguments)


def call_or_self(run: Run, value: Any, arguments: Items) -> Any:
    """The result of a function, or the value itself."""
    return call_function(run, value, arguments) if is_callable(value) else value


methods(list).update(
    {
        "map": _map,
        "filter": _filter,
        "forEach": _for_each,
        "find": _find(last=False, position=False),
        "findIndex": _find(last=False, position=True),
        "findLast": _find(last=True, position=False),
        "findLastIndex": _find(last=True, position=True),
        "some": _some,
        "every": _every,
        "reduce": _reduce(right=False),
        "reduceRight": _reduce(right=True),
        "slice": _slice,
        "splice": _splice,
        "push": _push,
        "pop": _pop,
        "shift": _shift,
        "unshift": _unshift,
        "concat": _concat,
        "join": _join,
        "includes": _includes,
        "indexOf": _index_of,
        "lastIndexOf": _last_index_of,
        "flat": _flat,
        "flatMap": _flat_map,
        "at": _at,
        "sort": _sort,
        "toSorted": _to_sorted,
        "reverse": _reverse,
        "toReversed": _to_reversed,
        "toSpliced": _to_spliced,
        "with": _with,
        "fill": _fill,
        "entries": _entries,
        "keys": _keys,
        "values": _values,
        "toString": _to_string,
    }
)
methods(Iterated).update(
    {
        "next": _next,
        "map": _iterator_method("map"),
        "filter": _iterator_method("filter"),
        "forEach": _iterator_method("forEach"),
        "some": _iterator_method("some"),
        "every": _iterator_method("every"),
        "find": _iterator_method("find"),
        "reduce": _iterator_method("reduce"),
        "toArray": lambda run, target, arguments: target.rest(),
    }
)
