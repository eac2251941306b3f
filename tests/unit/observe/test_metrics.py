"""The table of metrics: names as Prometheus wants them, and nothing recorded while the operations port is off."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys

import pytest

from quizglass.values import Done, FinishReason
from quizglass_server.assistant.counted import counted
from quizglass_server.observe import metrics
from quizglass_server.observe.draining import Drain, DrainStep
from quizglass_server.observe.metrics import EVERY

WITHOUT = """
import sys
sys.modules["prometheus_client"] = None
from quizglass_server.observe import metrics
metrics.TURNS.add("none", "none", "answered")
metrics.QUEUE_SECONDS.observe(1.0)
metrics.DRAIN.set(1)
try:
    metrics.collect()
except ImportError:
    print("only now")
"""


@pytest.mark.parametrize("metric", EVERY.values(), ids=EVERY)
def test_names_say_the_type_and_the_unit(metric: metrics.Metric) -> None:
    assert metric.name.startswith("quizglass_")
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.kind != "histogram" or metric.name.endswith("_seconds")
    assert metric.help.endswith(".")


def test_what_is_recorded_before_costs_no_package() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert ran.stdout == "only now\n"


def test_what_was_recorded_is_shown_and_a_new_beginning_is_one() -> None:
    prometheus = pytest.importorskip("prometheus_client", reason="the extra web is not installed")
    turns = {"policy": "none", "plan": "none", "outcome": "answered"}
    for _ in range(2):
        registry = metrics.collect()
        assert registry.get_sample_value("quizglass_turns_total", turns) is None
        metrics.TURNS.add("none", "none", "answered")
        metrics.TURNS.add("none", "none", "answered", by=2)
        metrics.QUEUE_SECONDS.observe(0.2)
        metrics.DRAIN.set(2)
        assert registry.get_sample_value("quizglass_turns_total", turns) == 3
        assert registry.get_sample_value("quizglass_queue_seconds_bucket", {"le": "0.25"}) == 1
        assert registry.get_sample_value("quizglass_queue_seconds_bucket", {"le": "0.1"}) == 0
        assert registry.get_sample_value("quizglass_drain_step") == 2
    assert prometheus.generate_latest(registry).startswith(b"# HELP quizglass_turns_total ")


def test_a_client_that_leaves_with_the_answer_has_been_answered() -> None:
    pytest.importorskip("prometheus_client", reason="the extra web is not installed")
    registry = metrics.collect()

    def leave() -> None:
        with counted("0" * 32, "both", lambda _: None) as tell:
            tell(Done("45 crowns", FinishReason.COMPLETE))
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        leave()
    outcomes = ("answered", "cancelled")
    of_turns = [{"policy": "both", "plan": "", "outcome": outcome} for outcome in outcomes]
    assert [registry.get_sample_value("quizglass_turns_total", each) for each in of_turns] == [1, None]


def test_a_stop_goes_forward_and_tells_each_step_once(caplog: pytest.LogCaptureFixture) -> None:
    drain = Drain()
    with caplog.at_level(logging.INFO):
        drain.reach(DrainStep.ENGINES)
        assert not caplog.records, "what never served has nothing to drain"
        for step in (*DrainStep, DrainStep.ENGINES, DrainStep.WITHDRAWN):
            drain.reach(step, grace_s=1.0)
    told = [record.message for record in caplog.records]
    assert len(told) == len(set(told)) == 4
    assert all(message.startswith("stopping: ") for message in told)
