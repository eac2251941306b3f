"""One source as turns ask it: within its time, once for the same question, and left alone while it fails."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Annotated

from annotated_types import Ge, Gt, Le
from cachetools import TTLCache

from quizglass.values import SourceCapability
from quizglass_server.errors import BudgetExceeded, SourceFailed
from quizglass_server.knowledge.sources.cleaning import cleaned
from quizglass_server.knowledge.sources.protocol import (
    ImageSource,
    KnowledgeSource,
    Passage,
    PictureQuery,
    SourceError,
    TextQuery,
    TextSource,
)
from quizglass_server.observe import metrics
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.ledger import handed, text_size

logger = logging.getLogger(__name__)

STEP = "source."
"""What the names of sources begin with among steps, and in a turn's ledger."""
_KEPT = 256
"""Answers in a source's cache."""
_TRIES, PAUSE_S = 3, 30.0
"""Failures in a row after which it is left alone, and for how long; the next failure pauses it again."""
_MOST_WHY = 200


@dataclass(frozen=True, slots=True)
class Terms:
    """What a source is given, and how much it counts."""

    trust: Annotated[float, Gt(0), Le(1)] = 0.5
    """Weight of its ranks, and factor on what a reranker makes of its passages; the store's is 1."""
    budget_s: Annotated[float, Gt(0), Le(60)] = 1.0
    """Seconds that a search may take."""
    passages: Annotated[int, Ge(1), Le(20)] = 5
    """Most that a search brings."""
    cache_s: Annotated[float, Ge(0), Le(86400)] = 300.0
    """Seconds for which an answer is kept; 0: none is."""


@dataclass(slots=True)
class _Health:
    """How a source answers one tenant."""

    why: str = ""
    """Why the last search failed; empty: it did not."""
    failures: int = 0
    """In a row."""
    paused_until: float = 0.0


class GuardedSource:
    """One source of the configuration. That it fails for one tenant, whose questions may be the reason, keeps no other
    tenant's from it, and does not show there.

    Args:
        name: its name there.
        kind: what it is: "searxng".
        source: what is asked.
        terms: what it is given.
        open: whether it may be asked at all; not one that is remote, of an operator who wants LOCAL_ONLY.
        now: seconds, for cache and pauses.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        source: KnowledgeSource,
        terms: Terms,
        *,
        open: bool = True,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self.name = name
        self.kind = kind
        self.terms = terms
        self.open = open
        self._source = source
        self._now = now
        self._cache: TTLCache[tuple[str, str], list[Passage]] = TTLCache(_KEPT, terms.cache_s, now)
        self._healths: defaultdict[str, _Health] = defaultdict(_Health)
        """By tenant, of those for which it fails."""
        self._running = set[asyncio.Task[list[Passage]]]()

    @property
    def why(self) -> str:
        """Why the last search of the current tenant failed; empty: it did not."""
        health = self._healths.get(current_client().tenant)
        return health.why if health else ""

    @property
    def step(self) -> str:
        """Its name among the steps of a turn."""
        return STEP + self.name

    @property
    def remote(self) -> bool:
        """Whether a search may leave the machine."""
        return self._source.remote

    @property
    def by_vector(self) -> bool:
        """Whether texts are searched by the query's vector; others are asked before that is there."""
        return bool(getattr(self._source, "by_vector", False))

    @property
    def finds(self) -> tuple[str, ...]:
        """What it can be searched by: "text", "image"."""
        kinds = {"text": TextSource, "image": ImageSource}
        return tuple(name for name, kind in kinds.items() if isinstance(self._source, kind))

    @property
    def status(self) -> SourceCapability:
        """What clients may know of it."""
        why = self.why or ("" if self.open else "the server is LOCAL_ONLY: nothing leaves its machine")
        return SourceCapability(self.name, self.kind, self.finds, self.remote, not why, why)

    async def texts(self, query: TextQuery) -> list[Passage]:
        """Passages for a query, best first.

        Raises:
            BudgetExceeded: it did not answer in its time.
            SourceFailed: it failed, or is left alone for a while.
        """
        source = self._source
        assert isinstance(source, TextSource)
        key = current_client().owner, query.text  # the time of an answer must not show what others asked
        kept = self._cache.get(key)
        metrics.CACHE.add("sources", "miss" if kept is None else "hit")
        if kept is not None:
            return kept
        found = await self._asked(lambda: source.search_text(query, self.terms.passages), text_size(query.text))
        if self.terms.cache_s:
            self._cache[key] = found
        return found

    async def pictures(self, query: PictureQuery) -> list[Passage]:
        """What pictures that look like this one show, best first. Raises as `texts`."""
        source = self._source
        assert isinstance(source, ImageSource)
        size = query.picture.pixels.nbytes + sum(vector.nbytes for vector in query.vectors)
        return await self._asked(lambda: source.search_picture(query, self.terms.passages), size)

    async def close(self) -> None:
        """Let go of it, and end what still runs; one that fails at that is left."""
        for task in self._running:
            task.cancel()
        try:
            async with asyncio.timeout(self.terms.budget_s):
                await self._source.close()
        except Exception:
            logger.warning("a source did not close", exc_info=True, extra={"source": self.name})

    async def _asked(self, search: Callable[[], Awaitable[object]], size: int) -> list[Passage]:
        health = self._healths.get(current_client().tenant)
        if health is not None and self._now() < health.paused_until:
            raise SourceFailed(self.name, health.why)
        handed(self.step, size)

        async def work() -> list[Passage]:
            return cleaned(await search(), self.terms.passages)

        task = asyncio.create_task(work(), name=self.step)
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            await asyncio.wait({task}, timeout=self.terms.budget_s)
        finally:
            task.cancel()  # not waited for: it may not heed that
        if not task.done() or task.cancelled():
            self._failed(f"no answer within {self.terms.budget_s:g} s")
            raise BudgetExceeded(f"source {self.name}: {self.why}")
        if (error := task.exception()) is not None:
            # Others' messages may hold what was asked, which is never logged.
            self._failed(str(error) if isinstance(error, SourceError) else type(error).__name__)
            raise SourceFailed(self.name, self.why)
        self._answered()
        return task.result()

    def _ended(self, task: asyncio.Task[list[Passage]]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, so that none is complained about

    def _failed(self, why: str) -> None:
        if not self.why:
            logger.warning("a source fails", extra={"source": self.name, "why": why[:_MOST_WHY]})
        health = self._healths[current_client().tenant]
        health.why = why[:_MOST_WHY]
        health.failures += 1
        if health.failures >= _TRIES:
            health.paused_until = self._now() + PAUSE_S

    def _answered(self) -> None:
        if self._healths.pop(current_client().tenant, None) is not None:
            logger.info("a source answers again", extra={"source": self.name})


class KnowledgeSources:
    """The sources of one server, or of one tenant of it.

    Args:
        each: in the order of the configuration.
    """

    def __init__(self, each: Sequence[GuardedSource] = ()) -> None:
        self.each = tuple(each)

    def that_find(self, kind: str) -> list[GuardedSource]:
        """Those that can be searched by "text" or by "image"."""
        return [source for source in self.each if kind in source.finds]

    def beside(self, has: Callable[[str], bool]) -> Callable[[str], bool]:
        """Says what there is, given what a bundle has: text can be searched without its text encoder."""
        return lambda part: has(part) or (part == "text_encoder" and bool(self.that_find("text")))

    @property
    def remote(self) -> tuple[str, ...]:
        """Those whose searches may leave the machine, as the ledger names them."""
        return tuple(source.step for source in self.each if source.remote)

    async def close(self) -> None:
        """Let go of all of them."""
        await asyncio.gather(*(source.close() for source in self.each))
