"""A plug-in that ships command helpers: ``innkeeper serve --plugin house_rules`` (with this folder on the path).

As a package, name it in its ``pyproject.toml`` instead:

    [project.entry-points."innkeeper.processors"]
    house-rules = "house_rules:install"

The helper is JavaScript and runs in the sandbox like any card's: it may take commands of a reply out, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# No reply may touch a field whose name begins with an underscore.
HIDDEN_FIELDS = """
eventOn('global_Mvu_initialized', () => {
  eventMakeLast(Mvu.events.COMMAND_PARSED, (variables, commands) => {
    for (let i = commands.length - 1; i >= 0; i -= 1) {
      if (commands[i].args[0].split('.').some((part) => part.startsWith('_'))) commands.splice(i, 1);
    }
  });
});
"""


def choose(resource: Mapping[str, Any]) -> str | None:
    """Every state that began at a character card gets the house rule."""
    return HIDDEN_FIELDS if resource.get("characterId") else None


def install(host: Any) -> None:
    """Called once at the start of the service."""
    host.choose_command_processor(choose)
