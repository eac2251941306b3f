"""A dummy set of models and knowledge that drives whole turns: scripted, deterministic, no engine."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from quizglass.values import Done, Entry, Exchange, Plan, Region, TurnEvent
from quizglass_bundle.inputs.prompts import EXAMPLE, Values
from quizglass_bundle.tuning import Tuning
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.turn.outbox import Outbox, followed
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions
from quizglass_server.domain.turns import GenerationEnd, Picture, Token, Turn, Vector
from quizglass_server.roles import table
from quizglass_server.roles.generator import GENERATOR, GenerationRequest
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.reader import READER
from quizglass_server.roles.reranker import RERANKER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.clock import record_engine
from quizglass_server.scheduling.time_left import Budget

VELMORA = Entry("velmora", "Velmora", "Velmora is a red car made by Tandric.", source="pocketworld")
TAGRIN = Entry("tagrin", "Tagrin", "Tagrin is a blue boat made by Orvex.", source="pocketworld")
CHUNKS = (
    ChunkHit(TAGRIN, "The Tagrin lies in Brenn.", 0.9),
    ChunkHit(VELMORA, "The Velmora costs 45 crowns.", 0.8),
    ChunkHit(VELMORA, "The Velmora was first made in 1974.", 0.7),
)
Hook = Callable[[], Awaitable[None]]


def picture(seed: int = 0, width: int = 8, height: int = 6) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Picture(hashlib.sha256(pixels.tobytes()).digest(), pixels)


def turn(question: str = "How much does this cost?", *, shown: bool = True, history: Sequence[Exchange] = ()) -> Turn:
    return Turn("0" * 32, question, picture() if shown else None, tuple(history))


async def nothing() -> None:
    """A hook that does not wait."""


async def breath() -> None:
    """What separates the tokens of a real generator: others may run, and events can leave."""
    for _ in range(4):
        await asyncio.sleep(0)


@dataclass
class Calls:
    """What was asked of the models, in order: (role, argument)."""

    made: list[tuple[str, Any]] = field(default_factory=list)

    def of(self, role: str) -> list[Any]:
        return [argument for name, argument in self.made if name == role]


class Models(table.Models):
    """Every role, scripted by attributes; `before` holds what a role waits for, or fails with, first."""

    def __init__(self) -> None:
        super().__init__(deciders={"planner": self})
        self[IMAGE_ENCODER] = self[TEXT_ENCODER] = self[GENERATOR] = self[RERANKER] = self[READER] = self
        self.calls = Calls()
        self.before: dict[str, Hook] = {}
        self.cancelled: list[str] = []
        self.decision = Plan.BOTH
        self.lines: list[str] = []
        self.scores: dict[str, float] = {"45 crowns": 0.9, "1974": 0.6}
        self.answer = [" 45", " crowns"]
        self.query = [" How much does the", " Velmora cost?"]
        self.end = "stop"
        self.lettered: Region | None = Region(0.0, 0.0, 1.0, 0.5)
        self.reads: dict[str, int] = {}
        """Tokens of a prompt, by role; a completion has 20."""
        self.comparing: tuple[str, ...] = ()
        """Prompts that show pictures of entries."""
        self.shows_several = False
        """Whether the planner's does."""
        self.read_parts: list[Region | None] = []
        self.prepared_with: Values | None = None
        """What was known when the generator last looked ahead."""
        self.reads_all = False
        """Whether the reader is to read every picture."""
        self.needs = frozenset(EXAMPLE)
        """Values that prompts name."""
        self.sees = True
        """Whether the generator does."""
        self.dimension = 4
        self.fingerprint = "dummy"

    async def load_rest(self) -> None:
        """There is no more."""

    async def _enter(self, role: str, argument: Any) -> None:
        self.calls.made.append((role, argument))
        try:
            await self.before.get(role, nothing)()
        except asyncio.CancelledError:
            self.cancelled.append(role)
            raise
        record_engine(1, self.reads.get(role, 0))

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        await self._enter("planner", values["words"])
        return [(self.decision.value, 1.0)]

    async def look_at(self, picture: Picture) -> None:
        self.calls.made.append(("planner looks", picture.sha256))

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        await self._enter("reranker", list(passages))
        return [max((s for key, s in self.scores.items() if key in passage), default=0.1) for passage in passages]

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        await self._enter("image_encoder", [view.pixels.shape for view in pictures])
        return [np.ones(4, np.float32) / 2 for _ in pictures]

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        await self._enter("text_encoder", list(texts))
        return [np.ones(4, np.float32) / 2 for _ in texts]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return [np.ones(4, np.float32) / 2 for _ in texts]

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def find(self, picture: Picture) -> Region | None:
        await self._enter("gate", picture.sha256)
        return self.lettered

    async def read(self, picture: Picture, part: Region | None = None) -> list[str]:
        await self._enter("reader", picture.sha256)
        self.read_parts.append(part)
        return self.lines

    def names(self, task: str) -> frozenset[str]:
        return self.needs

    @property
    def sees_pictures(self) -> bool:
        return self.sees

    def shows_entries(self, task: str) -> bool:
        return task in self.comparing

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        await self._enter("choose", request)
        likeliest = list(Plan).index(self.decision) % len(labels)
        return [0.7 if place == likeliest else 0.1 for place in range(len(labels))]

    async def prepare(self, picture: Picture, known: Values | None = None) -> None:
        self.prepared_with = known
        await self._enter("prepare", picture.sha256)

    async def read_ahead(self, request: GenerationRequest) -> None:
        await self._enter("read ahead", request)

    async def forget(self) -> None:
        await self._enter("forget", None)

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        await self._enter(request.task, request)
        pieces = self.query if request.task == "rewrite" else self.answer
        for position, piece in enumerate(pieces):
            try:
                await self.before.get(f"token {position}", breath)()
            except asyncio.CancelledError:
                self.cancelled.append("token")
                raise
            yield Token(piece, 0.5 if position else 0.9)
        record_engine(2, 20, len(pieces))
        yield GenerationEnd(self.end, prompt_tokens=20, answer_tokens=len(pieces))


class Knowledge:
    """Two entries and three chunks, found whatever is asked."""

    def __init__(self) -> None:
        self.entries = [EntryHit(VELMORA, 0.8), EntryHit(TAGRIN, 0.4)]
        self.chunks = list(CHUNKS)
        self.searches: list[str] = []

    def count(self) -> int:
        return len(self.entries)

    async def search_views(self, vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        self.searches.append("image")
        return [self.entries[:limit] for _ in vectors]

    async def search_crops(self, vectors: Sequence[Vector], limit: int, finding: object = None) -> list[EntryHit]:
        return (await self.search_views(vectors[:1], limit))[0]

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", finding: object = None
    ) -> list[ChunkHit]:
        self.searches.append("text")
        among = finding.entries if isinstance(finding, SearchOptions) else ()
        return [chunk for chunk in self.chunks if not among or chunk.entry.id in among][:limit]


class World:
    """An assistant on dummies."""

    def __init__(self, **tuning: Any) -> None:
        self.models = Models()
        self.knowledge = Knowledge()
        self.resources = Resources(self.models, self.knowledge, Tuning(**tuning))
        self.assistant = Assistant(self.resources)

    async def ask(
        self,
        asked: Turn | None = None,
        policy: str = "planning-agent+",
        budget_s: float = 60.0,
        now: Callable[[], float] = monotonic,
    ) -> list[TurnEvent]:
        async with self.following(asked or turn(), policy, Budget(budget_s, now)) as events:
            return [event async for event in events]

    def following(self, asked: Turn, policy: str, budget: Budget) -> AbstractAsyncContextManager[Outbox]:
        return followed(partial(self.assistant.run, asked, policy, budget))


def done(events: Sequence[TurnEvent]) -> Done:
    last = events[-1]
    assert isinstance(last, Done)
    return last
