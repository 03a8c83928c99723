"""Show or apply a new declaration for a running session."""

from __future__ import annotations

import argparse
import json
import uuid
from pathlib import Path

from runtime.assembly import Runtime, now_ms
from runtime.ledger.contract import Row, Transaction
from runtime.mvu import migration, resources
from runtime.mvu.scopes import TraceScope
from runtime.sessions import store
from runtime.values.rows import InnkeeperError
from server.cli.apply import print_changes
from server.cli.store import add_data_dir, opened


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper migrate``."""
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("declaration", type=Path, metavar="FILE", help="the new declaration")
    parser.add_argument("--dry-run", action="store_true", help="show what would be kept, defaulted, dropped, refused")
    parser.add_argument("--json", action="store_true", help="the plan as JSON")
    add_data_dir(parser)


def _the_resource(tx: Transaction, session_id: str) -> Row:
    session = store.session_row(tx, session_id)
    found = [row for row in resources.session_resources(tx, session) if not resources.is_shared(row)]
    if len(found) != 1:
        raise InnkeeperError(
            "MVU_AMBIGUOUS", f"expected one active state in session {session_id!r}, found {len(found)}"
        )
    return found[0]


def run(arguments: argparse.Namespace) -> int:
    """Exit status 0 when the declaration accepts the values, 1 when it refuses them."""
    try:
        source = arguments.declaration.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InnkeeperError("CONFIG_INVALID", f"the declaration cannot be read: {error}") from None
    with opened(arguments) as runtime:
        plan = _plan(runtime, arguments.session, source)
        if arguments.json:
            print(json.dumps(plan, ensure_ascii=False, indent=2))
        else:
            _print(plan)
        if not plan["accepted"]:
            return 1
        if not arguments.dry_run:
            answer = _apply(runtime, arguments.session, source)
            print(
                f"applied as revision {answer['revision']} of {answer['resourceId']}; the version before stays in the history"
            )
    return 0


def _plan(runtime: Runtime, session_id: str, source: str) -> dict[str, object]:
    def job(tx: Transaction) -> dict[str, object]:
        resource = _the_resource(tx, session_id)
        return migration.plan(tx.load_content(resource["current_content"]), source, now_ms())

    return runtime.ledger.read(job)


def _apply(runtime: Runtime, session_id: str, source: str) -> dict[str, object]:
    def job(tx: Transaction) -> dict[str, object]:
        resource = _the_resource(tx, session_id)
        scope = TraceScope(session_id)
        return migration.migrate(tx, resource, source, resource["revision"], str(uuid.uuid4()), scope, now_ms())

    return runtime.ledger.write(job)


def _print(plan: dict[str, object]) -> None:
    print(f"interpreter version {plan['interpreterVersion']}, {plan['kept']} values kept")
    for name in ("defaulted", "dropped", "changed"):
        rows = plan[name]
        assert isinstance(rows, list)
        if rows:
            print(f"{name}: {len(rows)}")
            print_changes(rows)
    refused = plan["refused"]
    assert isinstance(refused, list)
    for issue in refused:
        print(f"refused  {'.'.join(str(part) for part in issue.get('path', []))}: {issue.get('message')}")
