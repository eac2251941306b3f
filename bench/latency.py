"""Latency of the planner and of whole turns.

`make bench-latency SEED=101 THINGS=2000 QUESTIONS=800`. The planner is timed beside the same merged model asked for its
letter through transformers' generate, question by question in one process. Turns are asked one at a time over real gRPC
on loopback, as JPEG; the server's own share is what the client waits beyond the time that engines worked.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median, quantiles
from time import perf_counter

from matplotlib import colormaps
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import results
from bench.drawing import panels, saved
from bench.planners import time_planners
from bench.processes import ended_together
from bench.results import RESULTS, Row, at_most, measured, spread
from bench.worlds import Trial, load, picture, prepare
from quizglass_client import Answer, AnswerDelta, Client, Event
from quizglass_client.local import LocalServer
from quizglass_server.bundle.files import Bundle

_WARM_UP = 12
_PLANS = ("none", "image", "text", "both")
_GATE, _READING, _PLANNING, _DETECTING, _EMBEDDING = "gate", "read", "plan", "detect", "embed"


def main() -> None:
    """Measure, print, write bench/results/latency.json and its plot."""
    args = _arguments()
    console = Console()
    folder = args.workdir / f"world-{args.seed}-{args.things}"
    trial = prepare(args.seed, args.things, args.questions, folder)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with ended_together(), Progress(*columns, console=console) as bars:
        task = bars.add_task("planner beside generate", total=len(trial.questions))
        bundle = Bundle.load(args.bundle)
        served, peer, equal = time_planners(trial, bundle, args.checkpoints, args.threads, lambda: bars.advance(task))
        turns = _time_turns(trial, args, folder, bars)
    rows = [*_planner_rows(served, peer, equal), *_turn_rows(turns)]
    results.show(rows, f"latency, world {args.seed}, {len(turns)} turns", console)
    path = results.write("latency", rows, seed=args.seed, stages=_stages(turns))
    console.print(f"{path} and {_plot({plan: _means(turns, plan) for plan in _PLANS})}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=800)
    parser.add_argument("--threads", type=int, default=1, help="of the planner and its peer")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--checkpoints", type=Path, default=Path("models/starter/checkpoints"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    return parser.parse_args()


class TimedTurn:
    """One turn as the client saw it, in milliseconds."""

    def __init__(self, answer: Answer, waited: float, first: float | None) -> None:
        self.plan = str(answer.plan.plan) if answer.plan else ""
        self.waited = waited
        self.first = first
        """To the first piece of the answer; None when there was none."""
        self.stages: dict[str, tuple[float, float]] = {}
        """What a stage took and what of it was inside engines, all times together that it ran."""
        for t in answer.done.timings:
            took, engine = self.stages.get(t.stage, (0.0, 0.0))
            self.stages[t.stage] = took + t.duration * 1e3, engine + t.engine * 1e3
        self._engines = [(t.stage, t.engine * 1e3) for t in answer.done.timings]
        """One for each run of a stage, in the order in which they ended."""

    @property
    def own(self) -> float:
        """Waited beyond the engines. Of those that worked beside each other, the side that worked longer counts.

        While the gate and the reader look for words, a plan is made as if there were none, and where words are read
        the picture is looked up meanwhile. All else follows one after the other.
        """
        looking = self._engine(_GATE) + self._engine(_READING)
        beside = self._engine(_DETECTING) + self._engine(_EMBEDDING) if _READING in self.stages else 0.0
        if _GATE in self.stages:
            beside += next((engine for stage, engine in self._engines if stage == _PLANNING), 0.0)
        return self.waited - sum(engine for _, engine in self._engines) + min(looking, beside)

    def _engine(self, wanted: str) -> float:
        return self.stages.get(wanted, (0.0, 0.0))[1]


def _time_turns(trial: Trial, args: argparse.Namespace, folder: Path, bars: Progress) -> list[TimedTurn]:
    timed: list[TimedTurn] = []
    with LocalServer(args.bundle, folder / "knowledge", log=folder / "server.log") as server:
        load(server.target, folder, bars)
        task = bars.add_task("turns", total=len(trial.questions))
        with Client(server.target, timeout=120) as client:
            for i, question in enumerate(trial.questions):
                frame = _jpeg(picture(question))
                events: list[Event] = []
                first = None
                started = perf_counter()
                for event in client.ask(question.text, frame, history=question.history, budget=60):
                    events.append(event)
                    if first is None and isinstance(event.payload, AnswerDelta):
                        first = (perf_counter() - started) * 1e3
                waited = (perf_counter() - started) * 1e3
                if i >= _WARM_UP:
                    timed.append(TimedTurn(Answer.of(events), waited, first))
                bars.advance(task)
    return timed


def _jpeg(png: bytes) -> bytes:
    out = io.BytesIO()
    Image.open(io.BytesIO(png)).save(out, "JPEG", quality=90)
    return out.getvalue()


def _planner_rows(served: list[float], peer: list[float], equal: float) -> list[Row]:
    mine, other = median(served), median(peer)
    times = other / mine
    return [
        Row(
            f"planner p50 ({spread(served)})",
            mine,
            "ms",
            f"transformers generate ({spread(peer)})",
            other,
            times,
            "peer >= 3x",
            times >= 3,
        ),
        Row("plans equal to the peer's", 100 * equal, "%"),
    ]


def _turn_rows(turns: list[TimedTurn]) -> list[Row]:
    rows = [at_most("server's own share of a turn, p50", median(t.own for t in turns), "ms", 8)]
    for plan in _PLANS:
        chosen = [t for t in turns if t.plan == plan]
        if len(chosen) < 4:
            continue
        waited = [t.waited for t in chosen]
        rows.append(measured(f"turn planned {plan}, p50", waited, "ms"))
        rows.append(Row(f"turn planned {plan}, p95", quantiles(waited, n=20, method="inclusive")[-1], "ms"))
        rows.append(Row(f"first words, planned {plan}, p50", median(t.first for t in chosen if t.first), "ms"))
    return rows


def _means(turns: list[TimedTurn], plan: str) -> dict[str, float]:
    """Of all turns of a plan, those without the stage too: only so the stages add up."""
    chosen = [t for t in turns if t.plan == plan]
    names = list(dict.fromkeys(stage for t in chosen for stage in t.stages))
    return {name: fmean(t.stages.get(name, (0.0, 0.0))[0] for t in chosen) for name in names}


def _stages(turns: list[TimedTurn]) -> dict[str, dict[str, float]]:
    names = list(dict.fromkeys(stage for t in turns for stage in t.stages))
    took = {name: [t.stages[name] for t in turns if name in t.stages] for name in names}
    return {
        name: {
            "turns": len(values),
            "p50_ms": round(median(total for total, _ in values), 2),
            "engine_p50_ms": round(median(engine for _, engine in values), 2),
        }
        for name, values in took.items()
    }


def _plot(means: Mapping[str, Mapping[str, float]]) -> Path:
    """Mean milliseconds of each stage for each plan, stacked."""
    figure, [[axes]] = panels(1, 8, 2.8)
    stages = list(dict.fromkeys(stage for each in means.values() for stage in each if stage != _EMBEDDING))
    left = [0.0] * len(means)
    for i, stage in enumerate(stages):
        widths = [each.get(stage, 0.0) for each in means.values()]
        axes.barh([f"planned {plan}" for plan in means], widths, 0.6, left, label=stage, color=colormaps["tab20"](i))
        left = [at + width for at, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("ms a turn, mean of each stage (the picture is embedded beside reading and planning)")
    axes.legend(ncols=4, frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    return saved(figure, RESULTS / "latency.png")


if __name__ == "__main__":
    main()
