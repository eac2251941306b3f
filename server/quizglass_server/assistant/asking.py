"""Takes a question from its fields to its events: checks it, admits it, decodes its picture, runs its turn.

The one way in for gRPC, HTTP and sessions, none of which it knows: a caller hands over the question and says where its
picture comes from (`FrameSource`).
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from quizglass.session import Question
from quizglass.values import Accepted, Done, Exchange, StageTiming, StepEnded, TurnEvent
from quizglass_server.assistant.assistant import Assistant, policy_named
from quizglass_server.assistant.counted import counted
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.assistant.turn.outbox import followed
from quizglass_server.config.settings import RequestLimits
from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain import checks
from quizglass_server.domain.sound import SPEECH_ROLES
from quizglass_server.domain.turns import Picture, Turn
from quizglass_server.errors import InvalidInput, QuizglassError
from quizglass_server.knowledge.sources.guarded import STEP
from quizglass_server.network.login import current_login
from quizglass_server.network.permissions import Permission
from quizglass_server.observe import metrics, tracing
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.ledger import ByteLedger, entered_in
from quizglass_server.scheduling.time_left import Budget

logger = logging.getLogger(__name__)
MAX_FRAMES = 1
MAX_EXCHANGE_CHARS = 2000
MAX_SESSION_CHARS = 64
MAX_ANSWER_TOKENS = 512
_LONGEST_BUDGET_S = 3600.0

Found = TypeVar("Found")
Finish = Callable[[Turn, list[TurnEvent], Done], Done]
"""Completes the last event of a turn, given its question and the events before."""


class FrameSource(Protocol):
    """Where a question's picture comes from."""

    @property
    def size(self) -> int:
        """Bytes that are held for it until it is decoded."""
        ...

    def is_slow(self) -> bool:
        """Whether it takes long to decode. Raises InvalidPicture."""
        ...

    async def picture(self) -> Picture:
        """The decoded picture; what it was decoded from is let go. Raises InvalidPicture, NotFound."""
        ...


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A question whose fields have been checked, ready to run."""

    turn: Turn
    policy: str
    budget: Budget
    understood: Callable[[Turn], Turn] | None = None
    """Resolves what the question refers to in the dialogue before it; called once its own picture is decoded. None: the
    question stands alone."""
    ledger: ByteLedger = field(default_factory=ByteLedger)
    """Where bytes of the question went before its turn began; the turn adds to it."""


class Asking:
    """Checks and runs questions.

    Args:
        assistant: answers them.
        pictures: keeps those that were decoded a moment ago.
        limits: what questions may be at most.
        default_budget_s: seconds for a question that says nothing of its time.
        look_ahead: work ahead of questions, which gives way to turns; None: there is none.
        memory_s: seconds that the visual memory keeps what it is handed.
        elsewhere: what of the server, as the ledger names it, is behind a network address.
    """

    def __init__(
        self,
        assistant: Assistant,
        pictures: PictureCache,
        limits: RequestLimits,
        default_budget_s: float,
        look_ahead: LookAhead | None = None,
        memory_s: float = 0.0,
        elsewhere: Sequence[str] = (),
    ) -> None:
        self.assistant = assistant
        self.memory_s = memory_s
        self.elsewhere = elsewhere
        self.answers_elsewhere = tuple(
            each for each in elsewhere if each not in SPEECH_ROLES and not each.startswith(STEP)
        )
        """Those without which no question is answered: speech and sources beside the store can be left out."""
        self._look_ahead = look_ahead
        self.pictures = pictures
        self._limits = limits
        self._default_budget_s = default_budget_s
        self._forgetting: set[asyncio.Task[None]] = set()

    def forget_prompts(self) -> None:
        """Have the generator keep nothing of prompts and pictures so far; returns at once, and it comes within a step.

        Whatever it would write to files when the server stops is asked for after that.
        """
        task = asyncio.create_task(self._forget_prompts(), name="forget prompts")
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    async def _forget_prompts(self) -> None:
        try:
            await self.assistant.forget_prompts()
        except QuizglassError as error:
            logger.warning("the generator may still have prompts that were forgotten", extra={"reason": error.message})

    @property
    def max_history(self) -> int:
        """Most earlier exchanges that a question may bring along."""
        return self._limits.max_history

    def turn(self, question: Question) -> Turn:
        """The turn of a question, without its picture.

        Raises:
            InvalidInput: a field is wrong.
            NotPermitted: the caller may not use the memory.
        """
        limits = self._limits
        text = checks.text(question.question, "question", longest=limits.max_question_chars)
        checks.at_most(len(question.frames), MAX_FRAMES, "frames")
        checks.at_most(len(question.history), limits.max_history, "history")
        session = checks.text(question.session_id, "session_id", longest=MAX_SESSION_CHARS, required=False)
        tokens = checks.within(question.max_answer_tokens, 0, MAX_ANSWER_TOKENS, "max_answer_tokens")
        history = tuple(
            Exchange(
                checks.text(past.question, f"history[{i}].question", longest=MAX_EXCHANGE_CHARS),
                checks.text(past.answer, f"history[{i}].answer", longest=MAX_EXCHANGE_CHARS, required=False),
            )
            for i, past in enumerate(question.history)
        )
        use = question.memory
        if use.remember or use.recall:
            current_login().need(Permission.MEMORY)
        turn = Turn(uuid.uuid4().hex, text, None, history, tokens, session, use.remember, use.recall)
        return replace(turn, explain=question.explain)

    def policy(self, name: str) -> str:
        """The policy of that name, or the default one.

        Raises:
            InvalidInput: there is none.
        """
        policies = self.assistant.policies
        if not name or name in policies:
            return name or policies[0]
        return policy_named(name, policies, [each.policy for each in self.assistant.policy_statuses if each.servable])

    def budget(self, wish_s: float, left_s: float | None = None) -> Budget:
        """The time that a question gets.

        Args:
            wish_s: seconds that were asked for; 0 for the server's default.
            left_s: seconds until the call's deadline, which bounds either; None: it has none.

        Raises:
            InvalidInput: the wish is negative.
        """
        if wish_s < 0:
            us = round(wish_s * 1e6)
            raise InvalidInput("budget_us", f"{us} is negative; give microseconds, or 0 for the default")
        longest = _LONGEST_BUDGET_S if left_s is None else min(left_s, _LONGEST_BUDGET_S)
        return Budget(min(wish_s or self._default_budget_s, longest))

    @asynccontextmanager
    async def events(
        self, asked: TurnRequest, source: FrameSource | None, finish: Finish
    ) -> AsyncIterator[AsyncIterable[TurnEvent]]:
        """Run a turn, and give its events as they come; leaving early ends it. Arguments are those of `run`.

        Raises:
            QuizglassError: when the events have ended, if the turn failed.
        """
        async with followed(lambda tell: self.run(asked, source, tell, finish)) as events:
            yield events

    async def run(
        self, asked: TurnRequest, source: FrameSource | None, tell: Callable[[TurnEvent], None], finish: Finish
    ) -> None:
        """Run a turn to its end, whether or not anybody reads its events: it keeps its permit as long as it works.

        Args:
            asked: the question.
            source: where its picture comes from; None: it has none of its own.
            tell: takes each event.
            finish: completes the last event.

        Raises:
            QuizglassError: the turn failed.
        """
        with entered_in(asked.ledger), counted(asked.turn.id, asked.policy, tell) as telling:
            await self._run(asked, source, telling, finish)

    async def _run(
        self, asked: TurnRequest, source: FrameSource | None, tell: Callable[[TurnEvent], None], finish: Finish
    ) -> None:
        turn, budget = asked.turn, asked.budget
        decoding: tuple[StageTiming, ...] = ()
        # Encoded pictures take less memory, so decoding waits until the turn is admitted. A picture that is slow to
        # decode is decoded before: it may wait for other slow ones, and would hold a place that ordinary turns need.
        if source is not None and source.is_slow():
            turn, decoding = await self._pictured(turn, source, budget)
        async with AsyncExitStack() as place:
            if placed := await self._placed(place, budget):
                if source is not None and turn.picture is None:
                    turn, decoding = await self._pictured(turn, source, budget)
                if asked.understood is not None:
                    turn = asked.understood(turn)
                await self._seen_ahead(turn.picture.sha256 if turn.picture else b"", budget)
            tell(Accepted(asked.policy, (turn.picture.sha256,) if turn.picture else (), budget.total_s))
            for took in decoding if turn.explain else ():
                tell(StepEnded(took.stage, started=-took.duration, duration=took.duration))
            told: list[TurnEvent] = []

            def pass_on(event: TurnEvent) -> None:
                if isinstance(event, Done):
                    ledger = asked.ledger.entries(self.memory_s, self.elsewhere)
                    event = finish(turn, told, replace(event, timings=(*decoding, *event.timings), ledger=ledger))
                told.append(event)
                tell(event)

            if placed:
                await self.assistant.run(turn, asked.policy, budget, pass_on)
            else:
                self.assistant.run_out(turn, pass_on)

    async def beforehand(
        self, picture: bytes, work: Callable[[], Awaitable[Found]], budget: Budget, most_s: float
    ) -> Found | None:
        """Find out, before its turn, what a question's picture depends on; None where there was no time.

        The work takes a permit, as a turn does, and begins when work ahead for the picture has ended, so that nothing
        is done twice.

        Args:
            picture: SHA-256 of its picture.
            work: finds it out.
            budget: the question's time, of which waiting for the permit takes its part.
            most_s: seconds that the work may take.

        Raises:
            Overloaded: as for turns.
        """
        async with AsyncExitStack() as place:
            if not await self._placed(place, budget):
                return None
            await self._seen_ahead(picture, budget)
            with suppress(TimeoutError), due_within(budget.left_s):
                async with asyncio.timeout(min(most_s, budget.left_s)):
                    return await work()
        return None

    async def _placed(self, place: AsyncExitStack, budget: Budget) -> bool:
        """Wait for a permit, which `place` gives back; False if the time ran out before."""
        began = time.monotonic()
        try:
            with tracing.stage("queue"):
                async with asyncio.timeout(budget.left_s):
                    await place.enter_async_context(self.assistant.admission.admit())
        except TimeoutError:
            return False
        finally:
            metrics.QUEUE_SECONDS.observe(time.monotonic() - began)
        return True

    async def _seen_ahead(self, picture: bytes, budget: Budget) -> None:
        """Let work ahead for this picture finish, within the budget, and stop all other work ahead."""
        if self._look_ahead is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(budget.left_s):
                    await self._look_ahead.give_way(picture)

    async def _pictured(self, turn: Turn, source: FrameSource, budget: Budget) -> tuple[Turn, tuple[StageTiming, ...]]:
        """Decode the picture, within the budget and the memory for requests; the turn with it, and how long it took."""
        with due_within(budget.left_s):
            async with self.pictures.received(source.size):
                started = time.monotonic_ns()
                with tracing.stage("decode"):
                    picture = await source.picture()
                took = StageTiming("decode", (time.monotonic_ns() - started) / 1e9)
                return replace(turn, picture=picture), (took,)
