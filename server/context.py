"""What every endpoint works with: the runtime, the secrets, the counters, the open event streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runtime.assembly import Runtime
from server.config import Config
from server.metrics import Metrics
from server.security import Security
from server.streams import Streams


@dataclass(slots=True)
class Context:
    """One running server."""

    config: Config
    runtime: Runtime
    security: Security
    metrics: Metrics
    streams: Streams
    extras: dict[str, Any] = field(default_factory=dict)
