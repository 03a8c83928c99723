"""The limits of helper detection (spec/mvu.md §1.7); those of execution are the sandbox's."""

from __future__ import annotations

from runtime.values.rows import Limit

GATE_NAME_UNITS = Limit(
    "helper.gate_name", 128, "UTF-16 units", "the name of a helper's gate object", "MVU_COMMAND_HOOK_DECLARATION"
)
DETECTED_TEXTS = Limit("helper.detected", 256, "texts", "detections that are remembered", "MVU_COMMAND_HOOK_LIMIT")
RETRY_S = Limit(
    "helper.retry", 30, "seconds", "reads of a state whose helper a budget stopped", "MVU_COMMAND_HOOK_EXECUTION"
)

LIMITS: tuple[Limit, ...] = (GATE_NAME_UNITS, DETECTED_TEXTS, RETRY_S)
