"""The questions of one session: one runs, others wait behind it, and each can be ended. Nothing is answered twice."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Protocol

from quizglass.session import (
    Cause,
    Interrupted,
    OutputProfile,
    Overlap,
    Progress,
    Question,
    ServerSaid,
    SessionAsk,
    TurnUpdate,
)
from quizglass.values import Accepted, AnswerDelta, Done, FinishReason, SkippedStep, TurnEvent, Verdict, VerdictOutcome
from quizglass_server.assistant.asking import Asking, TurnRequest
from quizglass_server.assistant.turn.stages import watching
from quizglass_server.domain import checks
from quizglass_server.domain.turns import Turn
from quizglass_server.errors import InvalidInput, Overloaded, TurnRunning
from quizglass_server.scheduling.ledger import ByteLedger, entered_in
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.session.asked_question import AskedQuestion
from quizglass_server.session.coaching.closer import REASON, STEP
from quizglass_server.session.conversation import Conversation, Said
from quizglass_server.session.dialogue.following import (
    Dialogue,
    Spoken,
    appended,
    follow,
    spoken,
    understood,
    with_picture,
)
from quizglass_server.session.dialogue.references import asks_to_go_on, asks_to_say_again
from quizglass_server.session.frame_sources import SharpenedFrame, ShelfFrame
from quizglass_server.session.output.profile import LEAD_IN, Shape
from quizglass_server.session.question_frames import QuestionFrames
from quizglass_server.session.segments import Segmenter, cleaned

logger = logging.getLogger(__name__)

MAX_ID_CHARS = 64
_REMEMBERED = 256
"""Most questions that are over and whose names are still known."""
_RETRY_S = 1.0
_UNHEARD = "?"
"""Stands for the words of a question that has not been spoken yet."""


class Speaker(Protocol):
    """Takes what turns have to say; implemented by the session."""

    def emit(self, said: ServerSaid) -> None:
        """Send a message, under the next number."""
        ...

    def failed(self, ask_id: str, message_id: int, error: Exception) -> None:
        """Tell that a question failed."""
        ...

    def settled(self) -> None:
        """Note that a question is over."""
        ...

    def silence(self, ask_id: str) -> None:
        """Say no more of an answer, which is about to be interrupted."""
        ...

    @property
    def stays_here(self) -> bool:
        """Whether nothing of it may leave this machine."""
        ...


class Turns:
    """The questions of one session.

    Args:
        asking: answers them.
        frames: brings those that questions are about.
        conversation: what was said.
        speaker: says what they have to say.
        queue: how many wait at most.
        output: what answers should look like.
    """

    def __init__(
        self,
        asking: Asking,
        frames: QuestionFrames,
        conversation: Conversation,
        speaker: Speaker,
        *,
        queue: int,
        output: OutputProfile,
    ) -> None:
        self._asking = asking
        self._frames = frames
        self._conversation = conversation
        self._speaker = speaker
        self._queue = queue
        self._output = output
        self.most_words = 0
        """Most words of answers to questions from now on, besides the limit of their output; 0: any number."""
        self._running: AskedQuestion | None = None
        self._waiting: deque[AskedQuestion] = deque()
        self._asked: OrderedDict[str, bytes] = OrderedDict()
        """Hashes of questions, by name: whole, the last 256 messages of a client would be megabytes."""
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def open_asks(self) -> tuple[str, ...]:
        """Names of the questions that run or wait."""
        return tuple(each.ask.id for each in self._all)

    def check(self, question: Question | None, overlap: Overlap) -> None:
        """Raise what `ask` would for a question whose words are not known yet; None: nothing goes with them."""
        question = question or Question("")
        if question.question:
            raise InvalidInput("request.question", "stays empty: it is heard")
        self._sound(replace(question, question=_UNHEARD))
        if overlap is Overlap.REFUSE and (every := self._all):
            raise TurnRunning(every[0].ask.id)

    def knows(self, ask_id: str) -> bool:
        """Whether a question of that name was asked."""
        return ask_id in self._asked

    def ask(self, ask: SessionAsk, message_id: int, ledger: ByteLedger | None = None) -> None:
        """Take a question; taking the same one again changes nothing.

        Args:
            ask: the question.
            message_id: of the message that brought it.
            ledger: of one that was spoken: where its sound went.

        Raises:
            InvalidInput: a field is wrong, or its name was used for another question.
            TurnRunning: another one runs, and it was not to wait.
            Overloaded: too many wait.
        """
        checks.text(ask.id, "id", longest=MAX_ID_CHARS)
        asked = sha256(repr(ask).encode(errors="surrogatepass")).digest()
        if (before := self._asked.get(ask.id)) is not None:
            if before != asked:
                raise InvalidInput("id", f"{ask.id!r} is the name of another question of this session")
            return
        self._asked[ask.id] = asked  # also of one that is refused: the refusal is its end, however often it comes
        while len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        turn, policy = self._sound(ask.request)
        if every := self._all:
            if ask.overlap is Overlap.REFUSE:
                raise TurnRunning(every[0].ask.id)
            if ask.overlap is Overlap.QUEUE and len(self._waiting) >= self._queue:
                raise Overloaded(f"{self._queue} questions wait already; try again later", _RETRY_S)
            if ask.overlap is not Overlap.QUEUE:
                self.interrupt(Cause.ASK, by=ask.id)
        said = Said(ask.id, turn.question)
        asked_question = AskedQuestion(ask, message_id, turn, policy, said, self._segmenter())
        if ledger is not None:
            asked_question.spoken = True
            asked_question.ledger.include(ledger)
        self._waiting.append(asked_question)
        self._next()

    def cancel(self, ask_id: str) -> None:
        """End a question, or all of them; nothing happens for one that is over."""
        self.interrupt(Cause.CANCEL, only=ask_id)

    def interrupt(self, cause: Cause, *, by: str = "", only: str = "") -> None:
        """End all questions, or the one of that name, and tell the client of each."""
        for running in self._all:
            if not running.over and only in ("", running.ask.id):
                self._end(running)
                said = running.said
                said.segments, said.rest = tuple(running.segmenter.confirmed), running.segmenter.unconfirmed
                self._speaker.silence(running.ask.id)
                self._speaker.emit(Interrupted(running.ask.id, cause, by, said.heard, said.unheard))
        self._speaker.settled()
        self._next()

    def forget(self) -> int:
        """End all questions, tell the client of each, and forget them; returns how many were ended."""
        count = len(self._all)
        self.interrupt(Cause.CANCEL)
        self._asked.clear()
        return count

    def stop(self) -> None:
        """End all questions without telling anybody."""
        for running in self._all:
            self._end(running)

    def progress(self) -> Progress | None:
        """Where the turn that runs is; None: no turn runs."""
        if (running := self._running) is None:
            return None
        now = time.monotonic()
        stage, since = running.watch.latest or (running.stage, 0.0)
        left = self._asking.assistant.usual_s(stage) - (now - since) if since else 0.0
        return Progress(running.ask.id, stage, now - running.asked, max(0.0, left))

    @property
    def _all(self) -> Sequence[AskedQuestion]:
        """The questions that are not over, in their order."""
        running = self._running
        return [*([running] if running is not None and not running.over else []), *self._waiting]

    def _sound(self, request: Question) -> tuple[Turn, str]:
        try:
            if request.session:
                raise InvalidInput("session", "stays empty: the session is its dialogue")
            for frame in request.frames:
                if frame.encoded is not None:
                    raise InvalidInput(
                        "frames[0].encoded", "is not taken here; send the frame, and name it by its sha256"
                    )
                checks.sha256(frame.sha256 or b"", "frames[0].sha256")
            self._asking.budget(request.budget)
            return self._asking.turn(request), self._asking.policy(request.policy)
        except InvalidInput as error:
            raise InvalidInput(f"request.{error.field}", error.description) from None

    def _next(self) -> None:
        if self._running is not None or not self._waiting:
            return
        running = self._running = self._waiting.popleft()
        self._conversation.add(running.said)
        running.before = frozenset(self._ending)
        running.task = asyncio.create_task(self._run(running), name=f"turn {running.turn.id}")
        running.task.add_done_callback(self._ending.discard)

    def _end(self, running: AskedQuestion) -> None:
        """End a question: no more events follow."""
        running.over = True
        if running is self._running:
            self._running = None
        else:
            self._waiting.remove(running)
        if running.task is not None and not running.task.done():
            self._ending.add(running.task)
            running.task.cancel()

    async def _run(self, running: AskedQuestion) -> None:
        error: Exception | None = None
        try:
            with watching(running.watch), self._led_in(running):
                await self._answer(running)
        except Exception as failure:
            error = failure
        if running is not self._running:  # it was ended, and another one has its place
            return
        self._running = None
        if error is not None and not running.over:
            self._speaker.failed(running.ask.id, running.message_id, error)
        running.over = True
        self._speaker.settled()
        self._next()

    async def _answer(self, running: AskedQuestion) -> None:
        rest = self._conversation.unheard if not running.ask.request.frames else ""
        if rest and asks_to_go_on(running.turn.question):
            self._go_on(running, rest)
            return
        may_be_heard = running.spoken or not running.ask.request.frames
        again = may_be_heard and asks_to_say_again(running.turn.question)
        if again and (last := self._conversation.last) is not None:
            self._say_again(running, last)
            return
        dialogue = appended(self._conversation.dialogue, running.turn.history)
        with entered_in(running.ledger):
            source = await self._frames.source(running)
            meant = await self._meant(running, dialogue, source) if dialogue else None
        await running.engines_free()
        budget = self._asking.budget(running.ask.request.budget)
        if running.looked:
            budget = Budget(budget.total_s - running.looked)
        running.stage = "queue"
        turn = replace(running.turn, stays_here=self._speaker.stays_here)
        asked = TurnRequest(turn, running.policy, budget, meant, running.ledger)
        await self._asking.run(asked, source, partial(self._tell, running), partial(_finished, running))

    async def _meant(
        self, running: AskedQuestion, dialogue: Dialogue, source: ShelfFrame | SharpenedFrame | None
    ) -> Callable[[Turn], Turn]:
        """What makes of the turn what it means after a dialogue, whose picture is there if it may be about that."""
        longest, held = self._asking.max_history, self._asking.pictures.held
        if source is not None:
            return partial(understood, dialogue=dialogue, longest=longest, held=held)
        followed = follow(running.turn, dialogue, longest)
        await self._frames.bring(running, followed.frame, needed=followed.needed)
        return partial(with_picture, followed=followed, held=held)

    def _go_on(self, running: AskedQuestion, rest: str) -> None:
        """Say what was written of an earlier answer and not heard."""
        running.said.spoken = self._conversation.gone_on()
        self._say(running, rest)

    def _say_again(self, running: AskedQuestion, last: Spoken) -> None:
        """Say the last answer once more, also what was not heard of it."""
        answer = f"{last.answer} {last.unheard}".strip()
        running.said.spoken = replace(last, answer=answer, unheard="")
        self._say(running, answer)

    def _say(self, running: AskedQuestion, rest: str) -> None:
        """Answer with what is known, without a lookup."""
        done = Done(rest, FinishReason.COMPLETE, ledger=running.ledger.entries())
        self._tell(running, Accepted(running.policy, (), 0.0))
        self._tell(running, AnswerDelta(rest))
        self._tell(running, Verdict(VerdictOutcome.UNCHECKED, 0.0, 0.0))
        self._tell(running, done)

    def _segmenter(self) -> Segmenter:
        limits = [words for words in (self._output.max_words, self.most_words) if words]
        return Segmenter(Shape(self._output), min(limits, default=0))

    @contextmanager
    def _led_in(self, running: AskedQuestion) -> Iterator[None]:
        """Say something short where nothing of the answer is there after a while."""
        timer = None
        if after := self._output.lead_in_after:
            timer = asyncio.get_running_loop().call_later(after, self._lead_in, running)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _lead_in(self, running: AskedQuestion) -> None:
        segments = () if running.over else running.segmenter.lead_in(self._output.lead_in or LEAD_IN)
        if segments:
            running.said.segments = running.segmenter.confirmed
            elapsed = time.monotonic() - running.began if running.began else 0.0
            self._speaker.emit(TurnUpdate(running.ask.id, running.turn.id, 0, elapsed, None, segments))

    def _tell(self, running: AskedQuestion, event: TurnEvent) -> None:
        if running.over:
            return
        segments = running.segmenter.take(cleaned(event, lines=True))
        event = cleaned(event)
        if isinstance(event, Accepted) and running.frame:
            event = replace(event, frame_sha256=(running.frame,))
        said = running.said
        said.segments, said.rest = running.segmenter.confirmed, running.segmenter.unconfirmed
        now = time.monotonic()
        running.began = running.began or now
        running.seq += 1
        update = TurnUpdate(running.ask.id, running.turn.id, running.seq, now - running.began, event, segments)
        if (
            isinstance(event, Done)
            and event.abstain_reason
            and (frame := self._frames.shelf.whole(said.frame)) is not None
        ):
            update = replace(update, fault=frame.fault, advice=frame.advice)
        if isinstance(event, Accepted) and event.frame_sha256:
            said.frame = event.frame_sha256[0]
        running.over = isinstance(event, Done)
        self._speaker.emit(update)


def _finished(running: AskedQuestion, turn: Turn, told: list[TurnEvent], done: Done) -> Done:
    about = spoken(turn, told, done)
    running.said.spoken = replace(about, frame=running.frame) if running.frame else about
    if running.unseen:
        return replace(done, skipped=(*done.skipped, SkippedStep(STEP, REASON)))
    return done
