"""Usage policies: who may keep a reply from changing state, or a state from reaching the model (spec/mvu.md §10)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.values.rows import InnkeeperError

MANAGER = "dsh-memory-manager"
CHAINS: Mapping[str, tuple[str, ...]] = {
    "assistant_message_committed": ("parse_mvu_update", "validate_update", "apply_update"),
    "before_model_request": ("read_content", "render_state_and_update_instructions", "provide_to_model"),
    "card_variable_update": ("validate_card_update", "apply_card_update"),
}
Handler = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the handlers decided together; ``leases`` must all answer ``True`` right before the commit."""

    enabled: bool
    config_revision: int | None = None
    reason: str | None = None
    leases: tuple[Callable[[], object], ...] = ()
    epoch: int = 0

    def current(self, policy: UsagePolicy) -> bool:
        """Whether the decision still holds."""
        return self.epoch == policy.epoch and all(_holds(lease) for lease in self.leases)


def _holds(lease: Callable[[], object]) -> bool:
    try:
        return lease() is True
    except Exception:  # a lease that cannot be asked does not hold
        return False


@dataclass(frozen=True, slots=True)
class _Registration:
    handler: Handler
    provider_id: str | None


class UsagePolicy:
    """The registered handlers of one service; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registrations: list[_Registration] = []
        self.epoch = 0

    def register(self, handler: Handler, provider_id: str | None = None) -> Callable[[], None]:
        """Add a handler; only ``dsh-memory-manager`` is legal as a provider. Returns a disposer."""
        if provider_id not in (None, MANAGER):
            raise InnkeeperError("MVU_CONFIG", f"expected providerId {MANAGER!r} or none, found {provider_id!r:.80}")
        registration = _Registration(handler, provider_id)
        with self._lock:
            self._registrations.append(registration)
            self.epoch += 1

        def dispose() -> None:
            with self._lock:
                if registration in self._registrations:
                    self._registrations.remove(registration)
                    self.epoch += 1

        return dispose

    def end(self) -> None:
        """Forget all handlers."""
        with self._lock:
            self._registrations.clear()
            self.epoch += 1

    @property
    def mode(self) -> str:
        """The effective management mode: ``managed`` while a manager is registered, else ``native``."""
        with self._lock:
            return "managed" if any(r.provider_id == MANAGER for r in self._registrations) else "native"

    @property
    def has_handlers(self) -> bool:
        """Whether any handler is registered."""
        with self._lock:
            return bool(self._registrations)

    def decide(self, call: Mapping[str, Any], *, strict: bool = False) -> Decision:
        """Ask every handler; all answers are combined with *and*.

        ``strict`` is the rule of prompt dependencies: every handler must decide and give a lease.
        """
        with self._lock:
            registrations = list(self._registrations)
            epoch = self.epoch
        mode = "managed" if any(r.provider_id == MANAGER for r in registrations) else "native"
        leases: list[Callable[[], object]] = []
        config_revision: int | None = None
        denied: str | None = None
        for registration in registrations:
            manager = registration.provider_id == MANAGER
            answer = registration.handler({**call, "managementMode": mode})
            if answer is None:
                if manager:
                    denied = denied or "manager-decision-required"
                elif strict:
                    denied = denied or "usage-policy"
                continue
            if not isinstance(answer, Mapping) or not isinstance(answer.get("enabled"), bool):
                raise InnkeeperError("MVU_USAGE", "a usage handler must answer with a boolean enabled")
            check_strategy(answer.get("strategy"), str(call.get("on")))
            revision = answer.get("configRevision")
            if isinstance(revision, int) and not isinstance(revision, bool):
                config_revision = revision
            if not answer["enabled"]:
                denied = denied or str(answer.get("reason") or "usage-policy")
                continue
            lease = answer.get("checkCurrent")
            if lease is not None:
                leases.append(lease)
            elif manager or strict:
                denied = denied or "usage-policy"
        return Decision(denied is None, config_revision, denied, tuple(leases), epoch)


def check_strategy(strategy: object, on: str) -> None:
    """A strategy must be the exact chain of its trigger, as names or ``{operation}`` (spec/mvu.md §10)."""
    if strategy is None:
        return
    chain = CHAINS.get(on)
    if not isinstance(strategy, Sequence) or isinstance(strategy, str) or chain is None:
        raise InnkeeperError("MVU_CONFIG", f"expected the strategy of {on} as a list of {len(chain or ())} operations")
    names: list[object] = []
    for step in strategy:
        if isinstance(step, Mapping):
            if set(step) != {"operation"}:
                raise InnkeeperError(
                    "MVU_CONFIG", "expected a strategy step as a name or {operation}, without parameters"
                )
            names.append(step["operation"])
        else:
            names.append(step)
    if tuple(names) != chain:
        raise InnkeeperError("MVU_CONFIG", f"expected the strategy {' -> '.join(chain)}, found {names!r:.200}")


def validate_config(config: object) -> None:
    """A management configuration: ``type:'mvu-state'`` and the supported chains (spec/mvu.md §10)."""
    if not isinstance(config, Mapping) or config.get("type") != "mvu-state":
        raise InnkeeperError("MVU_CONFIG", "expected a configuration with type 'mvu-state'")
    for name, on in (("store", "assistant_message_committed"), ("retrieve", "before_model_request")):
        part = config.get(name)
        if part is None or part == {}:
            continue
        if not isinstance(part, Mapping) or part.get("on") != on:
            raise InnkeeperError("MVU_CONFIG", f"expected {name} to be absent, {{}} or on {on}")
        check_strategy(part.get("strategy"), on)
