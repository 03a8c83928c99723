"""The limits that the prelude checks by itself, as the JSON text that it is configured with."""

from __future__ import annotations

import json

from sandbox.limits import Budget


def prelude_settings(budget: Budget) -> str:
    """The text for the prelude's ``configure``."""
    return json.dumps(
        {
            "listeners": budget.listeners,
            "commands": budget.output_commands,
            "output": budget.output_units,
            "message": budget.message_units,
            "userText": budget.user_text_units,
            "block": budget.block_units,
            "chunk": budget.chunk_units,
        }
    )
