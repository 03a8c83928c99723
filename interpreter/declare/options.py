"""The last argument of Zod's constructors and methods: a message, or ``{error, message, abort, path, when, params}``."""

from __future__ import annotations

from typing import Any

from interpreter.budget import Run
from interpreter.declare.nodes import Check, Node
from interpreter.evaluate.operators import describe, is_callable
from interpreter.evaluate.values import ErrorValue, Thrown
from interpreter.javascript import UNDEFINED


def build_error(message: str) -> Thrown:
    """An exception that building the schema throws in Zod as well."""
    return Thrown(ErrorValue("Error", message))


def params(value: Any) -> dict[str, Any]:
    """Zod's parameters of a constructor or check, by name; a text is the error."""
    if value is UNDEFINED or value is None or value is False or value == "":
        return {}
    if isinstance(value, str):
        return {"error": value}
    if isinstance(value, dict):
        found = dict(value)
        if found.get("message", UNDEFINED) is not UNDEFINED:
            if found.get("error", UNDEFINED) is not UNDEFINED:
                raise build_error("Cannot specify both `message` and `error` params")
            found["error"] = found["message"]
        found.pop("message", None)
        return found
    return {}


def error_of(value: Any) -> Any:
    """The author's error of a constructor, or None."""
    error = params(value).get("error", UNDEFINED)
    return None if error is UNDEFINED else error


def check_params(value: Any) -> dict[str, Any]:
    """The common fields of a check."""
    found = params(value)
    error, when = found.get("error", UNDEFINED), found.get("when", UNDEFINED)
    return {
        "error": None if error is UNDEFINED else error,
        "abort": found.get("abort") is True,
        "when": when if is_callable(when) else None,
    }


def schema(value: Any, where: str) -> Node:
    """A schema argument, or the exception that Zod's code would throw sooner or later."""
    if isinstance(value, Node):
        return value
    raise build_error(f"{where}: expected a Zod schema, found {describe(value)}")


def with_checks(node: Node, *checks: Check) -> Node:
    """The schema with more checks at the end of its chain."""
    from dataclasses import replace

    return replace(node, checks=(*node.checks, *checks), meta=node.meta)


def charge(run: Run) -> None:
    """One schema node was made."""
    run.charge(1)
