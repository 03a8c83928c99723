"""The namespace ``_`` and lodash chains ``_(value).map(…).value()``."""

from __future__ import annotations

from typing import Any

from interpreter.budget import Run
from interpreter.evaluate.builtins import lodash_collections, lodash_scalars
from interpreter.evaluate.builtins.arguments import arg
from interpreter.evaluate.builtins.lodash_arrays import ARRAYS
from interpreter.evaluate.builtins.lodash_objects import OBJECTS
from interpreter.evaluate.operators import call_function
from interpreter.evaluate.properties import call_member, methods
from interpreter.evaluate.values import Chain, Native, type_error

# These modules register their functions in the two tables.
assert lodash_collections and lodash_scalars
FUNCTIONS = {**ARRAYS, **OBJECTS}

# What a chain made by _() ends with: functions that answer a single value (lodash: "not chainable by default").
ENDING = frozenset(
    [
        "add",
        "ceil",
        "clamp",
        "clone",
        "cloneDeep",
        "defaultTo",
        "divide",
        "each",
        "eachRight",
        "endsWith",
        "eq",
        "escapeRegExp",
        "every",
        "find",
        "findIndex",
        "findKey",
        "findLast",
        "findLastIndex",
        "findLastKey",
        "first",
        "floor",
        "forEachRight",
        "forIn",
        "forOwn",
        "get",
        "gt",
        "gte",
        "has",
        "hasIn",
        "head",
        "identity",
        "includes",
        "inRange",
        "indexOf",
        "isArray",
        "isArrayLike",
        "isBoolean",
        "isDate",
        "isEmpty",
        "isEqual",
        "isError",
        "isFinite",
        "isFunction",
        "isInteger",
        "isLength",
        "isMap",
        "isMatch",
        "isNaN",
        "isNil",
        "isNull",
        "isNumber",
        "isObject",
        "isObjectLike",
        "isPlainObject",
        "isRegExp",
        "isSafeInteger",
        "isSet",
        "isString",
        "isUndefined",
        "join",
        "last",
        "lastIndexOf",
        "lowerCase",
        "lowerFirst",
        "lt",
        "lte",
        "max",
        "maxBy",
        "mean",
        "meanBy",
        "min",
        "minBy",
        "multiply",
        "noop",
        "nth",
        "pad",
        "padEnd",
        "padStart",
        "parseInt",
        "pop",
        "reduce",
        "reduceRight",
        "repeat",
        "replace",
        "result",
        "round",
        "sample",
        "shift",
        "size",
        "snakeCase",
        "some",
        "split",
        "startCase",
        "startsWith",
        "subtract",
        "sum",
        "sumBy",
        "toFinite",
        "toInteger",
        "toLower",
        "toNumber",
        "toString",
        "toUpper",
        "trim",
        "trimEnd",
        "trimStart",
        "truncate",
        "upperCase",
        "upperFirst",
        "camelCase",
        "capitalize",
        "kebabCase",
        "words",
    ]
) - {"each", "eachRight", "forEachRight", "forIn", "forOwn", "split", "words"}
_ARRAY_METHODS = ("pop", "push", "shift", "sort", "splice", "unshift")


def _wrapped(chain: Chain, name: str, result: Any) -> Any:
    if chain.explicit or name not in ENDING:
        return Chain(result, chain.explicit)
    return result


def _chain_method(name: str) -> Any:
    function = FUNCTIONS[name]

    def method(run: Run, target: Chain, arguments: list[Any]) -> Any:
        plain = [item.value if isinstance(item, Chain) else item for item in arguments]
        return _wrapped(target, name, function(run, [target.value, *plain]))

    return method


def _array_method(name: str) -> Any:
    def method(run: Run, target: Chain, arguments: list[Any]) -> Any:
        result = call_member(run, target.value, name, arguments)
        if name in ("push", "unshift"):
            return target
        return _wrapped(target, name, result)

    return method


def _value(_run: Run, target: Chain, _arguments: list[Any]) -> Any:
    return target.value


def _explicit(_run: Run, target: Chain, _arguments: list[Any]) -> Any:
    return Chain(target.value, explicit=True)


def _through(run: Run, target: Chain, arguments: list[Any]) -> Any:
    return Chain(call_function(run, arg(arguments, 0), [target.value]), target.explicit)


methods(Chain).update({name: _chain_method(name) for name in FUNCTIONS})
methods(Chain).update({name: _array_method(name) for name in _ARRAY_METHODS})
methods(Chain).update(
    {"value": _value, "valueOf": _value, "toJSON": _value, "commit": _value, "chain": _explicit, "thru": _through}
)


def _start(_run: Run, arguments: list[Any]) -> Any:
    value = arg(arguments, 0)
    return value if isinstance(value, Chain) else Chain(value)


def _chain(_run: Run, arguments: list[Any]) -> Any:
    value = arg(arguments, 0)
    return Chain(value.value if isinstance(value, Chain) else value, explicit=True)


def _impure(name: str) -> Native:
    def call(_run: Run, _arguments: list[Any]) -> Any:
        raise type_error(f"_.{name} needs randomness, which a declaration has not")

    return Native(f"_.{name}", call)


def _plain(name: str) -> Native:
    function = FUNCTIONS[name]

    def call(run: Run, arguments: list[Any]) -> Any:
        if any(isinstance(item, Chain) for item in arguments):
            arguments = [item.value if isinstance(item, Chain) else item for item in arguments]
        return function(run, arguments)

    return Native(f"_.{name}", call)


LODASH = Native("_", _start, {**{name: _plain(name) for name in FUNCTIONS}, "chain": Native("_.chain", _chain)})
RESTRICTED_LODASH = {"clamp": LODASH.members["clamp"]}
