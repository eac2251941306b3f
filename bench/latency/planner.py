"""The served planner beside the same merged model asked for its letter through transformers' generate."""

from __future__ import annotations

from statistics import median

from bench.latency.setup import Setup
from bench.planners import time_planners
from bench.results import Row, spread
from bench.sections import Part
from quizglass_bundle.files import Bundle


def run(setup: Setup) -> Part:
    """Question by question in one process."""
    trial, done = setup.trial(), 0

    def tick() -> None:
        nonlocal done
        done += 1
        setup.say(f"planner: question {done} of {len(trial.questions)}")

    bundle = Bundle.load(setup.bundle)
    served, peer, equal = time_planners(trial, bundle, setup.checkpoints, setup.threads, tick)
    mine, other = median(served), median(peer)
    times = other / mine
    name, theirs = f"planner p50 ({spread(served)})", f"transformers generate ({spread(peer)})"
    return Part(
        [
            Row(name, mine, "ms", theirs, other, times, "peer >= 3x", times >= 3),
            Row("plans equal to the peer's", 100 * equal, "%"),
        ]
    )
