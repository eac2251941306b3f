"""What is answered to spoken questions, beside the same ones typed, and when the answer is heard."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The demo's questions, typed and spoken by every voice: which answers are right."""
    typed, heard = await _asked(setup, stage, QUESTIONS[: setup.count(len(QUESTIONS), 4)], "")
    right_typed = 100 * sum(told.right(each) for each, told in typed) / len(typed)
    right_heard = 100 * sum(told.right(each) for each, told in heard) / len(heard)
    rows = [
        at_most("answers right by voice, below the same typed", right_typed - right_heard, "points", 3),
        Row("answers right, typed", right_typed, "%"),
        Row("answers right, by voice", right_heard, "%"),
    ]
    return Part(rows, {"heard": [[each.question, told.answer] for each, told in heard if not told.right(each)]})


async def sound(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """When the first sound of an answer comes: the demo's questions about photographs, under the plan "image"."""
    about = [each for each in QUESTIONS if each.picture]
    typed, heard = await _asked(setup, stage, about[: setup.count(len(about), 3)], "image")
    said = [told for _, told in heard if told.sound]
    written = [told.words for _, told in typed if told.words]
    after = [told.sound - told.segment for told in said]
    rows = [
        Row("end of speech to first sound of the answer, p50", percentile([told.sound for told in said], 0.5), "s"),
        Row("of that, to the transcript", percentile([told.transcript for told in said], 0.5), "s"),
        Row(
            "of that, from there to the answer's first segment in text",
            percentile([told.segment - told.transcript for told in said], 0.5),
            "s",
        ),
        at_most("of that, from there to its first sound, p50", 1000 * percentile(after, 0.5), "ms", 250),
        Row("the same, p95", 1000 * percentile(after, 0.95), "ms"),
        Row("typed question to first words, p50", percentile(written, 0.5), "s"),
        Row("spoken answers with sound", len(said), f"of {len(heard)}"),
    ]
    return Part(rows, {"after_segment_s": after, "sound_s": [told.sound for told in said]})


_Answers = list[tuple[Asked, _Told]]


async def _asked(
    setup: VoiceSetup, stage: VoiceStage, asked: Sequence[Asked], policy: str
) -> tuple[_Answers, _Answers]:
    """What is answered to questions that are typed, and to the same ones spoken by every voice."""
    spoken = utterances(setup.demo, setup.folder / "speech", [each.question for each in asked], (1.0,))
    by_text = {each.question: each for each in asked}
    typed, heard = _Answers(), _Answers()
    async with AsyncSession(stage.server.target, output=OutputProfile(aloud=True)) as session:
        for each in asked:
            picture = (stage.pictures / each.picture).read_bytes() if each.picture else None
            began = perf_counter()
            typed.append((each, await _told(await session.ask(each.question, picture, policy=policy), began)))
        for utterance in spoken:
            setup.say(f"answers: {len(heard)} of {len(spoken)} spoken questions")
            each = by_text[utterance.text]
            picture = (stage.pictures / each.picture).read_bytes() if each.picture else None
            began = perf_counter()
            heard.append((each, await _told(await session.say(utterance.wav(), picture, policy=policy), began)))
    return typed, heard


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
