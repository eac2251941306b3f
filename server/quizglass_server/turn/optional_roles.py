"""What roles that no policy needs do for a turn when the bundle has them.

Each makes a step better and can be left out: without the role, a picture or time, a method gives what the step goes by
otherwise, and a role that fails is left out by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from quizglass_server.domain.regions import Region
from quizglass_server.domain.turns import Evidence, Turn
from quizglass_server.models.prompts import Values
from quizglass_server.roles.table import Models
from quizglass_server.steps.domain import domain_of
from quizglass_server.steps.judge import is_supported
from quizglass_server.steps.lookup.coarse import rerank_coarsely
from quizglass_server.steps.lookup.detect import find_regions
from quizglass_server.steps.read import asks_to_read, find_words, read_words
from quizglass_server.steps.tuning import Tuning
from quizglass_server.turn.step_runner import StepRunner


class Aids:
    """The helpers of one turn."""

    def __init__(self, turn: Turn, runner: StepRunner, models: Models, tuning: Tuning) -> None:
        self._turn = turn
        self._runner = runner
        self._models = models
        self._tuning = tuning
        self._domain: asyncio.Task[str | None] | None = None

    def begin(self) -> None:
        """Begin what takes a while and depends on nothing else."""
        picture, router, question = self._turn.picture, self._models.domain_router, self._turn.question
        if picture is not None and router is not None:
            work = self._runner.run("domain", lambda: domain_of(router, picture, question), optional=True)
            self._domain = asyncio.create_task(work)

    @property
    def running(self) -> tuple[asyncio.Task[str | None], ...]:
        """What is to be ended with the turn."""
        return () if self._domain is None else (self._domain,)

    async def domain(self) -> str:
        """The domain of the question, as prompts name it; empty without a domain router."""
        if self._domain is None:
            return ""
        await asyncio.wait({self._domain})
        return self._domain.result() or ""

    async def words(self, reading: Callable[[], None] = lambda: None) -> str | None:
        """Words printed in the picture; None when they were not read: by nobody, for want of time or of words.

        The gate decides whether and where they are looked for, unless the question is about them.

        Args:
            reading: called when reading begins, which takes a while.
        """
        picture, reader = self._turn.picture, self._models.reader
        if picture is None or reader is None:
            return None
        part = None
        if not asks_to_read(self._turn.question):
            parts = await self._runner.run("gate", lambda: find_words(reader, picture), optional=True)
            if parts == []:
                return None
            part = parts[0] if parts else None
        reading()
        return await self._runner.run("read", lambda: read_words(reader, picture, part), optional=True)

    async def regions(self) -> list[Region]:
        """Where the picture shows what is asked about; none without a detector."""
        picture, detector = self._turn.picture, self._models.detector
        if picture is None or detector is None:
            return []
        question, tuning = self._turn.question, self._tuning
        work = self._runner.run("detect", lambda: find_regions(detector, picture, question, tuning), optional=True)
        return await work or []

    async def coarse(self, passages: Sequence[Evidence]) -> tuple[list[Evidence], list[Evidence]]:
        """The passages that are worth reranking, and the others; all are, without a coarse reranker."""
        picture, reranker = self._turn.picture, self._models.coarse_reranker
        if picture is None or reranker is None:
            return list(passages), []
        tuning = self._tuning
        parted = await self._runner.run(
            "coarse_rerank",
            lambda: rerank_coarsely(reranker, picture, self._turn.question, passages, tuning),
            optional=True,
        )
        return parted or (list(passages), [])

    async def supported(self, values: Values) -> bool | None:
        """Whether the verifier finds an answer supported by its evidence; None when nobody could say."""
        verifier, picture = self._models.deciders.get("verifier"), self._turn.picture
        if verifier is None or not values["evidence"]:
            return None
        return await self._runner.run(
            "judge", lambda: is_supported(verifier, picture, values), optional=True, last=True
        )
