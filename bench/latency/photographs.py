"""Photographs with words in them, half of the questions about the words: read where they may matter, and read always.

Always means the same bundle with 0 as the `gate` of its reader. Words are drawn into the photographs of `bench.own`
(`lettered.py`). The other half are that benchmark's questions about the things in the photographs, whose notes are in
the store; half of those photographs have words that the question is not about.
"""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from bench.everyday.turns import import_folder
from bench.latency.setup import Setup
from bench.latency.timed import WARM_UP, TimedTurn, ask_of
from bench.own.asking import write_source
from bench.own.dataset import OwnQuestion, OwnThing, all_things, of_split
from bench.own.judge import Judged, judge, says_any
from bench.own.lettered import Surface, fonts, photographed, surfaces
from bench.own.photographs import Photographs
from bench.own.pictures import seen
from bench.results import Row, against, ratio
from bench.sections import Part
from bench.worlds import in_own_order
from quizglass.values import Origin
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_server.domain.turns import RGB
from quizglass_server.roles.shared.wordgate import WordGate
from quizglass_server.steps.read import may_ask_for_words, words_may_tell

GATED, ALWAYS = "gated", "always"
_SERVERS = GATED, ALWAYS
_SPLITS = "dev", "held"
_HALF, _THINGS = 150, 50
"""Questions of each half, and how many things' photographs they are about."""


@dataclass(frozen=True)
class WordQuestion:
    """A question about a photograph."""

    id: str
    text: str
    picture: bytes
    lettered: bool
    """Whether something with words stands in the photograph."""
    gold: tuple[str, ...] = ()
    """Of which a right answer about words says one; none: it is not about words."""
    own: OwnQuestion | None = None
    """Whose answer a note says, where it is not about words."""

    def right(self, answer: str) -> bool:
        """Whether an answer is right."""
        return says_any(answer, self.gold) if self.own is None else judge(self.own, answer) is Judged.RIGHT


@dataclass(frozen=True)
class WordTurn:
    """A server's turn about one."""

    question: WordQuestion
    timed: TimedTurn
    words: str
    """What was read in the picture; empty: nothing."""

    @property
    def right(self) -> bool:
        """Whether its answer is right."""
        return self.question.right(self.timed.text)

    @property
    def read(self) -> bool:
        """Whether the reader ran."""
        return "read" in self.timed.stages

    @property
    def knows(self) -> bool:
        """Whether an answer to a question about words is among the words that were read."""
        return says_any(self.words, self.question.gold)


Turns = Mapping[str, Sequence[WordTurn]]


def demo(setup: Setup) -> Part:
    """Of the demo's bundle, whose policy quotes notes and lines of words."""
    return _part(setup, setup.photograph_bundle)


def starter(setup: Setup) -> Part:
    """Of the bundle of the other sections, whose generator answers by words; its encoder knows no photographs."""
    return _part(setup, setup.bundle)


def gates(setup: Setup) -> Part:
    """What lets words be looked for, without a server: the gate of pictures, and the rules for questions."""
    photographs = Photographs(setup.folder / "own-files" / "debian", setup.photographs.resolve(), setup.say)
    setup.say("drawing words into photographs")
    questions = drawn(photographs, setup.count(_HALF, 10))
    rows = _question_rows(questions)
    for name, least in (("as fitted", None), ("at the starter's 0.4", 0.4)):
        setup.say(f"photographs: the gate {name}")
        gate = WordGate(least)
        through = [gate.find(pixels_of(each.picture)) is not None for each in questions]
        rows += _gate_rows(f"photographs: the gate {name}", questions, through)
    return Part(rows, {"fonts": fonts()})


def pixels_of(picture: bytes) -> RGB:
    """A decoded picture."""
    with Image.open(io.BytesIO(picture)) as opened:
        return np.asarray(opened.convert("RGB"))


def _gate_rows(title: str, questions: Sequence[WordQuestion], through: Sequence[bool]) -> list[Row]:
    """How many pictures it lets through."""
    lettered = [passed for each, passed in zip(questions, through, strict=True) if each.lettered]
    bare = [passed for each, passed in zip(questions, through, strict=True) if not each.lettered]
    return [
        Row(f"{title} lets through, of {len(lettered)} with words drawn into them", sum(lettered), "pictures"),
        Row(f"{title} lets through, of {len(bare)} without", sum(bare), "pictures"),
    ]


def _question_rows(questions: Sequence[WordQuestion]) -> list[Row]:
    """When the policies that leave words unread look for them, by the question alone."""
    rows = []
    for about, own in (("words", False), ("anything else", True)):
        asked = [each.text for each in questions if (each.own is not None) is own]
        when = Counter(_when(text) for text in asked)
        title = f"photographs: of {len(asked)} questions about {about}, words are looked for"
        rows += [Row(f"{title} {name}", when[name], "questions") for name in _WHEN]
    return rows


_WHEN = "at once", "once the plan is made", "where the answer is unsure"


def _when(question: str) -> str:
    if may_ask_for_words(question):
        return _WHEN[0]
    return _WHEN[1] if words_may_tell(question) else _WHEN[2]


def _part(setup: Setup, bundle: Path) -> Part:
    photographs = Photographs(setup.folder / "own-files" / "debian", setup.photographs.resolve(), setup.say)
    setup.say("drawing words into photographs")
    questions = drawn(photographs, setup.count(_HALF, 10))
    name = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))["name"]
    found = _asked(setup, bundle, name, questions, photographs)
    data: dict[str, Any] = {server: [_told(turn) for turn in turns] for server, turns in found.items()}
    return Part(_rows(name, found), {"fonts": fonts(), **data})


def drawn(photographs: Photographs, half: int) -> list[WordQuestion]:
    """So many questions about words, and as many about anything else, in turn."""
    things = [thing for split in _SPLITS for thing in of_split(all_things(), split) if thing.picture and thing.stored]
    things = things[:: max(1, len(things) // _THINGS)]
    shown, written = cycle(things), cycle(surfaces())
    about = [(surface, text, gold) for surface in surfaces() for text, gold in surface.asked][:half]
    words = [
        WordQuestion(f"words/{number}", text, _picture(next(shown), surface, number, photographs), True, gold)
        for number, (surface, text, gold) in enumerate(about)
    ]
    asked = [(thing, question) for thing in things for question in thing.questions]
    chosen = [asked[number * len(asked) // half] for number in range(half)]
    others = [
        WordQuestion(
            f"other/{number}",
            question.text,
            _picture(thing, next(written) if number % 2 else None, number, photographs),
            bool(number % 2),
            own=question,
        )
        for number, (thing, question) in enumerate(chosen)
    ]
    return [each for pair in zip(words, others, strict=True) for each in pair]


def _picture(thing: OwnThing, surface: Surface | None, number: int, photographs: Photographs) -> bytes:
    return photographed(_seen(thing, photographs), surface, f"{thing.id} {number}")


@cache
def _seen(thing: OwnThing, photographs: Photographs) -> bytes:
    return seen(thing, photographs)


def _asked(
    setup: Setup, bundle: Path, name: str, questions: Sequence[WordQuestion], photographs: Photographs
) -> dict[str, list[WordTurn]]:
    """Every question of both servers, in an order drawn for each; without those that warm them up."""
    found: dict[str, list[WordTurn]] = {server: [] for server in _SERVERS}
    with _clients(setup, bundle, name, photographs) as clients:
        for number, question in enumerate([*questions[:WARM_UP], *questions]):
            setup.say(f"photographs, {name}: question {number + 1 - WARM_UP} of {len(questions)}")
            # The first are asked twice, about a picture that is another file then, so that no cache has it.
            frame = question.picture + b"\0" if number < WARM_UP else question.picture
            for server in in_own_order(question.id, _SERVERS):
                turn = _ask(clients[server], question, frame)
                if number >= WARM_UP:
                    found[server].append(turn)
    return found


def _ask(client: Client, question: WordQuestion, frame: bytes) -> WordTurn:
    timed, answer = ask_of(client, question.text, frame)
    read = [found.text for found in answer.evidence if found.origin is Origin.READ_TEXT]
    return WordTurn(question, timed, " ".join(read))


@contextmanager
def _clients(setup: Setup, bundle: Path, name: str, photographs: Photographs) -> Iterator[dict[str, Client]]:
    """A client of each server, both of which know every note."""
    folder = setup.folder / f"photographs-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    source = write_source(folder / "source", photographs)
    with ExitStack() as stack:
        clients = {}
        for server, served in ((GATED, bundle), (ALWAYS, _reading_always(bundle, folder / "bundle"))):
            local = stack.enter_context(LocalServer(served, folder / server, log=folder / f"{server}.log"))
            setup.say(f"photographs, {name}: import")
            import_folder(local.target, source)
            clients[server] = stack.enter_context(Client(local.target, timeout=120))
        yield clients


def _reading_always(bundle: Path, folder: Path) -> Path:
    """A copy of a bundle whose reader reads every picture."""
    shutil.copytree(bundle, folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["roles"]["reader"]["gate"] = 0
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def _rows(name: str, found: Turns) -> list[Row]:
    """Both beside each other."""
    about = {server: [turn for turn in turns if turn.question.own is None] for server, turns in found.items()}
    others = {server: [turn for turn in turns if turn.question.own is not None] for server, turns in found.items()}
    bare = {server: [turn for turn in turns if not turn.question.lettered] for server, turns in others.items()}
    title = f"photographs, {name}"
    return [
        _counted(f"{title}: right, of {len(found[GATED])}", found, lambda turn: turn.right, not_fewer=True),
        _counted(f"{title}: right about words, of {len(about[GATED])}", about, lambda turn: turn.right),
        _counted(f"{title}: answer among the words read, of {len(about[GATED])}", about, lambda turn: turn.knows),
        _counted(f"{title}: right about anything else, of {len(others[GATED])}", others, lambda turn: turn.right),
        _share(f"{title}: questions about words whose picture is read", about),
        _share(f"{title}: other questions whose picture is read", others),
        _share(f"{title}: pictures with nothing drawn into them that are read", bare),
        _times(f"{title}: turn, p50", found),
        _times(f"{title}: turn about words, p50", about),
        _times(f"{title}: other turn, p50", others),
    ]


def _counted(name: str, found: Turns, fits: Callable[[WordTurn], bool], *, not_fewer: bool = False) -> Row:
    ours, always = (sum(map(fits, found[server])) for server in _SERVERS)
    bar, ok = (">= peer", ours >= always) if not_fewer else ("", None)
    return Row(name, ours, "answers", "reading always", always, ratio(ours, always), bar, ok)


def _share(name: str, found: Turns) -> Row:
    ours, always = (100 * sum(turn.read for turn in found[server]) / len(found[server]) for server in _SERVERS)
    return Row(name, ours, "%", "reading always", always)


def _times(name: str, found: Turns) -> Row:
    ours, always = ([turn.timed.waited for turn in found[server]] for server in _SERVERS)
    row = against(name, ours, "ms", "reading always", always)
    pairs = [one / other for one, other in zip(ours, always, strict=True)]
    return Row(row.name, row.value, row.unit, row.peer, row.peer_value, median(pairs))


def _told(turn: WordTurn) -> list[object]:
    """Of a turn: the question, milliseconds, whether it was read and is right, the answer and the words."""
    waited = round(turn.timed.waited, 2)
    return [turn.question.text, waited, turn.read, turn.right, turn.timed.text, turn.words]
