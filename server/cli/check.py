"""Check a card, a declaration, a world package or a pack, and print every finding."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from interpreter import DeclarationError, compile_declaration
from runtime.assembly import now_ms
from runtime.cards import Card, read_card
from runtime.cards.png import SIGNATURE
from runtime.mvu import discovery, engine
from runtime.mvu.commands import parse_commands
from runtime.mvu.helper.detect import find_helper
from runtime.mvu.helper.process import process_reply
from runtime.mvu.playground import declaration_error
from runtime.values.patch import diff
from runtime.values.rows import InnkeeperError
from runtime.world.pack.report import check_pack, exit_status, github_line, text_line
from sandbox import ProcessSandbox
from server.cli.worlds import check_world

SAMPLE = (
    'A sample reply.\n<JSONPatch>[{"op": "replace", "path": "/sample", "value": 1}]</JSONPatch>\n_.set(\'sample\', 2);'
)


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper check``."""
    parser.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="a card (PNG, JSON), a declaration (.js, .ts, .txt), a world or pack folder",
    )
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    parser.add_argument("--format", choices=("text", "github"), default="text", help="how pack findings are printed")


def run(arguments: argparse.Namespace) -> int:
    """Exit status 0 without errors, 1 with errors, 2 when the input cannot be read."""
    path: Path = arguments.path
    if path.is_dir():
        if (path / "world.yaml").is_file():
            return check_world(path, as_json=arguments.json)
        return _check_pack(path, arguments)
    if path.name == "world.yaml":
        return check_world(path.parent, as_json=arguments.json)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InnkeeperError("CONFIG_INVALID", f"the file cannot be read: {error.strerror}: {path.name}") from None
    if raw.startswith(SIGNATURE) or path.suffix.lower() in (".png", ".json"):
        return check_card(read_card(raw), as_json=arguments.json)
    return check_declaration(raw, path.name, as_json=arguments.json)


def _check_pack(path: Path, arguments: argparse.Namespace) -> int:
    findings = check_pack(path)
    if arguments.json:
        print(json.dumps([finding.to_json() for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            print(github_line(finding) if arguments.format == "github" else text_line(finding))
        if arguments.format == "text":
            errors = sum(1 for finding in findings if finding.severity == "error")
            print(f"{path.name}: {errors} errors, {len(findings) - errors} other findings")
    return exit_status(findings)


def check_declaration(raw: bytes, name: str, *, as_json: bool) -> int:
    """A declaration's version, fields and warnings, or every fault with its place."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InnkeeperError("CONFIG_INVALID", f"the file is no UTF-8 text: byte {error.start}: {name}") from None
    try:
        schema = compile_declaration(text)
    except DeclarationError as error:
        refused = declaration_error(error)
        if as_json:
            print(
                json.dumps(
                    {"ok": False, "code": refused.code, "error": refused.message, "details": refused.details},
                    ensure_ascii=False,
                    indent=2,
                )
            )
        else:
            print(f"error {refused.code} {name}: {error}")
        return 1
    fields = [field.to_json() for field in schema.fields()]
    if as_json:
        print(
            json.dumps(
                {"ok": True, "interpreterVersion": schema.version, "fields": fields, "warnings": list(schema.warnings)},
                ensure_ascii=False,
                indent=2,
            )
        )
        return 0
    print(f"{name}: a declaration of interpreter version {schema.version}, {len(fields)} fields")
    for field in fields:
        print(f"  {field_line(field)}")
    for warning in schema.warnings:
        print(f"warning {warning}")
    for skipped in schema.skipped:
        print(f"skipped line {skipped['line']}: {' '.join(str(skipped['text']).split())[:80]}")
    return 0


def field_line(field: dict[str, Any]) -> str:
    """One field as a person reads it."""
    notes = [str(field.get("type", ""))]
    notes += [
        f"{key} {json.dumps(value, ensure_ascii=False)}"
        for key, value in field.items()
        if key not in ("path", "type", "description")
    ]
    if field.get("description"):
        notes.append(f"— {field['description']}")
    return f"{field['path'] or '(root)'}: {' '.join(notes)}"


def check_card(card: Card, *, as_json: bool) -> int:
    """What a card declares and whether each opening can begin; what its helper does to a sample reply."""
    described = discovery.describe_card(card)
    problems = _card_problems(described)
    openings: list[dict[str, Any]] = []
    variables = None
    try:
        variables = engine.initial_envelope(card, now_ms())
    except InnkeeperError as error:
        problems.append(f"{error.code}: {error.message}")
    if variables is not None:
        openings = [_opening(variables, index, text) for index, text in enumerate(card.greetings)]
        problems += [f"greeting {item['index']}: {item['error']}" for item in openings if "error" in item]
    helper = _helper_report(card, variables)
    if helper is not None and "error" in helper:
        problems.append(helper["error"])
    if as_json:
        answer = {"ok": not problems, "card": described, "openings": openings, "helper": helper, "problems": problems}
        print(json.dumps(answer, ensure_ascii=False, indent=2))
        return 1 if problems else 0
    print(f"{card.name} ({card.spec})")
    print(f"  InitVar      {len(card.initvar_entries)} entries")
    declaration = described["declaration"]
    version = (
        f", interpreter version {declaration['interpreterVersion']}" if "interpreterVersion" in declaration else ""
    )
    print(f"  declaration  {declaration['status']}{version}")
    print(
        f"  helper       {described['helper']['status']}"
        + (
            ""
            if helper is None or "error" in helper
            else f", {helper['listeners']} listener(s); a sample reply keeps {helper['kept']} of {helper['found']} commands"
        )
    )
    print(f"  world book   {len(card.world_book)} entries")
    for item in openings:
        print(
            f"  greeting {item['index']}   "
            + (
                f"refused: {item['error']}"
                if "error" in item
                else f"ready, {item['changed']} values changed by its update blocks"
            )
        )
    for problem in problems:
        print(f"error {problem}")
    print("no problem found" if not problems else f"{len(problems)} problem(s)")
    return 1 if problems else 0


def _card_problems(described: dict[str, Any]) -> list[str]:
    found = []
    for name in ("initvar", "declaration", "helper"):
        error = described[name].get("error")
        if error:
            found.append(
                f"{name}: {error.get('code')}: {error.get('message')}"
                if isinstance(error, dict)
                else f"{name}: {error}"
            )
    return found


def _opening(variables: dict[str, Any], index: int, text: str) -> dict[str, Any]:
    try:
        built = engine.greeting_envelope(variables, text, now_ms())
    except InnkeeperError as error:
        return {"index": index, "error": f"{error.code}: {error.message}"}
    return {"index": index, "changed": len(diff(variables["stat_data"], built["stat_data"]))}


def _helper_report(card: Card, variables: dict[str, Any] | None) -> dict[str, Any] | None:
    try:
        helper = find_helper(card.helper_texts)
    except InnkeeperError as error:
        return {"error": f"{error.code}: {error.message}"}
    if helper is None:
        return None
    sandbox = ProcessSandbox()
    try:
        listeners = sandbox.register("check", helper.source, helper.gate)
        outcome = process_reply(sandbox, "check", helper, SAMPLE, variables or {"stat_data": {}}, parse_commands)
    except Exception as error:
        return {"error": f"{getattr(error, 'code', 'MVU_COMMAND_HOOK_EXECUTION')}: {getattr(error, 'message', error)}"}
    finally:
        sandbox.close()
    return {"listeners": listeners, "found": 2, "kept": len(outcome.commands)}
