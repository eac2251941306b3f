"""Every metric of the server, declared once: its name, what it counts, and what its labels can be.

Recording does nothing until `collect` was called, which a server with an operations port does: without one, metrics
cost nothing and need no package. Values of labels are words of this program or of its bundle, never of a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_FAST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of buckets, in seconds."""
EVERY: dict[str, Metric] = {}
"""By name, in the order in which they are documented."""


@dataclass(eq=False)
class Metric:
    """A metric, under the name that `/metrics` has it."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    _bound: Any = None
    _children: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """What counts for each combination of labels: prometheus-client takes a lock to find it, for every record."""

    def __post_init__(self) -> None:
        EVERY[self.name] = self

    @property
    def kind(self) -> str:
        """Its type, as Prometheus has it."""
        return type(self).__name__.lower()

    def bind(self, made: Any) -> None:
        """Record by this from now on."""
        self._bound = made
        self._children.clear()

    def _of(self, labels: tuple[str, ...]) -> Any:
        if not labels:
            return self._bound
        if (child := self._children.get(labels)) is None:
            child = self._children[labels] = self._bound.labels(*labels)
        return child


class Counter(Metric):
    """Only grows, until the server starts again."""

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count something; `labels` in the order of the declaration."""
        if self._bound is not None:
            self._of(labels).inc(by)


class Gauge(Metric):
    """A value of this moment."""

    def set(self, value: float, *labels: str) -> None:
        """Note it; `labels` in the order of the declaration."""
        if self._bound is not None:
            self._of(labels).set(value)


class Histogram(Metric):
    """Durations in seconds, counted by buckets."""

    def observe(self, seconds: float, *labels: str) -> None:
        """Count a duration; `labels` in the order of the declaration."""
        if self._bound is not None:
            self._of(labels).observe(seconds)


TURNS = Counter(
    "quizglass_turns_total",
    "Turns that ended: `answered`, `abstained` (nothing was known), `refused` (the request could not be taken), "
    "`failed`, or `cancelled` by their client. `plan` is what was to be looked up; empty where a policy plans nothing.",
    ("policy", "plan", "outcome"),
)
TURN_SECONDS = Histogram(
    "quizglass_turn_seconds", "From the request to the end of a turn that was answered.", ("policy",)
)
FIRST_WORDS_SECONDS = Histogram(
    "quizglass_first_words_seconds", "From the request to the first words of the answer.", ("policy",)
)
STAGE_SECONDS = Histogram("quizglass_stage_seconds", "Each stage of a turn, as `done.timings` has it.", ("stage",))
ENGINE_SECONDS = Histogram(
    "quizglass_engine_seconds", "The part of a stage in which a model computed for it.", ("stage",)
)
TENANT_SECONDS = Counter(
    "quizglass_tenant_engine_seconds_total",
    "Seconds in which models computed for each tenant of tokens, questions, searches and imports; empty: for the "
    "server's own. Of the first hundred tenants each has a label, the rest together `others`.",
    ("tenant",),
)
QUEUE_SECONDS = Histogram("quizglass_queue_seconds", "Waiting for one of the `max_turns` places.")
SKIPPED = Counter(
    "quizglass_skipped_steps_total", "Steps that a turn left out, and why: `BUDGET`, `FAILED`.", ("stage", "reason")
)
RUNNING = Gauge("quizglass_turns_running", "Turns and searches that have a place.")
WAITING = Gauge("quizglass_turns_waiting", "Turns that wait for one.")
PLACES = Gauge("quizglass_turn_places", "Places that there are: `max_turns`.")
REFUSALS = Counter(
    "quizglass_refusals_total",
    "Requests and messages that ended with an error, by the reason that the client was given; over HTTP also "
    "`HTTP_` and a status, for what no service answers.",
    ("reason",),
)
CACHE = Counter(
    "quizglass_cache_lookups_total",
    "Lookups in caches, `hit` or `miss`: `pictures` (decoded), their printed `words` and `vectors`, what vision "
    "`towers` of deciders make of them (a miss is a run), `answers` of searches, and answers of `sources` beside the "
    "store.",
    ("cache", "result"),
)
CACHE_BYTES = Gauge(
    "quizglass_cache_bytes",
    "Memory of caches, which grows up to their bounds: decoded `pictures` and the `forms` of them that models take "
    "(`picture_cache_bytes`), `rows` of the knowledge and `answers` of searches (`search_cache_bytes`).",
    ("cache",),
)
PROMPT_TOKENS = Counter(
    "quizglass_prompt_tokens_total",
    "Tokens of prompts: those that the generator `read`, and those that it had `reused` from a prompt before.",
    ("how",),
)
WRITTEN_TOKENS = Counter("quizglass_written_tokens_total", "Tokens that the generator wrote.")
RESTARTS = Counter("quizglass_generator_restarts_total", "Deaths of the generator process, each followed by a restart.")
SESSIONS = Gauge("quizglass_sessions", "Wearables' sessions that are open.")
OPENED = Counter(
    "quizglass_sessions_opened_total",
    "Links to sessions: of a `new` one, or of an earlier one of which `all`, the `dialogue` or `none` was still there.",
    ("restored",),
)
READY = Gauge(
    "quizglass_ready",
    "1 where a part can do its work; `server` is 1 while requests are welcome, `source.NAME` while it answers.",
    ("part",),
)
ENTRIES = Gauge("quizglass_knowledge_entries", "Entries of the knowledge.")
EXPIRY = Gauge("quizglass_certificate_expiry_timestamp_seconds", "When the certificate expires; 0 where there is none.")
DRAIN = Gauge(
    "quizglass_drain_step",
    "0 not stopping, 1 withdrawn and still answering, 2 running turns finish, 3 stores are written and closed, "
    "4 engines end.",
)
BUILD = Gauge("quizglass_build_info", "Always 1; what serves.", ("version", "bundle"))


def collected() -> bool:
    """Whether anything is recorded."""
    return TURNS._bound is not None


def collect() -> CollectorRegistry:
    """Begin to record, anew; gives what renders as `/metrics`.

    Raises:
        ImportError: prometheus-client is not installed.
    """
    import prometheus_client as prometheus

    registry = prometheus.CollectorRegistry()
    kinds: Mapping[str, Any] = {
        "counter": prometheus.Counter,
        "gauge": prometheus.Gauge,
        "histogram": prometheus.Histogram,
    }
    for metric in EVERY.values():
        buckets = {"buckets": _FAST} if metric.kind == "histogram" else {}
        metric.bind(kinds[metric.kind](metric.name, metric.help, metric.labels, registry=registry, **buckets))
    prometheus.ProcessCollector(registry=registry)
    return registry
