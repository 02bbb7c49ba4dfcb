"""Counters and histograms of one server, in Prometheus' text format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ServerMetrics:
    """The metrics of one server; they are not shared with another server in the same process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "clearhead_requests", "Answered requests.", ("path", "method", "status"), registry=registry
        )
        self.seconds = Histogram(
            "clearhead_request_seconds", "Time from a request to its answer.", ("path",), registry=registry,
            buckets=_SECONDS,
        )  # fmt: skip
        self.sentences = Counter("clearhead_sentences", "Translated sentences.", registry=registry)
        self.batch_sentences = Histogram(
            "clearhead_batch_sentences", "Lines that were translated together.", registry=registry, buckets=_SENTENCES
        )
        self.batch_seconds = Histogram(
            "clearhead_batch_seconds", "Time of the translation of a batch.", registry=registry, buckets=_SECONDS
        )
        self.waiting = Gauge("clearhead_waiting_sentences", "Sentences that wait or are translated.", registry=registry)
        self.refused = Counter("clearhead_refused", "Requests refused because the queue was full.", registry=registry)
        self.late = Counter("clearhead_late", "Requests that exceeded their time limit.", registry=registry)
        self.cancelled = Counter(
            "clearhead_cancelled", "Requests that left the queue because the client had gone.", registry=registry
        )

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self.registry)
