"""Stateless application and declaration checks: what ``/mvu/apply`` and ``/mvu/declaration`` answer (spec/http.md, MVU)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpreter import CompiledSchema, DeclarationError, compile_declaration
from runtime.mvu import engine, envelope, initvar
from runtime.mvu.apply import ApplyError
from runtime.mvu.commands import DIALECTS, CommandError, parse_commands
from runtime.mvu.helper.detect import detect_helper
from runtime.mvu.helper.process import process_reply
from runtime.mvu.processors import FilterOutcome
from runtime.values.rows import InnkeeperError
from sandbox import Sandbox


def _text(body: Mapping[str, Any], name: str, *, required: bool = False) -> str | None:
    value = body.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise InnkeeperError("HOST_REQUEST", f"expected {name} as a string, found {type(value).__name__}")
    return value


def compiled(source: str) -> CompiledSchema:
    """Compile a declaration; its faults as one ``InnkeeperError`` with line, column and the nearest supported form."""
    try:
        return compile_declaration(source)
    except DeclarationError as error:
        raise declaration_error(error) from None


def declaration_error(error: DeclarationError) -> InnkeeperError:
    """A refused declaration as the error body shows it."""
    details: dict[str, Any] = {}
    for name in ("line", "column", "construct", "nearest", "excerpt"):
        value = getattr(error, name, None)
        if value is not None:
            details[name] = value
    faults = getattr(error, "faults", None)
    if faults:
        details["faults"] = [fault.to_json() if hasattr(fault, "to_json") else fault for fault in faults]
    return InnkeeperError(error.code, str(getattr(error, "message", error)), details)


def _start(body: Mapping[str, Any], clock: int) -> dict[str, Any]:
    """The variables before the reply: given ones, or InitVar and declaration, then the greeting."""
    given = body.get("variables")
    declaration = _text(body, "declaration")
    if given is not None and body.get("initvar") is not None:
        raise InnkeeperError("HOST_REQUEST", "expected either variables or initvar, found both")
    if given is not None:
        if not isinstance(given, dict):
            raise InnkeeperError("HOST_REQUEST", f"expected variables as an object, found {type(given).__name__}")
        content = given if "stat_data" in given else {"stat_data": given}
        if declaration is not None:
            content = {**content, "mvu_schema": compiled(declaration).descriptor()}
            content.pop("schema", None)
        variables = engine.validate_edit(envelope.normalise(content), clock)
    else:
        data = _initvar(body.get("initvar"))
        if declaration is not None:
            compiled(declaration)
        if data is None and declaration is None:
            raise InnkeeperError(
                "HOST_REQUEST", "expected initvar, variables or declaration: there is nothing to begin with"
            )
        variables = engine.build_envelope(data, declaration, clock)
    greeting = _text(body, "greeting")
    return variables if greeting is None else engine.greeting_envelope(variables, greeting, clock)


def _initvar(raw: Any) -> dict[str, Any] | None:
    if raw is None:
        return None
    if isinstance(raw, dict):
        return raw
    entries = raw if isinstance(raw, list) else [raw]
    if not all(isinstance(entry, str) for entry in entries):
        raise InnkeeperError("HOST_REQUEST", "expected initvar as a text, a list of texts or an object")
    return initvar.load_initvar(entries)


def _filtered(
    body: Mapping[str, Any], variables: dict[str, Any], reply: str, dialect: str, sandbox: Sandbox | None, owner: str
) -> FilterOutcome | None:
    source = _text(body, "helper")
    if source is None:
        return None
    helper = detect_helper(source)
    if helper is None:
        raise InnkeeperError("MVU_COMMAND_HOOK_DECLARATION", "the helper registers no COMMAND_PARSED listener")
    if sandbox is None:
        raise InnkeeperError("MVU_COMMAND_HOOK_DISPOSED", "this service runs without a sandbox: helpers cannot run")
    parsed: list[Any] = []

    def parse(text: str) -> Any:
        parsed.append(parse_commands(text, dialect=dialect))
        return parsed[-1]

    outcome = process_reply(sandbox, owner, helper, reply, variables, parse, user_text=_text(body, "userText") or "")
    return FilterOutcome("", 0, outcome.commands, outcome.dropped, outcome.restored, parsed[-1] if parsed else None)


def apply_reply(body: Mapping[str, Any], *, clock: int, sandbox: Sandbox | None, owner: str) -> dict[str, Any]:
    """``POST /mvu/apply``: every command with its status, the values before and after, the refused values as issues.

    A reply's fatal error is an answer too: ``error`` names it, ``after`` equals ``before``.
    """
    reply = _text(body, "reply", required=True) or ""
    dialect = _text(body, "dialect") or "strict"
    if dialect not in DIALECTS:
        raise InnkeeperError("HOST_REQUEST", f"expected dialect as one of {', '.join(DIALECTS)}, found {dialect!r:.80}")
    variables = _start(body, clock)
    answer: dict[str, Any] = {"commands": [], "ignored": [], "issues": [], "changes": []}
    version = envelope.version_of(variables)
    if version is not None:
        answer["interpreterVersion"] = version
    before = engine.served(variables, None)
    after = before
    try:
        outcome = _filtered(body, variables, reply, dialect, sandbox, owner)
        update = engine.update(variables, reply, clock=clock, outcome=outcome, dialect=dialect)
    except (ApplyError, CommandError) as error:
        answer["error"] = {"code": error.code, "error": error.message, "details": error.details}
        answer["commands"] = _lines_of(error)
    else:
        after = update.shown or engine.served(update.variables, variables)
        answer.update(commands=update.commands, ignored=update.ignored, changes=update.changes)
        answer["status"] = update.status
    answer["issues"] = [issue for command in answer["commands"] for issue in command.get("issues", [])]
    answer["before"], answer["after"] = before, after
    return answer


def _lines_of(error: ApplyError | CommandError) -> list[dict[str, Any]]:
    if isinstance(error, ApplyError):
        return [receipt.to_json() for receipt in error.receipts]
    return [
        {
            "index": command.order,
            "span": [command.start, command.end],
            "type": command.type,
            "path": command.arguments()[0],
            "args": command.arguments(),
            "source": command.source,
            "status": "refused",
            "code": error.code,
            "message": "nothing of the reply is kept: it has a fatal error",
        }
        for command in error.parsed.commands
    ]


_SAMPLE_DEPTH = 16


def sample_value(schema: Any, depth: int = 0) -> Any:
    """A plain value that a JSON Schema describes: defaults, first choices, least numbers; a guess that is parsed after."""
    if not isinstance(schema, dict) or depth > _SAMPLE_DEPTH:
        return None
    for name in ("default", "const"):
        if name in schema:
            return schema[name]
    if schema.get("enum"):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return sample_value(schema[name][0], depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        wanted = schema.get("required", [])
        return {
            name: sample_value(part, depth + 1) for name, part in schema.get("properties", {}).items() if name in wanted
        }
    if kind == "array":
        return [sample_value(schema.get("items"), depth + 1) for _ in range(int(schema.get("minItems", 0)))]
    if kind in ("number", "integer"):
        low, high = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1), schema.get("maximum")
        return low if high is None or low <= high else high
    if kind == "string":
        return "x" * int(schema.get("minLength", 0))
    return False if kind == "boolean" else None


def describe_declaration(body: Mapping[str, Any], *, clock: int) -> dict[str, Any]:
    """``POST /mvu/declaration``: fields, JSON Schema and a sample of what the declaration makes of ``{}``."""
    schema = compiled(_text(body, "source", required=True) or "")
    result = schema.parse({}, clock=clock)
    if not result.ok:
        guess = schema.parse(sample_value(schema.json_schema(io="input")), clock=clock)
        result = guess if guess.ok else result
    return {
        "interpreterVersion": schema.version,
        "fields": [field.to_json() for field in schema.fields()],
        "jsonSchema": schema.json_schema(),
        "sample": result.value if result.ok else None,
        "sampleIssues": [] if result.ok else [issue.to_json() for issue in result.issues],
        "warnings": list(schema.warnings),
        "skipped": list(schema.skipped),
    }
