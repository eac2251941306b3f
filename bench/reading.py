"""`python -m bench.reading [--only SECTION ...] [--quick]`: turns beside the server before pictures were gated.

Both servers run at once on the same machine and are asked the same questions, in an order that is drawn for each. The
older one is a checkout of its own (`older.py`). Both have the same Python environment, and the newest starter bundle
that both can serve, whose worlds are of format 1. The section `gate` needs the photographs that
`quizglass_export/wordgate/sources.py` names.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import cv2
import numpy as np
from PIL import Image
from rich.progress import Progress

from bench import sections
from bench.latency import TimedTurn
from bench.older import COMMIT, checkout, common_bundle, older_server
from bench.results import Row, against, at_most
from bench.sections import Part
from bench.worlds import Trial, fresh_seeds, in_own_order, load, prepare
from quizglass_client import Answer, AnswerDelta, Client, Event
from quizglass_client.local import LocalServer
from quizglass_export.pocketworld.dataset import SCENE_SIZE
from quizglass_export.pocketworld.draw import draw_scene
from quizglass_export.pocketworld.questions import Question
from quizglass_export.scoring.answers import exact_match
from quizglass_server.models.wordgate import WordGate

SIZES = {"720 x 1280": (720, 1280), "1080 x 1920": (1080, 1920)}
"""Height and width of large frames."""
POLICY = "planning-agent"
"""Of both servers: they have other defaults."""
_WARM_UP = 12
_READING = ("gate", "read")


@dataclass(frozen=True)
class Setup:
    """What every section works with."""

    args: argparse.Namespace
    say: Callable[[str], None]

    def count(self, full: int, quick: int) -> int:
        """How many questions or pictures."""
        return quick if self.args.quick else full


@dataclass(frozen=True)
class Pair:
    """One question, answered by both servers."""

    question: Question
    ours: TimedTurn
    older: TimedTurn
    right: tuple[bool, bool]
    same: bool
    """Whether both gave the same answer."""

    @property
    def lettered(self) -> bool:
        """Whether the picture shows words."""
        return bool(self.question.words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("reading", __doc__, SECTIONS)
    parser.add_argument("--seed", type=int, help="of the world that is asked about (default: from this commit's hash)")
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=800)
    parser.add_argument("--sources", type=Path, help="photographs and fonts, for the section gate")
    parser.add_argument("--lettered", type=Path, nargs="*", default=(), help="folders of photographs with words")
    args = parser.parse_args(arguments)
    if args.sources is None and "gate" in (args.only or SECTIONS):
        parser.error("--sources: the section gate needs this folder; name it, or other sections with --only")
    args.seed = fresh_seeds(1)[0] if args.seed is None else args.seed
    runner = sections.Runner("reading", SECTIONS, args)
    with runner.status() as say:
        setup = Setup(args, say)
        runner.measure(lambda name: SECTIONS[name](setup), questions=args.questions, seed=args.seed)
    return runner.finish(name_missing=True)


def turns(setup: Setup) -> Part:
    """Every question of a fresh world, as the starter's camera sees it."""
    pairs = _asked(setup, setup.count(setup.args.questions, 24), lambda question: _scene(question, None))
    plain, lettered = [p for p in pairs if not p.lettered], [p for p in pairs if p.lettered]
    none, signed = ([p for p in some if p.ours.plan == p.older.plan == "none"] for some in (plain, lettered))
    right = [100 * sum(pair.right[which] for pair in pairs) / len(pairs) for which in (0, 1)]
    rows = [
        *_waited("turn planned none, without words, p50", none, 0.4),
        *_waited("turn planned none, with words, p50", signed, 1.02),
        *_waited("turn of any plan, without words, p50", plain, None),
        *_waited("turn of any plan, with words, p50", lettered, 1.02),
        Row("accuracy", right[0], "%", f"at {COMMIT}", right[1], bar=">= peer - 0.5", ok=right[0] >= right[1] - 0.5),
        Row("answers equal to the peer's", 100 * sum(pair.same for pair in pairs) / len(pairs), "%"),
        Row("pictures without words that were read", 100 * _read(plain), "%"),
        at_most("pictures with words that were not read", 100 * (1 - _read(lettered)), "%", 1),
        _against_older("server's own share of a turn, p50", [(p.ours.own, p.older.own) for p in pairs], 8.0),
    ]
    return Part(rows, {"turns": len(pairs), "with words": len(lettered)})


def large(setup: Setup) -> Part:
    """Scenes in the middle of frames as cameras give them."""
    rows: list[Row] = []
    for name, size in SIZES.items():
        count = setup.count(setup.args.questions // 4, 24)
        pairs = _asked(setup, count, lambda question, size=size: _scene(question, size))  # type: ignore[misc]
        plain, lettered = [p for p in pairs if not p.lettered], [p for p in pairs if p.lettered]
        for words, chosen, bar in (("without words", plain, 0.5), ("with words", lettered, None)):
            rows += _waited(f"{name}, {words}: turn, p50", chosen, bar)
            spent = [(_spent(pair.ours), _spent(pair.older)) for pair in chosen]
            if spent:
                ours, older = zip(*spent, strict=True)
                rows.append(against(f"{name}, {words}: looking for words", ours, "ms", f"at {COMMIT}", older, bar))
    return Part(rows)


def gate(setup: Setup) -> Part:
    """The gate beside the reader on pictures that it was not fitted on."""
    from quizglass_export.wordgate import judge

    report = judge.measured(setup.args.sources, setup.args.lettered, setup.count(800, 12))
    rows = []
    for group in report:
        legible, over = group.legible, group.passed_over
        if group.name == judge.ALL:
            rows.append(at_most(f"legible pictures passed over ({over} of {legible})", 100 * over / legible, "%", 1))
        elif legible:
            rows.append(Row(f"{group.name}: legible ones passed over, of {legible}", 100 * over / legible, "%"))
        else:
            rows.append(Row(f"{group.name}: read all the same, of {group.pictures}", 100 * group.read, "%"))
    return Part(rows, {"threshold": WordGate().least})


SECTIONS: dict[str, Callable[[Setup], Part]] = {"turns": turns, "large": large, "gate": gate}
"""In the order of the table."""


def _asked(setup: Setup, count: int, frame: Callable[[Question], bytes]) -> list[Pair]:
    """The first so many questions, asked of both servers by turns."""
    args = setup.args
    things = setup.count(args.things, 500)
    folder = args.workdir / f"world-{args.seed}-{things}"
    trial = prepare(args.seed, things, count, folder)
    setup.say("the older version's checkout")
    tree, bundle = checkout(args.workdir), common_bundle(args.workdir)
    with ExitStack() as stack:
        bars = stack.enter_context(Progress(disable=True))
        log = folder / "server.log"
        ours = stack.enter_context(LocalServer(bundle, folder / "knowledge", log=log))
        theirs = stack.enter_context(older_server(tree, bundle, folder / "knowledge-older", log))
        clients = []
        for server in (ours, theirs):
            load(server.target, folder, bars)
            clients.append(stack.enter_context(Client(server.target, timeout=120)))
        return _pairs(trial, clients, frame, setup.say)


def _pairs(
    trial: Trial, clients: Sequence[Client], frame: Callable[[Question], bytes], say: Callable[[str], None]
) -> list[Pair]:
    pairs = []
    for number, question in enumerate(trial.questions):
        encoded = frame(question)
        timed: dict[int, tuple[TimedTurn, str]] = {}
        for which in in_own_order(question.id, (0, 1)):
            timed[which] = _timed(clients[which], question, encoded)
        (ours, answer), (older, before) = timed[0], timed[1]
        right, was = (exact_match(text, question.answer, question.aliases) for text in (answer, before))
        if number >= _WARM_UP:
            pairs.append(Pair(question, ours, older, (right, was), answer == before))
        say(f"question {number + 1} of {len(trial.questions)}")
    return pairs


def _timed(client: Client, question: Question, frame: bytes) -> tuple[TimedTurn, str]:
    events: list[Event] = []
    first = None
    started = perf_counter()
    for event in client.ask(question.text, frame, history=question.history, policy=POLICY, budget=60):
        events.append(event)
        if first is None and isinstance(event.payload, AnswerDelta):
            first = (perf_counter() - started) * 1e3
    waited = (perf_counter() - started) * 1e3
    answer = Answer.of(events)
    return TimedTurn(answer, waited, first), answer.text


def _scene(question: Question, size: tuple[int, int] | None) -> bytes:
    """The question's picture as JPEG; with a size, in the middle of a frame whose sides continue its edges."""
    pixels = np.asarray(draw_scene(question.scene, SCENE_SIZE if size is None else size[0]))
    if size is not None:
        left = (size[1] - size[0]) // 2
        pixels = cv2.copyMakeBorder(pixels, 0, 0, left, size[1] - size[0] - left, cv2.BORDER_REPLICATE)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=90)
    return out.getvalue()


def _waited(name: str, pairs: Sequence[Pair], bar: float | None) -> list[Row]:
    if len(pairs) < 2:
        return []
    ours, older = [p.ours.waited for p in pairs], [p.older.waited for p in pairs]
    return [against(f"{name}, {len(pairs)} turns", ours, "ms", f"at {COMMIT}", older, bar)]


def _against_older(name: str, values: Sequence[tuple[float, float]], bar: float) -> Row:
    ours, older = (median(column) for column in zip(*values, strict=True))
    return Row(name, ours, "ms", f"at {COMMIT}", older, ours / older, f"<= {bar:g}", ours <= bar)


def _read(pairs: Sequence[Pair]) -> float:
    """Share of turns that looked for words beyond the gate."""
    return sum("read" in pair.ours.stages for pair in pairs) / max(len(pairs), 1)


def _spent(turn: TimedTurn) -> float:
    """Milliseconds inside the gate and the reader."""
    return sum(turn.stages[stage][1] for stage in _READING if stage in turn.stages)


if __name__ == "__main__":
    sys.exit(main())
