"""``Object``, ``Array``, ``JSON`` and the methods of plain objects, sets and maps (spec/zod.md §4.6)."""

from __future__ import annotations

from typing import Any

from interpreter import javascript as js
from interpreter import limits
from interpreter.budget import Run
from interpreter.errors import BudgetExceeded, EvaluationError
from interpreter.evaluate.builtins.arguments import arg, function, integer, text
from interpreter.evaluate.operators import call_function, describe, is_callable, iterate, property_key
from interpreter.evaluate.properties import UNSAFE, check_mutable, get_member, methods, set_member
from interpreter.evaluate.values import (
    DateValue,
    ErrorValue,
    Getter,
    HostObject,
    Iterated,
    MapValue,
    Native,
    SetValue,
    Thrown,
    range_error,
    type_error,
)
from interpreter.javascript import UNDEFINED, js_key_order, truthy
from interpreter.regex import RegExp


def object_keys(run: Run, value: Any) -> list[str]:
    """``Object.keys(value)``."""
    if type(value) is dict:
        run.charge(len(value))
        return list(js_key_order(value.keys()))
    if isinstance(value, (list, str)):
        run.charge(len(value))
        return [str(index) for index in range(len(value) if isinstance(value, list) else js.utf16_length(value))]
    if value is None or value is UNDEFINED:
        raise type_error("Cannot convert undefined or null to object")
    if isinstance(value, ErrorValue):
        return list(value.extra)
    if isinstance(value, HostObject):
        return list(value.members)
    if isinstance(value, (bool, int, float, SetValue, MapValue, RegExp, DateValue)) or is_callable(value):
        return []
    raise EvaluationError("MVU_SCHEMA_CODE", f"expected data, found {describe(value)}")


def object_entries(run: Run, value: Any) -> list[list[Any]]:
    """``Object.entries(value)``."""
    if type(value) is dict:
        return [[key, _own(run, value, key)] for key in object_keys(run, value)]
    return [[key, get_member(run, value, key)] for key in object_keys(run, value)]


def _own(run: Run, value: dict[str, Any], key: str) -> Any:
    found = value[key]
    return call_function(run, found.function, []) if type(found) is Getter else found


def _entry(pair: Any) -> list[Any]:
    if isinstance(pair, list):
        return pair
    if type(pair) is dict:
        return [pair.get("0", UNDEFINED), pair.get("1", UNDEFINED)]
    raise type_error(f"Iterator value {describe(pair)} is not an entry object")


def from_entries(run: Run, pairs: Any) -> dict[str, Any]:
    """``Object.fromEntries(pairs)``."""
    made: dict[str, Any] = {}
    for pair in iterate(run, pairs):
        pair = _entry(pair)
        key = property_key(run, arg(pair, 0))
        if key == "__proto__":
            raise EvaluationError("MVU_PATH", "expected a safe key, found __proto__")
        made[key] = arg(pair, 1)
    return made


def _assign(run: Run, arguments: list[Any]) -> Any:
    target = arg(arguments, 0)
    if target is None or target is UNDEFINED:
        raise type_error("Cannot convert undefined or null to object")
    for source in arguments[1:]:
        if source is None or source is UNDEFINED or isinstance(source, (bool, int, float)):
            continue
        for key, value in object_entries(run, source):
            set_member(run, target, key, value)
    return target


def _freeze(_run: Run, arguments: list[Any]) -> Any:
    return arg(arguments, 0)


def _group_by(run: Run, arguments: list[Any]) -> Any:
    called = function(arg(arguments, 1))
    made: dict[str, Any] = {}
    for index, item in enumerate(iterate(run, arg(arguments, 0))):
        made.setdefault(property_key(run, called.call(run, [item, index])), []).append(item)
    return made


def _has_own(run: Run, arguments: list[Any]) -> Any:
    return has_own(run, arg(arguments, 0), arg(arguments, 1))


def has_own(run: Run, target: Any, key: Any) -> bool:
    """``Object.hasOwn(target, key)``."""
    name = property_key(run, key)
    if type(target) is dict:
        return name in target
    if isinstance(target, (list, str)):
        return name == "length" or name in object_keys(run, target)
    if target is None or target is UNDEFINED:
        raise type_error("Cannot convert undefined or null to object")
    return False


OBJECT = Native(
    "Object",
    lambda run, arguments: {} if arg(arguments, 0) in (None, UNDEFINED) else arguments[0],
    {
        "keys": Native("Object.keys", lambda run, arguments: object_keys(run, arg(arguments, 0))),
        "values": Native(
            "Object.values", lambda run, arguments: [value for _key, value in object_entries(run, arg(arguments, 0))]
        ),
        "entries": Native("Object.entries", lambda run, arguments: object_entries(run, arg(arguments, 0))),
        "fromEntries": Native("Object.fromEntries", lambda run, arguments: from_entries(run, arg(arguments, 0))),
        "assign": Native("Object.assign", _assign),
        "freeze": Native("Object.freeze", _freeze),
        "seal": Native("Object.seal", _freeze),
        "isFrozen": Native("Object.isFrozen", lambda run, arguments: id(arg(arguments, 0)) in run.frozen),
        "hasOwn": Native("Object.hasOwn", _has_own),
        "is": Native("Object.is", lambda run, arguments: js.same_value(arg(arguments, 0), arg(arguments, 1))),
        "groupBy": Native("Object.groupBy", _group_by),
        "getOwnPropertyNames": Native(
            "Object.getOwnPropertyNames", lambda run, arguments: object_keys(run, arg(arguments, 0))
        ),
    },
    lambda run, arguments: {} if arg(arguments, 0) in (None, UNDEFINED) else arguments[0],
)


def _object_has_own(run: Run, target: Any, arguments: list[Any]) -> Any:
    return has_own(run, target, arg(arguments, 0))


methods(dict).update(
    {
        "hasOwnProperty": _object_has_own,
        "propertyIsEnumerable": _object_has_own,
        "toString": lambda run, target, arguments: "[object Object]",
        "toLocaleString": lambda run, target, arguments: "[object Object]",
        "valueOf": lambda run, target, arguments: target,
        "isPrototypeOf": lambda run, target, arguments: False,
    }
)
for _kind in (list, str, int, float, bool):
    methods(_kind)["hasOwnProperty"] = _object_has_own
methods(list)["valueOf"] = lambda run, target, arguments: target


# --- Array -------------------------------------------------------------------------------------------------------


def _array_from(run: Run, arguments: list[Any]) -> Any:
    source, mapper = arg(arguments, 0), arg(arguments, 1)
    if type(source) is dict:
        length = int(min(max(integer(source.get("length", 0)), 0), 10_000_000))
        run.charge(length)
        items = [source.get(str(index), UNDEFINED) for index in range(length)]
    elif source is None or source is UNDEFINED:
        raise type_error(f"{describe(source)} is not iterable")
    elif isinstance(source, (bool, int, float)):
        items = []
    else:
        items = list(iterate(run, source))
    if mapper is UNDEFINED:
        return items
    called = function(mapper)
    return [called.call(run, [item, index]) for index, item in enumerate(items)]


def _new_array(run: Run, arguments: list[Any]) -> Any:
    if len(arguments) == 1 and js.is_number(arguments[0]):
        if not js.is_integer(arguments[0]) or not 0 <= arguments[0] < 2**32:
            raise range_error("Invalid array length")
        run.charge(int(arguments[0]))
        return [UNDEFINED] * int(arguments[0])
    return list(arguments)


ARRAY = Native(
    "Array",
    _new_array,
    {
        "isArray": Native("Array.isArray", lambda run, arguments: isinstance(arg(arguments, 0), list)),
        "from": Native("Array.from", _array_from),
        "of": Native("Array.of", lambda run, arguments: list(arguments)),
    },
    _new_array,
)


# --- JSON --------------------------------------------------------------------------------------------------------


def json_other(run: Run, value: Any) -> Any:
    """What ``JSON.stringify`` makes of a value that is no JSON."""
    if isinstance(value, (SetValue, MapValue, RegExp)):
        return {}
    if isinstance(value, ErrorValue):
        return dict(value.extra)
    if isinstance(value, HostObject):
        return value.members
    if isinstance(value, DateValue):
        return date_text(value)
    if is_callable(value):
        return UNDEFINED
    if type(value) is Getter:
        return call_function(run, value.function, [])
    raise EvaluationError("MVU_SCHEMA_CODE", f"expected data, found {describe(value)}")


def _measure(run: Run, value: Any) -> None:
    """Charge a value's nodes before its text is built; a shared node counts each time it is reached."""
    stack = [value]
    while stack:
        item = stack.pop()
        run.charge(1 + (len(item) >> 5 if isinstance(item, str) else 0))
        if type(item) is dict:
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _replaced(run: Run, value: Any, replacer: Any, key: str) -> Any:
    if is_callable(replacer):
        value = call_function(run, replacer, [key, value])
    if type(value) is dict:
        keys = list(js_key_order(value.keys()))
        if isinstance(replacer, list):
            allowed = [text(item) for item in replacer]
            keys = [name for name in allowed if name in value]
        made = {name: _replaced(run, value[name], replacer, name) for name in keys}
        return {name: item for name, item in made.items() if item is not UNDEFINED}
    if type(value) is list:
        return [_replaced(run, item, replacer, str(index)) for index, item in enumerate(value)]
    return value


def _stringify(run: Run, arguments: list[Any]) -> Any:
    value, replacer, space = arg(arguments, 0), arg(arguments, 1), arg(arguments, 2)
    if js.is_number(space):
        indent = " " * int(min(max(integer(space), 0), 10))
    else:
        indent = text(space)[:10] if isinstance(space, str) else ""
    if value is UNDEFINED or is_callable(value):
        return UNDEFINED
    _measure(run, value)
    if is_callable(replacer) or isinstance(replacer, list):
        value = _replaced(run, value, replacer, "")
        if value is UNDEFINED:
            return UNDEFINED
    try:
        written = js.js_json_text(value, indent, lambda other: json_other(run, other))
    except TypeError as error:
        raise type_error(str(error)) from None
    run.check_string(len(written))
    return written


def _parse(run: Run, arguments: list[Any]) -> Any:
    source = text(arg(arguments, 0))
    run.charge(1 + (len(source) >> 2))
    try:
        value = js.parse_json(source, 64)
    except ValueError as error:
        raise Thrown(ErrorValue("SyntaxError", f"{error} (JSON.parse)")) from None
    _check_keys(value)
    reviver = arg(arguments, 1)
    return _revived(run, value, reviver, "") if is_callable(reviver) else value


def _check_keys(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            if "__proto__" in item:
                del item["__proto__"]
            stack.extend(item.values())
        elif type(item) is list:
            stack.extend(item)


def _revived(run: Run, value: Any, reviver: Any, key: str) -> Any:
    if type(value) is dict:
        for name in list(value):
            new = _revived(run, value[name], reviver, name)
            if new is UNDEFINED:
                del value[name]
            else:
                value[name] = new
    elif type(value) is list:
        value[:] = [_revived(run, item, reviver, str(index)) for index, item in enumerate(value)]
    return call_function(run, reviver, [key, value])


JSON_MEMBERS = {"stringify": Native("JSON.stringify", _stringify), "parse": Native("JSON.parse", _parse)}


def clone(run: Run, value: Any, depth: int = 0) -> Any:
    """A deep copy of data, charged by its size (``structuredClone``, ``_.cloneDeep``)."""
    if depth > limits.VALUE_DEPTH.default:
        raise BudgetExceeded(limits.VALUE_DEPTH.name, limits.VALUE_DEPTH.default, limits.VALUE_DEPTH.unit)
    if type(value) is dict:
        run.charge(1 + len(value))
        return {
            key: clone(run, item, depth + 1) if isinstance(item, (dict, list)) else item for key, item in value.items()
        }
    if isinstance(value, list):
        run.charge(1 + len(value))
        return [clone(run, item, depth + 1) if isinstance(item, (dict, list)) else item for item in value]
    if isinstance(value, SetValue):
        run.charge(1 + len(value))
        return SetValue(value.values())
    if isinstance(value, MapValue):
        made = MapValue()
        for key, item in value.entries():
            made.set(key, clone(run, item))
        return made
    return value


# --- Set and Map -------------------------------------------------------------------------------------------------


def new_set(run: Run, arguments: list[Any]) -> Any:
    """``new Set(items)``."""
    source = arg(arguments, 0)
    return SetValue([] if source is None or source is UNDEFINED else iterate(run, source))


def new_map(run: Run, arguments: list[Any]) -> Any:
    """``new Map(entries)``."""
    made = MapValue()
    source = arg(arguments, 0)
    for pair in [] if source is None or source is UNDEFINED else iterate(run, source):
        pair = _entry(pair)
        made.set(arg(pair, 0), arg(pair, 1))
    return made


def _set_add(run: Run, target: SetValue, arguments: list[Any]) -> Any:
    check_mutable(run, target)
    run.charge(1)
    target.add(arg(arguments, 0))
    return target


def _set_delete(run: Run, target: SetValue, arguments: list[Any]) -> Any:
    check_mutable(run, target)
    from interpreter.evaluate.values import key_of

    return target.items.pop(key_of(arg(arguments, 0)), UNSAFE) is not UNSAFE


def _clear(run: Run, target: Any, _arguments: list[Any]) -> Any:
    check_mutable(run, target)
    target.items.clear()
    return UNDEFINED


def _set_for_each(run: Run, target: SetValue, arguments: list[Any]) -> Any:
    called = function(arg(arguments, 0))
    for item in iterate(run, target):
        called.call(run, [item, item, target])
    return UNDEFINED


def _set_combine(name: str) -> Any:
    def method(run: Run, target: SetValue, arguments: list[Any]) -> Any:
        other = arg(arguments, 0)
        if not isinstance(other, SetValue):
            raise type_error(f"{describe(other)} is not a Set")
        mine, theirs = iterate(run, target), iterate(run, other)
        if name == "union":
            return SetValue([*mine, *theirs])
        if name == "intersection":
            return SetValue([item for item in mine if other.has(item)])
        if name == "difference":
            return SetValue([item for item in mine if not other.has(item)])
        if name == "isSubsetOf":
            return all(other.has(item) for item in mine)
        return all(target.has(item) for item in theirs)

    return method


methods(SetValue).update(
    {
        "has": lambda run, target, arguments: target.has(arg(arguments, 0)),
        "add": _set_add,
        "delete": _set_delete,
        "clear": _clear,
        "forEach": _set_for_each,
        "values": lambda run, target, arguments: Iterated(iterate(run, target)),
        "keys": lambda run, target, arguments: Iterated(iterate(run, target)),
        "entries": lambda run, target, arguments: Iterated([[item, item] for item in iterate(run, target)]),
        **{name: _set_combine(name) for name in ("union", "intersection", "difference", "isSubsetOf", "isSupersetOf")},
    }
)


def _map_get(_run: Run, target: MapValue, arguments: list[Any]) -> Any:
    from interpreter.evaluate.values import key_of

    return target.items.get(key_of(arg(arguments, 0)), (UNDEFINED, UNDEFINED))[1]


def _map_has(_run: Run, target: MapValue, arguments: list[Any]) -> Any:
    from interpreter.evaluate.values import key_of

    return key_of(arg(arguments, 0)) in target.items


def _map_set(run: Run, target: MapValue, arguments: list[Any]) -> Any:
    check_mutable(run, target)
    run.charge(1)
    target.set(arg(arguments, 0), arg(arguments, 1))
    return target


def _map_for_each(run: Run, target: MapValue, arguments: list[Any]) -> Any:
    called = function(arg(arguments, 0))
    for key, value in iterate(run, target):
        called.call(run, [value, key, target])
    return UNDEFINED


methods(MapValue).update(
    {
        "get": _map_get,
        "has": _map_has,
        "set": _map_set,
        "delete": _set_delete,
        "clear": _clear,
        "forEach": _map_for_each,
        "entries": lambda run, target, arguments: Iterated(iterate(run, target)),
        "keys": lambda run, target, arguments: Iterated([key for key, _value in iterate(run, target)]),
        "values": lambda run, target, arguments: Iterated([value for _key, value in iterate(run, target)]),
    }
)


def date_text(value: DateValue) -> str:
    """``toISOString``."""
    from datetime import UTC, datetime, timedelta

    if value.milliseconds != value.milliseconds or abs(value.milliseconds) > 8.64e15:
        raise range_error("Invalid time value")
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value.milliseconds)
    except OverflowError:
        raise range_error("Invalid time value") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def boolean(_run: Run, arguments: list[Any]) -> Any:
    """``Boolean(value)``."""
    return truthy(arg(arguments, 0))
