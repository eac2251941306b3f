"""A server that knows the notes, and what it answers; each answer is kept as soon as it is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

from bench.everyday.turns import import_folder
from bench.own.dataset import OwnThing, all_things
from bench.own.photographs import Photographs
from bench.own.pictures import seen, stored
from quizglass.values import Origin
from quizglass_client import Answer, AnswerDelta, Client
from quizglass_client.local import LocalServer

BUDGET_S = 120.0
"""Of a turn, so that a busy machine changes no answer."""
_PREFIX = "own/"


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
    """Asks a server about the things' pictures."""

    def __init__(self, client: Client, log: Log, photographs: Photographs) -> None:
        self._client, self._log, self._photographs = client, log, photographs
        self._pictures: dict[str, bytes] = {}

    def ask(self, key: str, question: str, thing: OwnThing, policy: str) -> Told:
        """A question about what is seen of a thing, or without a picture if it has none. Empty policy: the default."""
        return self._log.get(key, policy, lambda: self._ask(question, thing, policy))

    def recognised(self, thing: OwnThing) -> str:
        """The thing that the server takes a picture for; empty: none."""
        if not thing.picture:
            return ""
        return self.ask(f"{thing.id}/picture", "What is this?", thing, "image").recognised

    def _ask(self, question: str, thing: OwnThing, policy: str) -> Told:
        picture = self._picture(thing) if thing.picture else None
        began, first, events = perf_counter(), 0.0, []
        for event in self._client.ask(question, picture, policy=policy, budget=BUDGET_S):
            if not first and isinstance(event.payload, AnswerDelta):
                first = perf_counter() - began
            events.append(event)
        whole = perf_counter() - began
        answer = Answer.of(events)
        entries = {item.id: _own(item.entry_id) for item in answer.evidence}
        found = [item for item in answer.evidence if item.origin is Origin.IMAGE_SEARCH]
        return Told(
            answer.text,
            str(answer.verdict.outcome) if answer.verdict else "",
            str(answer.verdict.kind) if answer.verdict else "",
            str(answer.done.abstain_reason),
            _own(found[0].entry_id) if found else "",
            [entries[each.evidence_id] for each in answer.done.citations if each.evidence_id in entries],
            1e3 * (first or whole),
            1e3 * whole,
        )

    def _picture(self, thing: OwnThing) -> bytes:
        if thing.id not in self._pictures:
            self._pictures = {thing.id: seen(thing, self._photographs)}  # one, for questions come thing by thing
        return self._pictures[thing.id]


@contextmanager
def asker(bundle: Path, folder: Path, log: Log, photographs: Photographs, flags: Sequence[str] = ()) -> Iterator[Asker]:
    """A server on a bundle that knows every note of both halves, ended afterwards.

    The notes of the other half are in the store, too: what nobody asks about is what answers are taken from by mistake.
    """
    source = write_source(folder / "source", photographs)
    shutil.rmtree(folder / "knowledge", ignore_errors=True)  # of another bundle, or of notes that have gone
    with LocalServer(bundle, folder / "knowledge", flags=flags, log=folder / "server.log") as server:
        import_folder(server.target, source)
        with Client(server.target, timeout=2 * BUDGET_S) as client:
            yield Asker(client, log, photographs)


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
