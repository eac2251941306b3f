"""Text search over thousands of real passages: words and vectors together against vectors alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.everyday.fetched.debian import WORDNET, unpacked
from bench.everyday.setup import Encoders, Setup, between, encoders, knowing
from bench.results import Row, ratio
from bench.sections import Part
from quizglass.values import Entry, SearchMode
from quizglass_lab.everyday.facts import Fact, all_facts
from quizglass_lab.everyday.knowledge import told
from quizglass_lab.everyday.wording import questions
from quizglass_lab.scoring.claims import contains_words
from quizglass_lab.scoring.intervals import confidence_interval
from quizglass_server.domain.entries import ChunkHit, PicturedEntry, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge import KnowledgeBase

MODES = {"hybrid": SearchMode.HYBRID, "vectors": SearchMode.VECTORS, "words": SearchMode.KEYWORDS}
DEPTH = 5
_BAR = 95.0
_ASKED_ABOUT = ("What is {}?", "What does {} mean?", "Tell me about {}.")
_SHORTEST = 30
"""Characters: shorter glosses tell too little to be a passage."""


@dataclass(frozen=True)
class Noun:
    """A noun of WordNet that has one meaning."""

    id: str
    names: tuple[str, ...]
    gloss: str

    def entry(self) -> Entry:
        """A passage as an encyclopedia has it: all names, and what they mean."""
        title, *others = self.names
        also = f"Also called {', '.join(others)}. " if others else ""
        return Entry(f"noun/{self.id}", title, kind="noun", text=f"{also}{self.gloss}", source="wordnet")


@dataclass(frozen=True)
class Asked:
    """A question, and what makes a passage right: being of that entry, or saying name and value."""

    kind: str
    question: str
    entry: str
    says: tuple[str, ...] = ()

    def found(self, hits: Sequence[ChunkHit]) -> bool:
        """Whether a right passage is among them."""
        return any(hit.entry.id == self.entry or self._says(f"{hit.entry.title}: {hit.text}") for hit in hits)

    def _says(self, text: str) -> bool:
        return bool(self.says) and all(contains_words(text, words) for words in self.says)


def nouns(data: Path) -> Iterator[Noun]:
    """Nouns of `data.noun` (man 5 wndb) whose names all have this one meaning."""
    lines = [line for line in data.read_text(encoding="utf-8").splitlines() if not line.startswith("  ")]
    synsets = []
    for line in lines:
        fields, _, gloss = line.partition(" | ")
        offset, _, _, count, *rest = fields.split(" ")
        names = tuple(name.replace("_", " ") for name in rest[: 2 * int(count, 16) : 2])
        synsets.append(Noun(offset, names, gloss.strip()))
    meanings = Counter(name.casefold() for noun in synsets for name in noun.names)
    for noun in synsets:
        if len(noun.gloss) >= _SHORTEST and all(meanings[name.casefold()] == 1 for name in noun.names):
            yield noun


async def texts(setup: Setup) -> Part:
    """Questions about facts in a held-out wording, and about nouns by any of their names."""
    root, version = unpacked(WORDNET, setup.folder / "debian")
    chance = random.Random(setup.seed)
    chosen = chance.sample(list(nouns(root / "usr/share/wordnet/data.noun")), setup.count(5000, 40))
    facts = all_facts(setup.workdir)
    facts = facts[: setup.count(len(facts), 40)]
    of_things = [Entry(**entry) for entry in told(facts)]
    half = setup.count(300, 10)
    asked = [*_about_facts(chance.sample(facts, half), of_things), *_about_nouns(chosen[:half], chance)]
    loaded = await encoders(setup.bundle)
    entries = [PicturedEntry(entry) for entry in (*of_things, *(noun.entry() for noun in chosen))]
    setup.say(f"embedding {len(entries)} passages")
    async with knowing(setup, loaded, entries) as base:
        found = {name: await _ask(base, loaded, asked, mode) for name, mode in MODES.items()}
    rows = _rows(asked, found)
    return Part(rows, {"passages": len(entries), "package": version, "seed": setup.seed})


def _about_facts(facts: Sequence[Fact], entries: Sequence[Entry]) -> Iterator[Asked]:
    ids = {(entry.kind, entry.title): entry.id for entry in entries}
    for fact in facts:
        (question,) = questions(fact, held_out=True)
        yield Asked("facts", question, ids[fact.kind, fact.thing], (fact.thing, fact.value))


def _about_nouns(some: Sequence[Noun], chance: random.Random) -> Iterator[Asked]:
    for noun in some:
        question = chance.choice(_ASKED_ABOUT).format(chance.choice(noun.names))
        yield Asked("nouns", question, f"noun/{noun.id}")


@dataclass(frozen=True)
class Found:
    """For each question whether a right passage was found, and how long it took to embed and search."""

    right: Sequence[bool]
    seconds: Sequence[float]


async def _ask(base: KnowledgeBase, loaded: Encoders, asked: Sequence[Asked], mode: SearchMode) -> Found:
    right, seconds = [], []
    options = SearchOptions(mode=mode, per_entry=True)
    for each in asked:
        began = perf_counter()
        vector: Vector | None = None
        if mode is not SearchMode.KEYWORDS:
            (vector,) = await loaded.text.embed_queries([each.question])
        hits = await base.search_texts(vector, DEPTH, each.question, options)
        seconds.append(perf_counter() - began)
        right.append(each.found(hits))
    return Found(right, seconds)


def _rows(asked: Sequence[Asked], found: dict[str, Found]) -> list[Row]:
    """Recall of hybrid and words, beside vectors alone on the same questions; all, and by kind of question."""
    rows: list[Row] = []
    for kind in ("all", *dict.fromkeys(each.kind for each in asked)):
        of = [at for at, each in enumerate(asked) if kind in ("all", each.kind)]
        hits = {name: sum(each.right[at] for at in of) for name, each in found.items()}
        peer = 100 * hits["vectors"] / len(of)
        for name in ("hybrid", "words"):
            value = 100 * hits[name] / len(of)
            barred = (kind, name) == ("all", "hybrid")
            bar, ok = (f">= {_BAR:g} and > peer", value >= _BAR and value > peer) if barred else ("", None)
            title = f"passages, {kind}: recall@{DEPTH}, {name} ({between(hits[name], len(of))} questions)"
            rows.append(Row(title, value, "%", "vectors alone", peer, ratio(value, peer), bar, ok))
    gains = [100.0 * (a - b) for a, b in zip(found["hybrid"].right, found["vectors"].right, strict=True)]
    low, high = confidence_interval(gains)
    gain = f"passages: hybrid over vectors alone (95 % interval {low:.1f} to {high:.1f})"
    rows.append(Row(gain, sum(gains) / len(gains), "points"))
    took, peer_took = (1e3 * median(found[name].seconds) for name in ("hybrid", "vectors"))
    name = "passages: to embed and search one question, hybrid"
    return [*rows, Row(name, took, "ms", "vectors alone", peer_took, ratio(took, peer_took))]
