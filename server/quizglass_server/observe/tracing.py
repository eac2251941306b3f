"""Spans for OpenTelemetry: one for each turn, and one for each of its stages. The one module that knows it.

All that a span can have is set here: names, times, numbers, and words of this program. Nothing of a question, an
answer, a picture or a token is handed to this module. Without a collector nothing is loaded, and spans cost nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

TRACEPARENT = "traceparent"
_SYSTEM, _OPERATION = "gen_ai.provider.name", "gen_ai.operation.name"
_READ, _WRITTEN = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
_TURN, _POLICY, _PLAN = "quizglass.turn.id", "quizglass.policy", "quizglass.plan"
_OUTCOME, _REASON, _ENGINE = "quizglass.outcome", "quizglass.reason", "quizglass.engine_seconds"
ATTRIBUTES = (_SYSTEM, _OPERATION, _READ, _WRITTEN, _TURN, _POLICY, _PLAN, _OUTCOME, _REASON, _ENGINE)
"""Every attribute that a span can have. Those of gen_ai are as in OpenTelemetry's conventions 1.37."""
_QUEUE, _TIMEOUT_S = 2048, 5.0
_parent: ContextVar[str] = ContextVar("traceparent", default="")
_tracer: Any = None
_provider: Any = None


class TracedSpan:
    """A span that is under way; one that is not recorded ignores its attributes."""

    __slots__ = ("_span",)

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def used(self, engine_s: float, read: int, written: int) -> None:
        """Note what models did: seconds, tokens of prompts, and tokens that were written."""
        if self._span is not None:
            self._span.set_attribute(_ENGINE, engine_s)
            if read or written:
                known = {_SYSTEM: "quizglass", _OPERATION: "chat", _READ: read, _WRITTEN: written}
                self._span.set_attributes(known)

    def ended(self, plan: str, outcome: str, reason: str) -> None:
        """Note how a turn ended, in words of `quizglass_turns_total` and of errors."""
        if self._span is not None:
            self._span.set_attributes({_PLAN: plan, _OUTCOME: outcome, _REASON: reason})


_NONE = TracedSpan()


def begin(url: str, exporter: SpanExporter | None = None) -> None:
    """Send spans from now on.

    Args:
        url: of a collector, which takes OTLP over HTTP; spans are dropped where it does not answer.
        exporter: takes them in its place.

    Raises:
        ImportError: OpenTelemetry's SDK is not installed.
    """
    global _tracer, _provider
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    sending = exporter or OTLPSpanExporter(f"{url.rstrip('/')}/v1/traces", timeout=_TIMEOUT_S)
    _provider = TracerProvider(resource=Resource.create({"service.name": "quizglass"}), shutdown_on_exit=False)
    _provider.add_span_processor(BatchSpanProcessor(sending, max_queue_size=_QUEUE))
    _tracer = _provider.get_tracer("quizglass")


def end(seconds: float = 2.0) -> None:
    """Send what waits, for so long at most, and no more from then on."""
    global _tracer, _provider
    provider, _tracer, _provider = _provider, None, None
    if provider is not None:
        sending = Thread(target=provider.shutdown, name="last spans", daemon=True)  # which may wait for half a minute
        sending.start()
        sending.join(seconds)


@contextmanager
def carried(traceparent: str | None) -> Iterator[None]:
    """Turns of the block belong to the caller's trace, as its `traceparent` says; what is none is passed over."""
    if _tracer is None or not traceparent:
        yield
        return
    before = _parent.set(traceparent)
    try:
        yield
    finally:
        _parent.reset(before)


@contextmanager
def turn(id: str, policy: str) -> Iterator[TracedSpan]:
    """The span of a turn, in the trace of whoever asked."""
    if _tracer is None:
        yield _NONE
        return
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    parent = TraceContextTextMapPropagator().extract({TRACEPARENT: _parent.get()})
    about = {_TURN: id, _POLICY: policy}
    with _begun("turn", context=parent, attributes=about) as span:
        yield span


@contextmanager
def stage(name: str) -> Iterator[TracedSpan]:
    """The span of a stage, within that of its turn; work ahead of questions has none."""
    if _tracer is None or not _within_turn():
        yield _NONE
        return
    with _begun(name) as span:
        yield span


@contextmanager
def _begun(name: str, **given: Any) -> Iterator[TracedSpan]:
    # What an exception says may be of a request.
    with _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False, **given) as span:
        yield TracedSpan(span)


def _within_turn() -> bool:
    from opentelemetry.trace import get_current_span

    return bool(get_current_span().get_span_context().is_valid)


def outgoing() -> Mapping[str, str]:
    """Headers by which whoever is asked next belongs to the trace; none without one."""
    headers: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
        headers.pop("tracestate", None)
    return headers
