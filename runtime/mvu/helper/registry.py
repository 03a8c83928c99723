"""Who may process the commands of a resource: one helper each, with a receipt (spec/mvu.md §6 Registration, §0.14).

A newer registration replaces the older; an old disposer cannot remove a newer one; who loses a race is told
``MVU_USAGE_CANCELLED``. Reads never fail because of a helper: ``command_processor`` answers with the receipt or with
the error, and a helper that failed for good is not run again until its text changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.mvu.helper.detect import Helper, detect_helper
from runtime.mvu.helper.errors import USAGE_CANCELLED, HelperError, from_sandbox
from runtime.mvu.helper.limits import RETRY_S
from runtime.values.canonical import sha
from sandbox.calls import Sandbox
from sandbox.errors import DECLARATION, DISPOSED, SandboxError

PROTOCOL_VERSION = 1
_MISSING = "MVU_MISSING"


@dataclass(frozen=True, slots=True)
class Registration:
    """One live registration; ``generation`` changes with every replacement and can be part of a lease."""

    resource_id: str
    registration_id: str
    helper: Helper
    listener_count: int
    generation: int
    explicit: bool

    def receipt(self) -> dict[str, Any]:
        """What proves the registration, and nothing about any change of state."""
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "registered": True,
            "registrationId": self.registration_id,
            "source": self.helper.source,
            "sha256": self.helper.sha256,
            "listenerCount": self.listener_count,
        }


@dataclass(frozen=True, slots=True)
class Registered:
    """The answer to an explicit registration: its ``receipt`` and the function that takes it back."""

    receipt: Mapping[str, Any]
    dispose: Callable[[], None]


@dataclass(slots=True)
class _Slot:
    """What a resource has: a ticket counter, the live registration, the last failure, and a load that is under way."""

    tickets: int = 0
    current: Registration | None = None
    failure: tuple[Helper, HelperError, float] | None = None
    loading: threading.Lock = field(default_factory=threading.Lock)


def failure_record(helper: Helper, error: HelperError) -> dict[str, Any]:
    """What a record carries in place of a receipt when its helper could not be registered (spec/mvu.md §0.14)."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "registered": False,
        "source": helper.source,
        "sha256": helper.sha256,
        "error": {"code": error.code, "message": error.message},
    }


def receipt_confirms(receipt: Mapping[str, Any] | None, source: str) -> bool:
    """Whether ``receipt`` allows a card runtime to leave its helper ``source`` out of its own execution (§0.14)."""
    if receipt is None or receipt.get("registered") is not True or receipt.get("source") != source:
        return False
    count = receipt.get("listenerCount")
    return bool(receipt.get("registrationId")) and isinstance(count, int) and count >= 1


class HelperRegistry:
    """The registrations of one process. ``deployment`` makes automatic ids the same in all workers of a deployment."""

    def __init__(
        self,
        sandbox: Sandbox,
        deployment: str,
        *,
        exists: Callable[[str], bool] = lambda _resource_id: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sandbox = sandbox
        self._deployment = deployment
        self._exists = exists
        self._clock = clock
        self._slots: dict[str, _Slot] = {}
        self._lock = threading.Lock()
        self._explicit = 0
        self._closed = False

    # -- explicit --------------------------------------------------------------------------------------------------

    def register_command_processor(self, resource_id: str, source: str) -> Registered:
        """Register ``source`` for one resource, in place of whatever is registered (a trusted host's call)."""
        if not self._exists(resource_id):
            raise HelperError(_MISSING, f"expected a known resource, found none with the id {resource_id!r}")
        helper = detect_helper(source)
        if helper is None:
            raise HelperError(
                DECLARATION,
                "expected a command helper: a script that calls eventOn('global_Mvu_initialized', …) "
                "and names Mvu.events.COMMAND_PARSED",
            )
        registration = self._register(resource_id, helper, explicit=True)
        return Registered(registration.receipt(), lambda: self._dispose(registration))

    def _register(self, resource_id: str, helper: Helper, *, explicit: bool) -> Registration:
        ticket = self._ticket(resource_id)
        try:
            count = self.sandbox.register(resource_id, helper.source, helper.gate)
        except SandboxError as error:
            raise from_sandbox(error) from None
        with self._lock:
            slot = self._slots.get(resource_id)
            if self._closed or slot is None or slot.tickets != ticket:
                raise HelperError(
                    USAGE_CANCELLED, f"the registration for {resource_id} was replaced or removed meanwhile"
                )
            registration_id = self._registration_id(resource_id, helper, explicit=explicit)
            registration = Registration(resource_id, registration_id, helper, count, ticket, explicit)
            slot.current = registration
            slot.failure = None
            return registration

    def _ticket(self, resource_id: str) -> int:
        with self._lock:
            if self._closed:
                raise HelperError(DISPOSED, "the registry of command helpers is closed")
            slot = self._slots.setdefault(resource_id, _Slot())
            slot.tickets += 1
            return slot.tickets

    def _registration_id(self, resource_id: str, helper: Helper, *, explicit: bool) -> str:
        self._explicit += explicit
        return sha([self._deployment, resource_id, helper.sha256, self._explicit if explicit else 0])

    def _dispose(self, registration: Registration) -> None:
        with self._lock:
            slot = self._slots.get(registration.resource_id)
            if slot is not None and slot.current is registration:
                slot.current = None
                slot.tickets += 1

    # -- automatic -------------------------------------------------------------------------------------------------

    def ensure(self, resource_id: str, helper: Helper, *, patient: bool = False) -> Registration:
        """The live registration of a resource, made from its card's ``helper`` if there is none.

        A failure that is worth another try gets one at once, or for ``patient`` callers after a while. An explicit registration wins over the card's helper. Concurrent reads wait for one load and share its answer.
        """
        with self._lock:
            if self._closed:
                raise HelperError(DISPOSED, "the registry of command helpers is closed")
            slot = self._slots.setdefault(resource_id, _Slot())
        with slot.loading:
            with self._lock:
                current, failure = slot.current, slot.failure
            if current is not None and (current.explicit or current.helper == helper):
                return current
            if failure is not None and failure[0] == helper and not self._try_again(failure[1], failure[2], patient):
                raise failure[1]
            try:
                return self._register(resource_id, helper, explicit=False)
            except HelperError as error:
                with self._lock:
                    slot.failure = (helper, error, self._clock())
                    if slot.current is current and error.code != USAGE_CANCELLED:
                        slot.current = None
                raise

    def _try_again(self, error: HelperError, failed_at: float, patient: bool) -> bool:
        return error.retryable and (not patient or self._clock() - failed_at >= RETRY_S.default)

    def command_processor(self, resource_id: str, helper: Helper | None) -> dict[str, Any] | None:
        """What a record or snapshot carries as ``commandProcessor``; never raises (spec/mvu.md §0.14)."""
        current = self.current(resource_id)
        if current is not None and current.explicit:
            return current.receipt()
        if helper is None:
            return None
        try:
            return self.ensure(resource_id, helper, patient=True).receipt()
        except HelperError as error:
            return failure_record(helper, error)

    # -- looking and ending ----------------------------------------------------------------------------------------

    def current(self, resource_id: str) -> Registration | None:
        """The live registration of a resource."""
        with self._lock:
            slot = self._slots.get(resource_id)
            return None if slot is None else slot.current

    def generation(self, resource_id: str) -> int:
        """A counter that changes whenever the resource's registration may have changed; for leases."""
        with self._lock:
            slot = self._slots.get(resource_id)
            return 0 if slot is None else slot.tickets

    def forget(self, resource_id: str) -> None:
        """End a resource's registration: its helper was switched off or its source went away."""
        with self._lock:
            slot = self._slots.get(resource_id)
            if slot is not None and (slot.current is not None or slot.failure is not None):
                slot.current = None
                slot.failure = None
                slot.tickets += 1

    def close(self) -> None:
        """End every registration; later ones are refused with ``MVU_COMMAND_HOOK_DISPOSED``."""
        with self._lock:
            self._closed = True
            self._slots.clear()
