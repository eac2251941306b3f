"""What it is worth that a recognised entry brings its own text: the bundle as it is beside one without that.

Asked are the questions of `planning` that point at a photographed thing, under the policy `image`, which searches no
text: what the generator is shown is the entry's caption, with or without the passages that are its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.everyday.fetched.things import things
from bench.everyday.planning import BUDGET_S, Question, Turn, ask, known_folder, questions_about
from bench.everyday.setup import Setup, between
from bench.everyday.turns import import_folder
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_bundle.files import Bundle
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_export.bundles.change import repack
from quizglass_lab.scoring.intervals import confidence_interval

_KEY, _POLICY = "own_passages", "image"


def own(setup: Setup) -> Part:
    """The same questions of both bundles, over gRPC."""
    stored, version = things(setup.folder / "debian")
    asked = [question for question in questions_about(setup, stored) if question.points]
    source = known_folder(setup, stored)
    without = setup.folder / "without-own-passages"
    shutil.rmtree(without, ignore_errors=True)
    bundle = Bundle.load(setup.bundle, hashes=False)
    repack(bundle, without, settings={f"evidence.{_KEY}": 0})
    most = bundle.manifest.evidence.own_passages
    turns = {
        count: _asked(setup, asked, folder, source, count) for count, folder in ((0, without), (most, setup.bundle))
    }
    return Part(rows(turns[most], turns[0], most), {"package": version, "seed": setup.seed})


def rows(ours: Sequence[Turn], without: Sequence[Turn], most: int) -> list[Row]:
    """Right answers with and without, and the difference, question by question."""
    title = f"questions that point, policy {_POLICY}, {_KEY}"
    gains = [100.0 * (a.right - b.right) for a, b in zip(ours, without, strict=True)]
    low, high = confidence_interval(gains)
    return [
        *(
            Row(f"{title} {count}: right ({between(hits, len(some))} questions)", 100 * hits / len(some), "%")
            for count, some in ((0, without), (most, ours))
            for hits in (sum(turn.right for turn in some),)
        ),
        at_least(
            f"{title} {most} over 0 (95 % interval {low:.1f} to {high:.1f})", sum(gains) / len(gains), "points", 0.0
        ),
        *(
            Row(f"{title} {count}: prompt tokens, mean", sum(turn.tokens for turn in some) / len(some), "tokens")
            for count, some in ((0, without), (most, ours))
        ),
    ]


def _asked(setup: Setup, asked: Sequence[Question], bundle: Path, source: Path, count: int) -> list[Turn]:
    store = setup.folder / "planning-knowledge"
    with LocalServer(bundle, store, log=setup.folder / "server.log") as server:
        import_folder(server.target, source)
        with Client(server.target, timeout=2 * BUDGET_S) as client:
            turns = []
            for number, question in enumerate(asked):
                setup.say(f"{_KEY} {count}: question {number + 1} of {len(asked)}")
                turns.append(ask(client, question, _POLICY))
            return turns
