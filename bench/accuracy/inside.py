"""The served models in this process: the verbs of a turn, for what no policy does and so no server can be asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.accuracy.ground import BUDGET_S
from bench.planners import as_turn
from quizglass_lab.pocketworld.questions import Question
from quizglass_server.app import running
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.assistant.turn.toolbox import Toolbox
from quizglass_server.config.load import Settings
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import Evidence
from quizglass_server.knowledge.interface import KnowledgeStore
from quizglass_server.knowledge.pictures import EntryPictures
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.lookup.image_search import picture_evidence
from quizglass_server.steps.lookup.text_search import own_passages, with_passages
from quizglass_server.stores import tuning


@dataclass(frozen=True)
class Verbs:
    """Those of one turn, and what stands behind them."""

    tools: Toolbox
    runner: StepRunner
    journal: Journal


@dataclass(frozen=True)
class Inside:
    """A bundle and a store, open in this process."""

    resources: Resources
    store: KnowledgeStore

    @asynccontextmanager
    async def verbs(self, question: Question) -> AsyncGenerator[Verbs, None]:
        """A turn about a question, with a budget that no step needs."""
        turn = await asyncio.to_thread(as_turn, question)
        journal = Journal(lambda _: None)
        runner = StepRunner(Budget(BUDGET_S), self.resources, journal, "the benchmark")
        async with Toolbox(turn, runner, self.resources, journal) as tools:
            yield Verbs(tools, runner, journal)

    async def shown(self, question: str, entry: str, verbs: Verbs) -> Sequence[Evidence]:
        """An entry by its id, as a picture search that brought it alone would show it.

        Raises:
            NotFound: the store has no such entry.
        """
        evidence = picture_evidence([EntryHit(await self.store.get(entry), 1.0)], 1)
        if most := self.resources.tuning.own_passages:
            encoder = self.resources.models[TEXT_ENCODER]
            own = await verbs.runner.run(own_passages, encoder, question, [entry], most)
            evidence = with_passages(evidence, own or [])
        return verbs.journal.found(evidence)


@asynccontextmanager
async def inside(bundle: Path, knowledge: Path) -> AsyncGenerator[Inside, None]:
    """What a server on this bundle and this store answers with; no other process may have the store open."""
    settings = Settings.model_validate({"bundle": bundle, "knowledge": knowledge, "port": 0})
    async with running(settings) as server:
        services = server.services
        pictures = EntryPictures(services.knowledge, services.decoder.decode)
        resources = Resources(services.models, services.knowledge, tuning(services.bundle), None, pictures)
        yield Inside(resources, services.knowledge)
