"""A server that knows the notes, and what it answers; each answer is kept as soon as it is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter

from bench.everyday.turns import import_folder
from bench.own.dataset import OwnThing, all_things
from bench.own.photographs import Photographs
from bench.own.pictures import seen, stored
from quizglass.values import Origin
from quizglass_client import Answer, AnswerDelta, Client
from quizglass_client.local import LocalServer
from quizglass_client.pictures import encode

BUDGET_S = 120.0
"""Of a turn, so that a busy machine changes no answer."""
_PREFIX = "own/"
_LOOKING = ("image", "quote")
"""Policies that look the picture up first; a bundle without a generator has the second alone."""


@dataclass(frozen=True)
class Told:
    """One answer as its client saw it."""

    text: str
    outcome: str = ""
    """What the verdict said of it."""
    kind: str = ""
    """Where its words come from."""
    reason: str = ""
    """Why it is "I don't know"."""
    recognised: str = ""
    """The thing that an image search brought first; empty: none, or none was made."""
    cited: Sequence[str] = field(default_factory=tuple)
    """Entries that the answer cites."""
    first_ms: float = 0.0
    """To the first piece of the answer."""
    whole_ms: float = 0.0

    @property
    def supported(self) -> bool:
        """Whether the answer is marked as supported by evidence."""
        return self.outcome == "supported"


class Log:
    """Answers by question and policy, one a line."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._told = dict(_kept(path))

    def get(self, question: str, policy: str, ask: Callable[[], Told]) -> Told:
        """What is kept, or else asked now and kept."""
        if (question, policy) not in self._told:
            told = self._told[question, policy] = ask()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([question, policy, asdict(told)], ensure_ascii=False) + "\n")
        return self._told[question, policy]


class Asker:
    """Asks a server about the things' pictures; it is connected to when the first answer is missing."""

    def __init__(self, connect: Callable[[], Client], log: Log, photographs: Photographs) -> None:
        self._connect, self._log, self._photographs = connect, log, photographs
        self._shown: dict[str, bytes] = {}

    def ask(self, key: str, question: str, thing: OwnThing, policy: str) -> Told:
        """A question about what is seen of a thing, or without a picture if it has none. Empty policy: the default."""
        return self._log.get(key, policy, lambda: self._ask(key, question, thing, policy))

    def ask_about(self, key: str, question: str, picture: Callable[[], bytes]) -> Told:
        """A question about a picture that is made where the answer is missing, under the default policy."""
        return self._log.get(key, "", lambda: self._answered(question, marked(picture(), key), ""))

    def recognised(self, thing: OwnThing) -> str:
        """The thing that the server takes a picture for; empty: none."""
        if not thing.picture:
            return ""
        key = f"{thing.id}/picture"
        return self._log.get(key, "", lambda: self._ask(key, "What is this?", thing, self._looking)).recognised

    @cached_property
    def _client(self) -> Client:
        return self._connect()

    @cached_property
    def _looking(self) -> str:
        """A policy that always looks the picture up."""
        return next(each for each in _LOOKING if each in self._client.capabilities().policies)

    def _ask(self, key: str, question: str, thing: OwnThing, policy: str) -> Told:
        picture = marked(self._picture(thing), f"{key} {policy}") if thing.picture else None
        return self._answered(question, picture, policy)

    def _answered(self, question: str, picture: bytes | None, policy: str) -> Told:
        began, first, events = perf_counter(), 0.0, []
        for event in self._client.ask(question, picture, policy=policy, budget=BUDGET_S):
            if not first and isinstance(event.payload, AnswerDelta):
                first = perf_counter() - began
            events.append(event)
        whole = perf_counter() - began
        return _told(Answer.of(events), 1e3 * (first or whole), 1e3 * whole)

    def _picture(self, thing: OwnThing) -> bytes:
        if thing.id not in self._shown:
            side = self._client.capabilities().useful_picture_side
            self._shown = {thing.id: encode(seen(thing, self._photographs), side)}  # one: questions come thing by thing
        return self._shown[thing.id]


def marked(jpeg: bytes, comment: str) -> bytes:
    """The same picture as another file, so that no cache has it from the question before."""
    said = comment.encode()
    return jpeg[:2] + b"\xff\xfe" + (len(said) + 2).to_bytes(2, "big") + said + jpeg[2:]


def _told(answer: Answer, first_ms: float, whole_ms: float) -> Told:
    entries = {item.id: _own(item.entry_id) for item in answer.evidence}
    found = [item for item in answer.evidence if item.origin is Origin.IMAGE_SEARCH]
    return Told(
        answer.text,
        str(answer.verdict.outcome) if answer.verdict else "",
        str(answer.verdict.kind) if answer.verdict else "",
        str(answer.done.abstain_reason),
        _own(found[0].entry_id) if found else "",
        [entries[each.evidence_id] for each in answer.done.citations if each.evidence_id in entries],
        first_ms,
        whole_ms,
    )


@contextmanager
def serving(bundle: Path, folder: Path, photographs: Photographs, flags: Sequence[str] = ()) -> Iterator[Client]:
    """A server on a bundle that knows every note of every split, ended afterwards.

    The notes of the other splits are in the store, too: entries that are not asked about are distractors.
    """
    source = write_source(folder / "source", photographs)
    shutil.rmtree(folder / "knowledge", ignore_errors=True)  # of another bundle, or of notes that have gone
    with LocalServer(bundle, folder / "knowledge", flags=flags, log=folder / "server.log") as server:
        import_folder(server.target, source)
        with Client(server.target, timeout=2 * BUDGET_S) as client:
            yield client


def write_source(folder: Path, photographs: Photographs) -> Path:
    """A folder that `quizglass knowledge import` takes."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    lines = []
    for thing in all_things():
        if not thing.stored:
            continue
        entry: dict[str, object] = {"id": f"{_PREFIX}{thing.id}", "title": thing.title, "text": thing.note}
        if thing.picture:
            (folder / "pictures" / f"{thing.id}.jpg").write_bytes(stored(thing, photographs))
            entry |= {"pictures": [f"pictures/{thing.id}.jpg"]}
        lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
    (folder / "entries.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def _own(entry_id: str) -> str:
    return entry_id.removeprefix(_PREFIX)


def _kept(path: Path) -> Iterator[tuple[tuple[str, str], Told]]:
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            question, policy, told = json.loads(line)
            yield (question, policy), Told(**told)
        except (ValueError, TypeError):  # the last line of a run that was broken off
            continue
