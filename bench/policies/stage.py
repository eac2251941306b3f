"""A world and an assistant in this process, with generator and deciders behind those of `given`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.progress import Progress

from bench.planners import as_turn
from bench.policies.given import GivenDecider, GivenGenerator, Span
from bench.worlds import UNSEEN_SHARE, Trial, load, prepare
from quizglass.values import AbstainReason, Done, EvidenceFound, TurnEvent
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.scoring.answers import exact_match
from quizglass_server.app import running
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.assistant.turn.toolbox import Toolbox
from quizglass_server.config.load import Settings
from quizglass_server.domain.turns import Turn
from quizglass_server.roles.generator import GENERATOR
from quizglass_server.roles.table import Models
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.stores import tuning

PLENTY_S = 120.0
"""A budget that no turn needs."""


@dataclass(frozen=True)
class Setup:
    """What every section works with."""

    quick: bool
    """Small counts, to see that everything runs; the figures mean nothing."""
    folder: Path
    bundle: Path
    seed: int
    things: int
    say: Callable[[str], None]
    """Shows what is being done."""

    def count(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Outcome:
    """A turn that was asked in this process."""

    question: Question
    done: Done
    seconds: float
    entries: tuple[str, ...]
    """That the searches brought back and the generator was shown, in order."""
    spans: tuple[Span, ...]

    @property
    def right(self) -> bool:
        """Whether the answer is exactly right after normalisation."""
        return exact_match(self.done.answer, self.question.answer, self.question.aliases)

    @property
    def unsupported(self) -> bool:
        """Whether an answer was written and refused because nothing bears it out."""
        return self.done.abstain_reason is AbstainReason.UNSUPPORTED

    @property
    def found(self) -> bool:
        """Whether the entry of the last hop is among what was shown."""
        return bool(self.question.hops) and self.question.hops[-1].entry in self.entries


class Stage:
    """Asks questions under policies, and hands out the verbs of a turn."""

    def __init__(self, trial: Trial, resources: Resources, given: GivenGenerator) -> None:
        self.trial = trial
        self._resources = resources
        self.given = given
        self._assistant = Assistant(resources, has=lambda part: True)

    async def ask(self, question: Question, policy: str, budget_s: float = PLENTY_S) -> Outcome:
        """One turn, whatever it takes."""
        turn = await asyncio.to_thread(as_turn, question)
        told: list[TurnEvent] = []
        with self.given.about(question):
            began = perf_counter()
            await self._assistant.run(turn, policy, Budget(budget_s), told.append)
            seconds = perf_counter() - began
        found = [event for event in told if isinstance(event, EvidenceFound)]
        entries = [item.entry_id for event in found for item in event.items if item.used]
        if not isinstance(done := told[-1], Done):
            raise RuntimeError(f"a turn of {policy} ended without its last event")
        return Outcome(question, done, seconds, tuple(entries), tuple(self.given.spans))

    @asynccontextmanager
    async def tools(self, question: Question, kind: type[Toolbox] = Toolbox) -> AsyncGenerator[Toolbox, None]:
        """The verbs of a turn about a question."""
        turn: Turn = await asyncio.to_thread(as_turn, question)
        journal = Journal(lambda _: None)
        runner = StepRunner(Budget(PLENTY_S), self._resources, journal, "the benchmark")
        with self.given.about(question):
            async with kind(turn, runner, self._resources, journal) as tools:
                yield tools


@asynccontextmanager
async def staged(setup: Setup) -> AsyncGenerator[Stage, None]:
    """A world of `setup.things` things, imported, behind an assistant."""
    folder = setup.folder / f"world-{setup.seed}-{setup.things}"
    trial = prepare(setup.seed, setup.things, setup.count(600, 40), folder)
    async with AsyncExitStack() as stack:
        settings = Settings.model_validate({"bundle": setup.bundle, "knowledge": folder / "knowledge", "port": 0})
        server = await stack.enter_async_context(running(settings))
        setup.say("importing the world")
        await asyncio.to_thread(load, server.address, folder, Progress(disable=True))
        services = server.services
        generator, deciders = services.models[GENERATOR], services.models.deciders
        if generator is None:
            raise RuntimeError(f"{setup.bundle} has no generator")
        given = GivenGenerator(generator)
        models = Models({role: GivenDecider(own, role, given) for role, own in deciders.items()})
        models.others = services.models.others | {GENERATOR.name: given}
        yield Stage(trial, Resources(models, services.knowledge, tuning(services.bundle)), given)


def of_family(trial: Trial, family: str, group: str, count: int) -> Sequence[Question]:
    """Questions of one family, which may be rare in its group."""
    many = make_questions(trial.world, 64 * count, trial.seed, groups=(group,), unseen_share=UNSEEN_SHARE)
    return [question for question in many if question.family == family][:count]
