"""lodash on objects, numbers, strings, and its tests (spec/zod.md §4.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.builtins.arguments import arg, function
from interpreter.evaluate.builtins.arrays import flatten
from interpreter.evaluate.builtins.lodash_base import (
    get_path,
    has_path,
    is_equal,
    is_match,
    items_of,
    iteratee,
    path_of,
    set_path,
    test,
    to_path,
    values_of,
)
from interpreter.evaluate.builtins.objects import clone, object_entries, object_keys
from interpreter.evaluate.builtins.symbols import symbols
from interpreter.evaluate.operators import call_function, describe, is_callable, property_key, to_text
from interpreter.evaluate.properties import UNSAFE, check_mutable, delete_member, get_member, set_member
from interpreter.evaluate.values import Chain, DateValue, ErrorValue, MapValue, Native, SetValue
from interpreter.javascript import UNDEFINED
from interpreter.regex import RegExp

Items = list[Any]
Function = Callable[[Run, Items], Any]
OBJECTS: dict[str, Function] = {}


def lodash(*names: str) -> Callable[[Function], Function]:
    """Register a function under its names."""

    def register(made: Function) -> Function:
        for name in names:
            OBJECTS[name] = made
        return made

    return register


def _plain(value: Any) -> Any:
    """A collection argument of an object function: null and undefined are empty."""
    if isinstance(value, Chain):
        value = value.value
    return {} if value is None or value is UNDEFINED else value


def _entries(run: Run, value: Any) -> list[list[Any]]:
    return object_entries(run, _plain(value))


@lodash("keys", "keysIn")
def _keys(run: Run, a: Items) -> Any:
    return object_keys(run, _plain(arg(a, 0)))


@lodash("values", "valuesIn")
def _values(run: Run, a: Items) -> Any:
    return values_of(run, _plain(arg(a, 0)))


@lodash("toPairs", "entries", "toPairsIn", "entriesIn")
def _to_pairs(run: Run, a: Items) -> Any:
    value = _plain(arg(a, 0))
    if isinstance(value, (SetValue, MapValue)):
        return [[key, item] for key, item in items_of(run, value)]
    return _entries(run, value)


@lodash("mapValues")
def _map_values(run: Run, a: Items) -> Any:
    target, call = arg(a, 0), iteratee(run, arg(a, 1))
    return {key: call(value, key, target) for key, value in _entries(run, target)}


@lodash("mapKeys")
def _map_keys(run: Run, a: Items) -> Any:
    target, call = arg(a, 0), iteratee(run, arg(a, 1))
    return {property_key(run, call(value, key, target)): value for key, value in _entries(run, target)}


@lodash("pickBy")
def _pick_by(run: Run, a: Items) -> Any:
    check = test(run, arg(a, 1))
    return {key: value for key, value in _entries(run, arg(a, 0)) if check(value, key)}


@lodash("omitBy")
def _omit_by(run: Run, a: Items) -> Any:
    check = test(run, arg(a, 1))
    return {key: value for key, value in _entries(run, arg(a, 0)) if not check(value, key)}


@lodash("pick")
def _pick(run: Run, a: Items) -> Any:
    source = _plain(arg(a, 0))
    made: dict[str, Any] = {}
    for path in flatten(run, a[1:], 1):
        if has_path(run, source, path):
            value = get_path(run, source, path)
            set_path(run, made, path_of(run, source, path), lambda _old, value=value: value)  # type: ignore[misc]
    return made


@lodash("omit")
def _omit(run: Run, a: Items) -> Any:
    source = _plain(arg(a, 0))
    paths = [path_of(run, source, path) for path in flatten(run, a[1:], 1)]
    made: Any = dict(_entries(run, source))
    if any(len(path) > 1 for path in paths):
        made = clone(run, made)
    for path in paths:
        _unset(run, [made, path])
    return made


@lodash("get")
def _get(run: Run, a: Items) -> Any:
    return get_path(run, arg(a, 0), arg(a, 1), arg(a, 2))


@lodash("result")
def _result(run: Run, a: Items) -> Any:
    value = get_path(run, arg(a, 0), arg(a, 1), arg(a, 2))
    return call_function(run, value, []) if is_callable(value) else value


@lodash("at")
def _at(run: Run, a: Items) -> Any:
    return [get_path(run, arg(a, 0), path) for path in flatten(run, a[1:], 1)]


@lodash("has", "hasIn")
def _has(run: Run, a: Items) -> Any:
    return has_path(run, arg(a, 0), arg(a, 1))


@lodash("set")
def _set(run: Run, a: Items) -> Any:
    return set_path(run, arg(a, 0), arg(a, 1), lambda _old: arg(a, 2))


@lodash("update")
def _update(run: Run, a: Items) -> Any:
    called = function(arg(a, 2))
    return set_path(run, arg(a, 0), arg(a, 1), lambda old: called.call(run, [old]))


@lodash("unset")
def _unset(run: Run, a: Items) -> Any:
    parts = path_of(run, arg(a, 0), arg(a, 1))
    target = get_path(run, arg(a, 0), parts[:-1]) if len(parts) > 1 else arg(a, 0)
    if not isinstance(target, (dict, list)) or not parts:
        return True
    return delete_member(run, target, parts[-1])


def _defaults_into(run: Run, target: Any, sources: Items, deep: bool) -> Any:
    for source in sources:
        for key, value in _entries(run, source):
            old = get_member(run, target, key) if key not in UNSAFE else UNDEFINED
            if old is UNDEFINED:
                set_member(run, target, key, value)
            elif deep and type(old) is dict and type(value) is dict:
                _defaults_into(run, old, [value], True)
    return target


@lodash("defaults")
def _defaults(run: Run, a: Items) -> Any:
    return _defaults_into(run, arg(a, 0), a[1:], False)


@lodash("defaultsDeep")
def _defaults_deep(run: Run, a: Items) -> Any:
    return _defaults_into(run, arg(a, 0), a[1:], True)


@lodash("assign", "extend", "assignIn")
def _assign(run: Run, a: Items) -> Any:
    for source in a[1:]:
        for key, value in _entries(run, source):
            set_member(run, arg(a, 0), key, value)
    return arg(a, 0)


def _merge_into(run: Run, target: Any, source: Any, customizer: Any) -> Any:
    for key, value in _entries(run, source):
        old = get_member(run, target, key) if key not in UNSAFE else UNDEFINED
        if customizer is not None:
            chosen = call_function(run, customizer, [old, value, key, target, source])
            if chosen is not UNDEFINED:
                set_member(run, target, key, chosen)
                continue
        if isinstance(value, (dict, list)):
            same = type(old) is type(value) or (type(old) is list and type(value) is list)
            base = old if same else clone(run, [] if isinstance(value, list) else {})
            set_member(run, target, key, _merge_into(run, base, value, customizer))
        elif value is not UNDEFINED or old is UNDEFINED:
            set_member(run, target, key, value)
    return target


@lodash("merge")
def _merge(run: Run, a: Items) -> Any:
    for source in a[1:]:
        _merge_into(run, arg(a, 0), source, None)
    return arg(a, 0)


@lodash("mergeWith")
def _merge_with(run: Run, a: Items) -> Any:
    customizer = a[-1] if a and is_callable(a[-1]) else None
    for source in a[1:-1] if customizer is not None else a[1:]:
        _merge_into(run, arg(a, 0), source, customizer)
    return arg(a, 0)


@lodash("invert")
def _invert(run: Run, a: Items) -> Any:
    return {property_key(run, value): key for key, value in _entries(run, arg(a, 0))}


@lodash("findKey")
def _find_key(run: Run, a: Items) -> Any:
    check = test(run, arg(a, 1))
    return next((key for key, value in _entries(run, arg(a, 0)) if check(value, key, arg(a, 0))), UNDEFINED)


@lodash("findLastKey")
def _find_last_key(run: Run, a: Items) -> Any:
    check = test(run, arg(a, 1))
    pairs = reversed(_entries(run, arg(a, 0)))
    return next((key for key, value in pairs if check(value, key, arg(a, 0))), UNDEFINED)


@lodash("transform")
def _transform(run: Run, a: Items) -> Any:
    made = arg(a, 2) if len(a) > 2 else ([] if isinstance(arg(a, 0), list) else {})
    for key, value in items_of(run, arg(a, 0)):
        if call_function(run, arg(a, 1), [made, value, key, arg(a, 0)]) is False:
            break
    return made


@lodash("clone")
def _clone(run: Run, a: Items) -> Any:
    value = arg(a, 0)
    if type(value) is dict:
        run.charge(len(value))
        return dict(value)
    if isinstance(value, list):
        run.charge(len(value))
        return list(value)
    return value


@lodash("cloneDeep")
def _clone_deep(run: Run, a: Items) -> Any:
    return clone(run, arg(a, 0))


# --- tests -------------------------------------------------------------------------------------------------------


def _empty(value: Any) -> bool:
    if isinstance(value, Chain):
        value = value.value
    if isinstance(value, (str, list, dict, SetValue, MapValue)):
        return len(value) == 0
    return True


def _object(value: Any) -> bool:
    return isinstance(value, (dict, list, SetValue, MapValue, RegExp, DateValue, ErrorValue)) or is_callable(value)


TESTS: dict[str, Callable[[Any], bool]] = {
    "isArray": lambda value: isinstance(value, list),
    "isArrayLike": lambda value: isinstance(value, (list, str)),
    "isArrayLikeObject": lambda value: isinstance(value, list),
    "isString": lambda value: isinstance(value, str),
    "isNumber": js.is_number,
    "isBoolean": lambda value: isinstance(value, bool),
    "isFunction": is_callable,
    "isNull": lambda value: value is None,
    "isUndefined": lambda value: value is UNDEFINED,
    "isNil": lambda value: value is None or value is UNDEFINED,
    "isNaN": lambda value: isinstance(value, float) and value != value,
    "isFinite": lambda value: js.is_number(value) and math.isfinite(value),
    "isInteger": js.is_integer,
    "isSafeInteger": js.is_safe_integer,
    "isLength": lambda value: js.is_integer(value) and 0 <= value <= js.MAX_SAFE_INTEGER,
    "isObject": _object,
    "isObjectLike": lambda value: _object(value) and not is_callable(value),
    "isPlainObject": lambda value: type(value) is dict,
    "isEmpty": _empty,
    "isRegExp": lambda value: isinstance(value, RegExp),
    "isDate": lambda value: isinstance(value, DateValue),
    "isSet": lambda value: isinstance(value, SetValue),
    "isMap": lambda value: isinstance(value, MapValue),
    "isError": lambda value: isinstance(value, ErrorValue),
}


def _tested(check: Callable[[Any], bool]) -> Function:
    return lambda run, a: check(arg(a, 0))


for _name, _check in TESTS.items():
    OBJECTS[_name] = _tested(_check)


@lodash("isEqual")
def _is_equal(run: Run, a: Items) -> Any:
    return is_equal(run, arg(a, 0), arg(a, 1))


@lodash("isMatch")
def _is_match(run: Run, a: Items) -> Any:
    return is_match(run, arg(a, 0), arg(a, 1))


@lodash("eq")
def _eq(_run: Run, a: Items) -> Any:
    return js.same_value_zero(arg(a, 0), arg(a, 1))


# --- functions ---------------------------------------------------------------------------------------------------


@lodash("identity")
def _identity(_run: Run, a: Items) -> Any:
    return arg(a, 0)


@lodash("constant")
def _constant(_run: Run, a: Items) -> Any:
    return Native("constant", lambda run, inner: arg(a, 0))


@lodash("noop")
def _noop(_run: Run, _a: Items) -> Any:
    return UNDEFINED


@lodash("property")
def _property(_run: Run, a: Items) -> Any:
    return Native("property", lambda run, inner: get_path(run, arg(inner, 0), arg(a, 0)))


@lodash("iteratee")
def _iteratee(_run: Run, a: Items) -> Any:
    return Native("iteratee", lambda run, inner: iteratee(run, arg(a, 0))(*inner))


@lodash("matches")
def _matches(_run: Run, a: Items) -> Any:
    return Native("matches", lambda run, inner: is_match(run, arg(inner, 0), arg(a, 0)))


@lodash("negate")
def _negate(_run: Run, a: Items) -> Any:
    return Native("negate", lambda run, inner: not js.truthy(call_function(run, arg(a, 0), inner)))


@lodash("flow")
def _flow(_run: Run, a: Items) -> Any:
    def call(run: Run, inner: Items) -> Any:
        steps = flatten(run, a, 1)
        value = call_function(run, steps[0], inner) if steps else arg(inner, 0)
        for step in steps[1:]:
            value = call_function(run, step, [value])
        return value

    return Native("flow", call)


@lodash("partial")
def _partial(_run: Run, a: Items) -> Any:
    return Native("partial", lambda run, inner: call_function(run, arg(a, 0), [*a[1:], *inner]))


@lodash("attempt")
def _attempt(run: Run, a: Items) -> Any:
    from interpreter.evaluate.values import Thrown

    try:
        return call_function(run, arg(a, 0), a[1:])
    except Thrown as error:
        return error.value


@lodash("tap")
def _tap(run: Run, a: Items) -> Any:
    call_function(run, arg(a, 1), [arg(a, 0)])
    return arg(a, 0)


@lodash("thru")
def _thru(run: Run, a: Items) -> Any:
    return call_function(run, arg(a, 1), [arg(a, 0)])


@lodash("defaultTo")
def _default_to(_run: Run, a: Items) -> Any:
    value = arg(a, 0)
    missing = value is None or value is UNDEFINED or (isinstance(value, float) and value != value)
    return arg(a, 1) if missing else value


@lodash("castArray")
def _cast_array(_run: Run, a: Items) -> Any:
    if not a:
        return []
    return a[0] if isinstance(a[0], list) else [a[0]]


@lodash("toArray")
def _to_array(run: Run, a: Items) -> Any:
    value = arg(a, 0)
    return symbols(value) if isinstance(value, str) else values_of(run, value)


@lodash("toPath")
def _to_path(_run: Run, a: Items) -> Any:
    return to_path(arg(a, 0))


@lodash("toPlainObject")
def _to_plain(run: Run, a: Items) -> Any:
    return dict(_entries(run, arg(a, 0)))


def refuse_change(run: Run, value: Any) -> None:
    """Refuse to change a constant."""
    check_mutable(run, value)


def name_of(value: Any) -> str:
    """What a value is, for a message."""
    return describe(value) if not isinstance(value, str) else to_text(value)
