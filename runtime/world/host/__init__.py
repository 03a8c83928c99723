"""The host side of the world kernel (§7): everything between a player's text and ``match`` / ``turn``.

Pure functions over a ``Line`` (one session's Canon, role, opening, events and State); the service stores the results.
"""

from runtime.world.host.line import Answer, Fork, Line
from runtime.world.host.refusals import HostRefusal

__all__ = ["Answer", "Fork", "HostRefusal", "Line"]
