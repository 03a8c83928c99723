"""Reading, writing and calling members of values (spec/mvu.md §5.3).

Own properties first; prototype members only where a table names them. ``__proto__``, ``prototype`` and a
``constructor`` that is not own are refused: there is no way from data to a built-in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.errors import BudgetExceeded, EvaluationError
from interpreter.evaluate.operators import call_function, describe, is_callable, property_key
from interpreter.evaluate.values import (
    Chain,
    ErrorValue,
    Getter,
    HostObject,
    Iterated,
    MapValue,
    Namespace,
    Native,
    SetValue,
    Thrown,
    range_error,
    type_error,
)
from interpreter.javascript import UNDEFINED

UNSAFE = frozenset(
    {"__proto__", "prototype", "constructor", "__defineGetter__", "__defineSetter__", "__lookupGetter__"}
)
Method = Callable[[Run, Any, list[Any]], Any]

METHODS: dict[type, dict[str, Method]] = {}
_READERS: dict[type, Callable[[Run, Any, str], Any]] = {}
_MISSING = object()
_LARGEST_INDEX = 10_000_000


def methods(kind: type) -> dict[str, Method]:
    """The method table of a kind of value, to be filled by the built-ins."""
    return METHODS.setdefault(kind, {})


def register_reader(kind: type, reader: Callable[[Run, Any, str], Any]) -> None:
    """Say how members of an opaque kind are read (schemas)."""
    _READERS[kind] = reader


def unsafe(name: str) -> EvaluationError:
    """The refusal of an unsafe key."""
    return EvaluationError("MVU_PATH", f"expected a safe key, found {name}")


def array_index(key: Any) -> int | None:
    """The index that a key names in an array or string, None if it names none."""
    if type(key) is int:
        return key if key >= 0 else None
    if type(key) is str and key.isascii() and key.isdigit() and (key == "0" or key[0] != "0"):
        return int(key) if len(key) < 11 else None
    return None


def get_member(run: Run, target: Any, key: Any) -> Any:
    """``target[key]``."""
    kind = type(target)
    if kind is dict:
        name = key if type(key) is str else property_key(run, key)
        found = target.get(name, _MISSING)
        if found is not _MISSING:
            return call_function(run, found.function, []) if type(found) is Getter else found
        if name in UNSAFE:
            raise unsafe(name)
        return _object_method(run, target, name)
    if kind is list:
        return _array_member(run, target, key)
    if kind is str:
        return _string_member(run, target, key)
    if target is None or target is UNDEFINED:
        message = f"cannot read {property_key(run, key)!r} of {describe(target)}"
        if run.restricted:
            raise EvaluationError("MVU_SCHEMA_CODE", f"expected a value, found that one {message}")
        raise type_error(message)
    return _opaque_member(run, target, property_key(run, key))


def _array_member(run: Run, target: list[Any], key: Any) -> Any:
    index = array_index(key)
    if index is not None:
        return target[index] if index < len(target) else UNDEFINED
    name = property_key(run, key)
    if name == "length":
        return len(target)
    index = array_index(name)
    if index is not None:
        return target[index] if index < len(target) else UNDEFINED
    extra = getattr(target, "extra", None)
    if extra and name in extra:
        return extra[name]
    return _method_value(run, target, name)


def _string_member(run: Run, target: str, key: Any) -> Any:
    index = array_index(key)
    if index is None:
        name = property_key(run, key)
        if name == "length":
            return js.utf16_length(target)
        index = array_index(name)
        if index is None:
            return _method_value(run, target, name)
    return js.utf16_char_at(target, index) or UNDEFINED


def _method_value(run: Run, target: Any, name: str) -> Any:
    """A method read without a call, bound to its value (``const f = list.map``)."""
    if name in UNSAFE:
        raise unsafe(name)
    if run.restricted:
        return UNDEFINED
    method = METHODS.get(type(target), {}).get(name)
    if method is None:
        return UNDEFINED
    found = method
    return Native(name, lambda inner, arguments: found(inner, target, arguments))


def _object_method(run: Run, target: Any, name: str) -> Any:
    if run.restricted:
        return UNDEFINED
    method = METHODS[dict].get(name)
    if method is None:
        return UNDEFINED
    found = method
    return Native(name, lambda inner, arguments: found(inner, target, arguments))


def _opaque_member(run: Run, target: Any, name: str) -> Any:
    if name in UNSAFE:
        raise unsafe(name)
    if isinstance(target, (Namespace, Native)):
        found = target.members.get(name, _MISSING)
        if found is not _MISSING:
            return found
        if isinstance(target, Native) and name == "name":
            return target.name
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected a supported built-in, found {target.name}.{name}")
    if isinstance(target, list):
        return _array_member(run, target, name)
    if isinstance(target, HostObject):
        return target.members.get(name, UNDEFINED)
    if isinstance(target, ErrorValue):
        if name in ("message", "name"):
            return getattr(target, name)
        return target.extra.get(name, "" if name == "stack" else UNDEFINED)
    if isinstance(target, (SetValue, MapValue)) and name == "size":
        return len(target)
    for kind, reader in _READERS.items():
        if isinstance(target, kind):
            return reader(run, target, name)
    if isinstance(target, (bool, int, float, SetValue, MapValue, Iterated, Chain)) or type(target) in METHODS:
        return _method_value(run, target, name)
    raise EvaluationError("MVU_SCHEMA_CODE", f"expected data, found {describe(target)} (reading {name!r})")


def call_member(run: Run, target: Any, name: str, arguments: list[Any]) -> Any:
    """``target.name(…arguments)``."""
    kind = type(target)
    if kind is dict:
        found = target.get(name, _MISSING)
        if found is not _MISSING:
            if type(found) is Getter:
                found = call_function(run, found.function, [])
            if is_callable(found):
                return found.call(run, arguments)
            raise type_error(f"{name} is not a function")
    table = METHODS.get(kind)
    if table is not None:
        method = table.get(name)
        if method is not None:
            try:
                return method(run, target, arguments)
            except (ArithmeticError, ValueError) as error:
                raise range_error(f"{name}: {error}") from None
        if kind in (dict, list, str, int, float, bool):
            if name in UNSAFE:
                raise unsafe(name)
            raise type_error(f"{describe(target)} has no method {name}()")
    function = get_member(run, target, name)
    if function is UNDEFINED:
        raise type_error(f"{describe(target)} has no method {name}()")
    return call_function(run, function, arguments)


def check_mutable(run: Run, target: Any) -> None:
    """Refuse a change of something that outlives this run: a constant of the declaration."""
    if id(target) in run.frozen or id(target) in run.frozen_here:
        message = "expected an object made inside the function, found a constant of the declaration: copy it first ({ ...it })"
        raise EvaluationError("MVU_SCHEMA_CODE", message)


def set_member(run: Run, target: Any, key: Any, value: Any) -> None:
    """``target[key] = value``."""
    kind = type(target)
    if kind is dict:
        name = key if type(key) is str else property_key(run, key)
        if name in UNSAFE and (name != "constructor" or run.restricted):
            raise unsafe(name)
        check_mutable(run, target)
        run.charge(1)
        target[name] = value
        return
    if kind is list:
        check_mutable(run, target)
        _set_item(run, target, key, value)
        return
    if isinstance(target, HostObject) and target.on_set is not None:
        target.on_set(property_key(run, key), value)
        return
    if target is None or target is UNDEFINED:
        raise type_error(f"cannot set {property_key(run, key)!r} of {describe(target)}")
    if isinstance(target, (str, int, float, bool)):
        return
    raise EvaluationError("MVU_SCHEMA_CODE", f"expected an object or array to assign to, found {describe(target)}")


def _set_item(run: Run, target: list[Any], key: Any, value: Any) -> None:
    index = array_index(key)
    if index is None:
        name = property_key(run, key)
        index = array_index(name)
        if index is None:
            _set_length(run, target, name, value)
            return
    if index < len(target):
        target[index] = value
        return
    if run.strict_numbers:
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected an existing array index, found {index}")
    grow = index - len(target)
    if index > _LARGEST_INDEX:
        raise BudgetExceeded("interpreter.array", _LARGEST_INDEX, "items", str(index))
    run.charge(grow + 1)
    target.extend([UNDEFINED] * grow)
    target.append(value)


def _set_length(run: Run, target: list[Any], name: str, value: Any) -> None:
    if name != "length" or run.restricted:
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected an array index, found {name!r}")
    if not js.is_integer(value) or value < 0:
        raise Thrown(ErrorValue("RangeError", "Invalid array length"))
    size = int(value)
    if size <= len(target):
        del target[size:]
        return
    run.charge(size - len(target))
    target.extend([UNDEFINED] * (size - len(target)))


def delete_member(run: Run, target: Any, key: Any) -> bool:
    """``delete target[key]``."""
    if type(target) is dict:
        name = property_key(run, key)
        if name in UNSAFE and name != "constructor":
            raise unsafe(name)
        check_mutable(run, target)
        target.pop(name, None)
        return True
    if type(target) is list:
        check_mutable(run, target)
        index = array_index(key)
        if index is not None and index < len(target):
            target[index] = UNDEFINED
        return True
    if target is None or target is UNDEFINED:
        raise type_error("Cannot convert undefined or null to object")
    if isinstance(target, (str, int, float)):
        return True
    raise EvaluationError("MVU_SCHEMA_CODE", f"expected an object, found {describe(target)} (delete)")


def has_member(run: Run, target: Any, key: Any) -> bool:
    """``key in target``."""
    name = property_key(run, key)
    if type(target) is dict:
        return name in target or name in METHODS[dict]
    if type(target) is list:
        index = array_index(name)
        return name == "length" or (index is not None and index < len(target))
    if isinstance(target, ErrorValue):
        return name in ("message", "name", "stack") or name in target.extra
    raise type_error(f"cannot use 'in' on {describe(target)}")
