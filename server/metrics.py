"""What ``/metrics`` tells in Prometheus text."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """The counters of one server; a registry of its own, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "innkeeper_requests", "Answered calls", ("method", "path", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "innkeeper_request_seconds", "Time per call", ("method", "path"), registry=self.registry
        )
        self.streams = Gauge("innkeeper_event_streams", "Open event streams", registry=self.registry)

    def observe(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count one answered call; ``path`` is the route's template, never a caller's text."""
        self._calls.labels(method, path, str(status)).inc()
        self._seconds.labels(method, path).observe(seconds)

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self.registry)
