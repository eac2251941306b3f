"""What is asked on behalf of a turn belongs to its trace; without a collector there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quizglass_server.observe import tracing

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans() -> Iterator[list[str]]:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    pytest.importorskip("opentelemetry.exporter", reason="the extra otel is not installed")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, names = InMemorySpanExporter(), list[str]()
    tracing.begin("http://127.0.0.1:1", exporter)
    yield names
    tracing.end()
    names += [span.name for span in exporter.get_finished_spans()]


def test_without_a_collector_nothing_is_traced() -> None:
    with tracing.carried(f"00-{TRACE}-{PARENT}-01"), tracing.turn("id", "none"), tracing.stage("generate") as span:
        span.used(1.0, 2, 3)
        assert tracing.outgoing() == {}


def test_what_is_asked_within_a_stage_is_told_its_trace_and_the_stage(spans: list[str]) -> None:
    with tracing.carried(f"00-{TRACE}-{PARENT}-01"), tracing.turn("id", "none"):
        of_turn = tracing.outgoing()["traceparent"]
        with tracing.stage("generate"):
            of_stage = tracing.outgoing()["traceparent"]
    assert of_turn.split("-")[1] == of_stage.split("-")[1] == TRACE
    assert len({PARENT, of_turn.split("-")[2], of_stage.split("-")[2]}) == 3
    assert tracing.outgoing() == {}


@pytest.mark.parametrize("wrong", ["", "00-0-0-01", "x" * 5000, f"00-{'0' * 32}-{PARENT}-01", "ff-" + TRACE])
def test_what_is_no_traceparent_begins_a_trace_of_its_own(spans: list[str], wrong: str) -> None:
    with tracing.carried(wrong), tracing.turn("id", "none"):
        assert tracing.outgoing()["traceparent"].split("-")[1] not in (TRACE, "0" * 32)


def test_work_that_is_for_no_turn_has_no_span(spans: list[str]) -> None:
    with tracing.stage("read"):
        assert tracing.outgoing() == {}
