"""The public face of the package, usable without a server (spec/mvu.md §0.16)."""

from __future__ import annotations

import runtime.mvu as face
from runtime.ledger.sqlite import SqliteLedger
from runtime.sessions.host import SessionHost
from tests.mvu.stage import card_bytes, refuses

METHODS = [
    "list",
    "read",
    "update",
    "copy",
    "history",
    "facts",
    "set_management_mode",
    "register_command_processor",
    "register_usage",
    "observe",
    "discover",
    "validate_config",
    "capture_session_seed",
    "install_session_seed",
    "checkpoint",
    "resolve_prompt_dependency",
    "get_management_defaults",
    "list_bound",
    "resolve_request",
    "ingest",
    "has_module",
    "flush",
    "dispose",
    "create_card_binding",
    "card_write",
    "revoke_card_binding",
]


def test_the_service_table_is_whole() -> None:
    for name in METHODS:
        method = getattr(face.MvuService, name)
        assert callable(method)
        assert method.__doc__, name


def test_commands_are_pure_functions() -> None:
    parsed = face.parse_commands("_.set('hp', 3);")
    variables = {"stat_data": {"hp": 1}, "schema": {"type": "object", "properties": {"hp": {"type": "number"}}}}
    applied = face.apply_commands(variables, parsed.commands)
    assert applied.variables["stat_data"] == {"hp": 3}
    assert variables["stat_data"] == {"hp": 1}
    assert face.character_mvu_id("a").startswith("mvu:character-")


def test_a_service_without_a_host_refuses_instances() -> None:
    ledger = SqliteLedger(None)
    host = SessionHost(ledger, deployment="d", new_id=iter(map(str, range(99))).__next__, now=lambda: 1)
    service = face.install(host)
    assert service.list() == []
    alone = face.MvuService(ledger, None)
    with refuses("MVU_SESSION_LEASE"):
        alone.capture_session_seed("s", "fork", 1)
    service.dispose()
    with refuses("MVU_DISPOSED"):
        service.discover("nobody")
    assert card_bytes()
    ledger.close()
