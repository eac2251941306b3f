"""What is answered to spoken questions, beside the same ones typed, and when the answer is heard."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from bench.engine.figures import percentile
from bench.results import Row, at_most
from bench.sections import Part
from bench.voice.speech import utterances
from bench.voice.stage import VoiceSetup, VoiceStage
from clients.demo.album import QUESTIONS, Asked
from quizglass.session import AnswerAudio, OutputProfile, SegmentState, SpeechTranscript, TurnUpdate
from quizglass.values import AnswerDelta, Done
from quizglass_client import AsyncSession, AsyncTurn


@dataclass(slots=True)
class _Told:
    """When things came of a turn, in seconds, and its answer."""

    transcript: float = 0.0
    words: float = 0.0
    segment: float = 0.0
    """The first confirmed one, which can be said."""
    sound: float = 0.0
    answer: str = ""

    def right(self, asked: Asked) -> bool:
        """Whether it is right; for unanswerable questions, that it does not know."""
        if not asked.right:
            return self.answer.startswith("I don't know")
        return all(word.casefold() in self.answer.casefold() for word in asked.right)


async def answers(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """The demo's questions, typed and spoken by every voice."""
    asked = QUESTIONS[: setup.count(len(QUESTIONS), 4)]
    spoken = utterances(setup.demo, setup.folder / "speech", [each.question for each in asked], (1.0,))
    by_text = {each.question: each for each in asked}
    typed, heard = list[tuple[Asked, _Told]](), list[tuple[Asked, _Told]]()
    output = OutputProfile(aloud=True)
    async with AsyncSession(stage.server.target, output=output) as session:
        for each in asked:
            picture = (stage.pictures / each.picture).read_bytes() if each.picture else None
            began = perf_counter()
            typed.append((each, await _told(await session.ask(each.question, picture), began)))
        for utterance in spoken:
            setup.say(f"answers: {len(heard)} of {len(spoken)} spoken questions")
            each = by_text[utterance.text]
            picture = (stage.pictures / each.picture).read_bytes() if each.picture else None
            began = perf_counter()
            heard.append((each, await _told(await session.say(utterance.wav(), picture), began)))
    right_typed = 100 * sum(told.right(each) for each, told in typed) / len(typed)
    right_heard = 100 * sum(told.right(each) for each, told in heard) / len(heard)
    late = [told.sound - told.transcript for _, told in heard if told.sound]
    rows = [
        at_most("answers right by voice, below the same typed", right_typed - right_heard, "points", 3),
        Row("answers right, typed", right_typed, "%"),
        Row("answers right, by voice", right_heard, "%"),
        Row(
            "end of speech to first sound of the answer, p50",
            percentile([told.sound for _, told in heard if told.sound], 0.5),
            "s",
        ),
        Row("of that, after the transcript", percentile(late, 0.5), "s"),
        at_most(
            "of that, after the answer's first segment in text, p50",
            1000 * percentile([told.sound - told.segment for _, told in heard if told.sound], 0.5),
            "ms",
            250,
        ),
        Row(
            "typed question to first words, p50", percentile([told.words for _, told in typed if told.words], 0.5), "s"
        ),
    ]
    return Part(rows, {"heard": [[each.question, told.answer] for each, told in heard if not told.right(each)]})


async def _told(turn: AsyncTurn, began: float) -> _Told:
    told = _Told()
    async for said in turn:
        now = perf_counter() - began
        if isinstance(said, TurnUpdate) and any(each.state is SegmentState.CONFIRMED for each in said.segments):
            told.segment = told.segment or now
        match said:
            case SpeechTranscript(final=True):
                told.transcript = now
            case TurnUpdate(event=AnswerDelta()):
                told.words = told.words or now
            case TurnUpdate(event=Done(answer=answer)):
                told.answer, told.words = answer, told.words or now
            case AnswerAudio(data=data) if data:
                told.sound = told.sound or now
    return told
