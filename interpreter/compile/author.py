"""Calling author functions from a parser: copies for functions that change data, contexts, messages (design §6)."""

from __future__ import annotations

import math
from typing import Any

from interpreter import limits
from interpreter.budget import Run
from interpreter.errors import BudgetExceeded, EvaluationError
from interpreter.evaluate.functions import FunctionValue
from interpreter.evaluate.operators import describe, is_callable
from interpreter.evaluate.values import HostObject
from interpreter.javascript import UNDEFINED, js_key_order, utf16_length

_SCALARS = frozenset({int, bool, str, type(None)})


def copy_data(run: Run, value: Any, depth: int = 0) -> Any:
    """A deep copy, charged by its size: what a function that changes data in place may have."""
    kind = type(value)
    if kind is dict or kind is list:
        if depth > limits.VALUE_DEPTH.default:
            raise BudgetExceeded(limits.VALUE_DEPTH.name, limits.VALUE_DEPTH.default, limits.VALUE_DEPTH.unit)
        run.charge(1 + len(value))
        if kind is dict:
            return {key: copy_data(run, item, depth + 1) for key, item in value.items()}
        return [copy_data(run, item, depth + 1) for item in value]
    return value


def mutates(function: Any) -> bool:
    """Whether a call may change its arguments in place."""
    return isinstance(function, FunctionValue) and function.code.mutates


def own_copy(run: Run, function: Any, value: Any) -> Any:
    """The value itself, or a copy where the function may change it."""
    return copy_data(run, value) if mutates(function) and type(value) in (dict, list) else value


def frozen_copy(run: Run, value: Any) -> Any:
    """A copy that refuses changes (versions 1 and 2 give refinements one)."""
    made = copy_data(run, value)
    stack = [made]
    while stack:
        item = stack.pop()
        if type(item) is dict or type(item) is list:
            run.frozen_here[id(item)] = item
            run.charge(1)
            stack.extend(item.values() if type(item) is dict else item)
    return made


def error_text(run: Run, error: Any, issue: dict[str, Any]) -> str | None:
    """The author's message for an issue; None where a function leaves it to the default."""
    if isinstance(error, str):
        return error
    if is_callable(error):
        answer = error.call(run, [issue])
        if isinstance(answer, dict):
            answer = answer.get("message", UNDEFINED)
        return answer if isinstance(answer, str) else None
    return None


def check_output(run: Run, before: Any, after: Any) -> Any:
    """Look at a function's result: data that is no JSON marks the run, so that the whole output is looked at.

    Parts that came in with ``before`` are known data already and are skipped.
    """
    kind = type(after)
    if kind in _SCALARS:
        return after
    if kind is float:
        if not math.isfinite(after):
            run.unclean = True
        return after
    made: list[Any] = []
    if kind is dict:
        known = before if type(before) is dict else {}
        for key, item in after.items():
            if "0" <= key[:1] <= "9":
                run.unclean = True
            if type(item) not in _SCALARS and item is not known.get(key):
                made.append(item)
    elif kind is list:
        known_ids = {id(item) for item in before} if type(before) is list else set()
        made += [item for item in after if type(item) not in _SCALARS and id(item) not in known_ids]
    else:
        run.unclean = True
    if made:
        _deep(run, made)
    return after


def _deep(run: Run, stack: list[Any]) -> None:
    """Charge and measure data that a function made; what is reached twice counts twice, as in its JSON text."""
    size = 0
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            size += len(item)
            if size > limits.VALUE_SIZE.default:
                raise BudgetExceeded(limits.VALUE_SIZE.name, limits.VALUE_SIZE.default, limits.VALUE_SIZE.unit)
            continue
        if kind in _SCALARS:
            continue
        run.charge(1)
        if kind is dict:
            size += sum(map(len, item)) + 4 * len(item)
            run.unclean = run.unclean or any("0" <= key[:1] <= "9" for key in item)
            stack.extend(item.values())
        elif kind is list:
            size += 2 * len(item)
            stack.extend(item)
        elif kind is not float or not math.isfinite(item):
            run.unclean = True
        if size > limits.VALUE_SIZE.default:
            raise BudgetExceeded(limits.VALUE_SIZE.name, limits.VALUE_SIZE.default, limits.VALUE_SIZE.unit)


def clean_json(value: Any) -> Any:
    """The output as JSON: undefined members are left out; anything that is no JSON is refused with its path."""
    return _clean(value, ())


def _clean(value: Any, path: tuple[Any, ...]) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise EvaluationError("MVU_JSON", f"expected JSON, found {value} at {_path_text(path)}")
    if len(path) > limits.VALUE_DEPTH.default:
        raise BudgetExceeded(limits.VALUE_DEPTH.name, limits.VALUE_DEPTH.default, limits.VALUE_DEPTH.unit)
    if kind is dict:
        ordered = ((key, value[key]) for key in js_key_order(value.keys()))
        return {key: _clean(item, (*path, key)) for key, item in ordered if item is not UNDEFINED}
    if isinstance(value, list):
        return [None if item is UNDEFINED else _clean(item, (*path, index)) for index, item in enumerate(value)]
    code = "MVU_JSON" if value is UNDEFINED else "MVU_SCHEMA_CODE"
    raise EvaluationError(code, f"expected JSON, found {describe(value)} at {_path_text(path)}")


def _path_text(path: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in path) or "the root"


# --- contexts ------------------------------------------------------------------------------------------------------

_ISSUE_KEYS = frozenset({"code", "path", "message"})


def check_issue(value: Any) -> None:
    """Versions 1 and 2: ``{code?: 'custom', path?, message?}`` only, within bounds (spec/mvu.md §5.5)."""
    if type(value) is not dict or set(value) - _ISSUE_KEYS or value.get("code", "custom") != "custom":
        raise EvaluationError(
            "MVU_SCHEMA_CODE", "expected addIssue({code?: 'custom', path?, message?}), found another form"
        )
    message = value.get("message", "")
    if not isinstance(message, str) or utf16_length(message) > limits.ISSUE_MESSAGE.default:
        raise EvaluationError(
            "MVU_SCHEMA_CODE", f"expected a message of at most {limits.ISSUE_MESSAGE.default} characters"
        )
    path = value.get("path", [])
    if not isinstance(path, list) or len(path) > limits.ISSUE_PATH.default:
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected a path of at most {limits.ISSUE_PATH.default} parts")
    for part in path:
        if isinstance(part, bool) or not isinstance(part, (str, int)):
            raise EvaluationError("MVU_SCHEMA_CODE", f"expected keys and indices in a path, found {describe(part)}")
        if part in ("__proto__", "prototype", "constructor"):
            raise EvaluationError("MVU_PATH", f"expected a safe path, found {part}")


def parse_context(value: Any, issues: list[Any], add: Any) -> HostObject:
    """The context that refinements and transforms get: ``value``, ``issues``, ``addIssue``."""
    context = HostObject({"value": value, "issues": issues, "addIssue": add, "path": []})

    def assign(name: str, new: Any) -> None:
        context.members[name] = new

    context.on_set = assign
    return context
