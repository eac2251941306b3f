"""Answers that are said aloud, over a real socket: which sound belongs to which segment, and how far it was heard."""

import asyncio

import grpc
import pytest

from quizglass.session import (
    AnswerAudio,
    AnswerSpoken,
    CancelAsk,
    Close,
    DeviceState,
    GoAway,
    Interrupted,
    LinkQuality,
    Playback,
    Privacy,
    SpeechTranscript,
    TurnUpdate,
)
from quizglass.values import AnswerDelta, Done, FinishReason
from quizglass_server.errors import EngineLost
from tests.support.gate import Gate
from tests.support.rpc_fakes import serving
from tests.support.sessions.session_links import eventually, link, opened, question, text, words
from tests.support.sessions.speech import ALOUD, hearing_and_speaking, spoken, tone


def says(answer):
    """A script with that answer."""

    async def script(turn, policy, budget):
        yield AnswerDelta(answer)
        yield Done(answer, FinishReason.COMPLETE)

    return script


async def finished(said, id):
    """The end of an answer's sound."""
    return await said.until(AnswerSpoken, lambda each: each.ask_id == id)


def sound_of(said, id):
    """Bytes of each segment's sound, in the order in which they came."""
    found = {}
    for _, each in said.heard:
        if isinstance(each, AnswerAudio) and each.ask_id == id:
            found[each.segment] = found.get(each.segment, b"") + each.data
    return found


def segments_of(said, id):
    return {
        segment.index: segment.text
        for _, each in said.heard
        if isinstance(each, TurnUpdate) and each.ask_id == id
        for segment in each.segments
        if segment.text
    }


async def test_every_segment_comes_as_sound_of_its_own(stage, aloud):
    stage.assistant.script = words(3)
    await aloud.say(question("a"))
    end = await finished(aloud, "a")
    assert (end.whole, end.heard, end.unheard, end.reason) == (True, text(3), "", "")
    assert stage.voice.texts == ["w0.", "w1.", "w2."]
    assert sound_of(aloud, "a") == dict.fromkeys(range(3), tone(0.3, rate_hz=22_050))
    audio = [each for _, each in aloud.heard if isinstance(each, AnswerAudio)]
    assert {(each.rate_hz, each.channels) for each in audio if each.data} == {(22_050, 1)}
    assert [each.segment for each in audio if each.last] == [0, 1, 2]
    kinds = [type(each) for _, each in aloud.heard]
    assert kinds[-1] is AnswerSpoken


async def test_the_first_sentence_is_heard_while_the_second_is_written(stage, aloud):
    gate = Gate()
    stage.assistant.script = words(3, [(2, gate)])
    await aloud.say(question("a"))
    first = await aloud.until(AnswerAudio)
    assert first.segment == 0
    gate.open.set()
    assert (await finished(aloud, "a")).whole


async def test_a_spoken_question_is_answered_aloud_in_its_language(stage, aloud):
    stage.hearing.language = "de"
    await aloud.say(*spoken("a", tone(0.5)))
    assert (await finished(aloud, "a")).whole
    assert stage.voice.languages == ["de"]


async def test_what_is_said_is_put_as_people_say_it_and_shown_as_it_was_written(stage, aloud):
    stage.assistant.script = says("**It** is 3.5 km long [1].")
    await aloud.say(question("a"))
    await finished(aloud, "a")
    assert stage.voice.texts == ["It is three point five kilometres long."]
    assert segments_of(aloud, "a") == {0: "**It** is 3.5 km long [1]."}


async def test_the_ledger_counts_the_words_that_the_voice_is_given(stage, aloud):
    stage.assistant.script = words(3)
    await aloud.say(question("a"))
    ledger = {entry.to: entry.bytes for entry in (await aloud.done("a")).ledger}
    assert ledger["voice"] == len("w0.w1.w2.")


async def test_nothing_is_said_where_it_is_not_wanted(stage, said):
    await said.say(question("a"))
    await said.done("a")
    assert stage.voice.texts == []


async def test_speaking_over_an_answer_ends_its_sound_and_says_how_far_it_was_heard(stage, aloud):
    gate = Gate()
    stage.assistant.script = words(3)
    stage.voice.gate = gate
    await aloud.say(question("a"))
    await aloud.done("a")
    await gate.reached.wait()
    await aloud.say(*spoken("b", tone(0.5)))
    end = await finished(aloud, "a")
    assert (end.whole, end.reason, end.heard, end.unheard) == (False, "SPEECH", "w0.", "w1. w2.")
    gate.open.set()
    await finished(aloud, "b")
    assert set(sound_of(aloud, "a")) == {0}


async def test_playback_tells_better_how_far_it_was_heard(stage, aloud):
    gate = Gate()
    stage.assistant.script = says("One two three. Four.")
    stage.voice.gate = gate
    await aloud.say(question("a"))
    await gate.reached.wait()
    await aloud.say(Playback("a", 0, 7), CancelAsk("a"))
    end = await finished(aloud, "a")
    assert (end.reason, end.heard, end.unheard) == ("CANCEL", "One two", "three. Four.")


async def test_a_turn_that_is_interrupted_says_how_far_its_sound_got(stage, aloud):
    gate = Gate()
    stage.assistant.script = words(5, [(3, gate)])
    await aloud.say(question("a"))
    await aloud.until(AnswerAudio, lambda each: each.last and each.segment == 0)
    await aloud.until(AnswerAudio, lambda each: each.segment == 1)
    await aloud.say(*spoken("b", tone(0.5)))
    interrupted = await aloud.until(Interrupted)
    assert interrupted.heard in ("w0. w1.", "w0. w1. w2.")
    assert f"{interrupted.heard} {interrupted.unheard}".strip().startswith("w0. w1. w2.")
    gate.open.set()
    await finished(aloud, "b")


async def test_go_on_says_the_rest(stage, aloud):
    gate = Gate()
    stage.assistant.script = words(3)
    stage.voice.gate = gate
    await aloud.say(question("a"))
    await gate.reached.wait()
    stage.hearing.texts = ["Go on."]
    await aloud.say(*spoken("b", tone(0.5)))
    await finished(aloud, "a")
    gate.open.set()
    assert (await aloud.done("b")).answer == "w1. w2."
    assert len(stage.assistant.turns) == 1


async def test_stop_ends_the_sound(stage, aloud):
    gate = Gate()
    stage.assistant.script = words(3)
    stage.voice.gate = gate
    await aloud.say(question("a"))
    await gate.reached.wait()
    stage.hearing.texts = ["Stop."]
    await aloud.say(*spoken("b", tone(0.5)))
    assert (await finished(aloud, "a")).reason == "SPEECH"
    await aloud.until(SpeechTranscript, lambda each: each.final)
    assert stage.assistant.turns[0].question == "What?"
    assert len(stage.assistant.turns) == 1


async def test_a_voice_that_is_away_leaves_the_text(stage, aloud):
    stage.voice.ready, stage.voice.failure = False, EngineLost("gone")
    await aloud.say(question("a"))
    done = await aloud.done("a")
    assert done.answer == "45 crowns"
    assert [(each.step, each.reason) for each in done.skipped if each.step == "voice"] == [("voice", "ENGINE_LOST")]
    assert (await finished(aloud, "a")).reason == "ENGINE_LOST"
    stage.voice.ready, stage.voice.failure = True, None
    await aloud.say(question("b"))
    assert (await finished(aloud, "b")).whole


async def test_a_server_without_a_voice_says_so_in_text(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target, output=ALOUD) as (said, _):
        await said.say(question("a"))
        done = await said.done("a")
        assert ("voice", "ROLE_MISSING") in [(each.step, each.reason) for each in done.skipped]


async def test_words_do_not_leave_the_machine_where_they_must_not(tmp_path):
    async with (
        hearing_and_speaking(tmp_path, elsewhere=("voice",)) as stage,
        opened(stage.target, output=ALOUD, privacy=Privacy.LOCAL_ONLY) as (said, _),
    ):
        await said.say(question("a"))
        done = await said.done("a")
        assert ("voice", "NOT_LOCAL") in [(each.step, each.reason) for each in done.skipped]
        assert (await finished(said, "a")).reason == "NOT_LOCAL"
        assert stage.voice.texts == []


@pytest.mark.parametrize(("quality", "rate_hz"), [(LinkQuality.FAIR, 16_000), (LinkQuality.POOR, 8_000)])
async def test_a_poor_link_gets_less_sound(stage, aloud, quality, rate_hz):
    await aloud.say(DeviceState(link=quality), question("a"))
    await finished(aloud, "a")
    audio = [each for _, each in aloud.heard if isinstance(each, AnswerAudio) and each.data]
    assert {each.rate_hz for each in audio} == {rate_hz}
    assert sum(len(each.data) for each in audio) == pytest.approx(
        2 * rate_hz * len(stage.voice.texts[0]) / 10, rel=0.01
    )


async def test_sound_waits_for_a_client_that_is_away_and_loses_nothing(tmp_path):
    async with hearing_and_speaking(tmp_path, session_unacknowledged_bytes=64 << 10) as stage:
        gate = stage.voice.gate = Gate()
        stage.assistant.script = says(
            " ".join(["Yes.", *(f"Sentence number {at} of a long answer." for at in range(12))])
        )
        async with link(stage.target) as first:
            begun = await first.open(output=ALOUD)
            await first.say(question("a"))
            await first.until(AnswerAudio)
            await gate.reached.wait()
        await eventually(lambda: stage.rpc.sessions.get(begun.session_id, 0).link is None)
        gate.open.set()  # from here on more is said than is kept of a link's messages
        last_seq = first.heard[-1][0]
        async with opened(stage.target, session_id=begun.session_id, last_seq=last_seq) as (second, _):
            assert (await finished(second, "a")).whole
        sound = sound_of(first, "a")
        for segment, data in sound_of(second, "a").items():
            sound[segment] = sound.get(segment, b"") + data
        wanted = [len(tone(len(each) / 10, rate_hz=22_050)) for each in stage.voice.texts]
        assert [len(data) for data in sound.values()] == wanted


async def test_who_closes_ends_the_sound(stage):
    stage.voice.gate = Gate()
    stage.assistant.script = words(3)
    async with opened(stage.target, output=ALOUD) as (said, _):
        await said.say(question("a"))
        await stage.voice.gate.reached.wait()
        await said.say(Close())
        assert await said.ended() is grpc.StatusCode.OK
    assert len(stage.rpc.sessions) == 0


async def test_a_session_that_says_an_answer_makes_room_for_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr("quizglass_server.session.session._REST_S", 0.0)
    async with hearing_and_speaking(tmp_path, max_sessions=2) as stage, opened(stage.target, output=ALOUD) as (said, _):
        stage.voice.gate = Gate()
        stage.assistant.script = words(3)
        await said.say(question("a"))
        await said.done("a")
        await stage.voice.gate.reached.wait()
        async with opened(stage.target) as (idle, _), opened(stage.target):
            assert await idle.ended() is grpc.StatusCode.RESOURCE_EXHAUSTED
            stage.voice.gate.open.set()
            assert (await finished(said, "a")).whole


async def test_who_says_nothing_more_hears_the_answer_to_its_end_and_the_link_ends(stage, aloud):
    stage.voice.gate = Gate()
    stage.assistant.script = words(3)
    await aloud.say(question("a"))
    await aloud.call.done_writing()
    await stage.voice.gate.reached.wait()
    stage.voice.gate.open.set()
    assert await aloud.ended() is grpc.StatusCode.OK
    assert aloud.heard[-1][1].whole


async def test_a_server_that_stops_waits_for_an_answer_that_is_being_said_and_no_longer(stage, aloud):
    stage.voice.gate = Gate()
    stage.assistant.script = words(3)
    await aloud.say(question("a"))
    await stage.voice.gate.reached.wait()
    stopping = asyncio.create_task(stage.rpc.stop(3600))
    await aloud.until(GoAway)
    stage.voice.gate.open.set()
    assert (await finished(aloud, "a")).whole
    assert await aloud.ended() is grpc.StatusCode.OK
    await stopping
