"""``schema.parse(value)`` and ``schema.safeParse(value)`` inside author functions (spec/zod.md §4.3)."""

from __future__ import annotations

from typing import Any

from interpreter.budget import Run
from interpreter.compile.exact import ExactCompiler
from interpreter.compile.payload import Payload, finalize_all
from interpreter.declare import nodes as n
from interpreter.declare.methods import PARSERS
from interpreter.evaluate.values import ErrorValue, Thrown


def _parse(run: Run, node: n.Node, value: Any) -> Payload:
    run.depth += 1
    try:
        if run.depth > 32:
            run.exhausted()
        compiled = run.parsers.get(id(node))
        if compiled is None:
            run.charge(16)
            compiled = run.parsers[id(node)] = (node, ExactCompiler().compile(node))
        payload = Payload(value)
        compiled[1](payload, run)
        return payload
    finally:
        run.depth -= 1


def _zod_error(issues: list[dict[str, Any]]) -> ErrorValue:
    from interpreter.javascript import js_json_text

    message = js_json_text(issues, "  ", str)
    return ErrorValue("ZodError", message, {"issues": issues})


def safe_parse(run: Run, node: n.Node, value: Any) -> dict[str, Any]:
    """``safeParse``: ``{success, data}`` or ``{success, error}``."""
    payload = _parse(run, node, value)
    if payload.issues:
        return {"success": False, "error": _zod_error(finalize_all(run, payload.issues))}
    return {"success": True, "data": payload.value}


def parse(run: Run, node: n.Node, value: Any) -> Any:
    """``parse``: the output, or a thrown error."""
    payload = _parse(run, node, value)
    if payload.issues:
        raise Thrown(_zod_error(finalize_all(run, payload.issues)))
    return payload.value


PARSERS["parse"] = parse
PARSERS["safeParse"] = safe_parse
