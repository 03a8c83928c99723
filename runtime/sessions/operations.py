"""Idempotent operations: the same id with the same request answers the stored receipt (spec/http.md, common rules)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.ledger.contract import Transaction
from runtime.ledger.tables import OPERATIONS
from runtime.sessions.limits import OPERATION_ID
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError


def check_operation_id(value: object, code: str = "HOST_OPERATION") -> str:
    """The operation id, or ``code`` when it is no string of 1 to 200 characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= OPERATION_ID.default:
        raise InnkeeperError(
            code, f"expected an operationId of 1 to {OPERATION_ID.default} characters, found {value!r:.80}"
        )
    return value


def once(
    tx: Transaction,
    scope: str,
    operation_id: str,
    request: Any,
    produce: Callable[[], dict[str, Any]],
    conflict: str = "HOST_IDEMPOTENCY_CONFLICT",
) -> dict[str, Any]:
    """Run ``produce`` once for this operation id and remember what it answered.

    ``request`` is a JSON value; another one under the same id raises ``conflict``.
    """
    fingerprint = sha(request)
    known = tx.get(OPERATIONS, scope, operation_id)
    if known is not None:
        if known["fingerprint"] != fingerprint:
            raise InnkeeperError(
                conflict, f"operation {operation_id!r} was used for another request; choose a new id for a new request"
            )
        receipt: dict[str, Any] = known["receipt"]
        return receipt
    answer = produce()
    row = {"scope": scope, "operation_id": operation_id, "fingerprint": fingerprint, "receipt": answer}
    tx.insert(OPERATIONS, row)
    return answer
