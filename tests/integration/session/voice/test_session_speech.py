"""Spoken questions, over a real socket: heard, understood, asked; and what is no speech."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from quizglass.session import (
    CancelAsk,
    Cause,
    Codec,
    Command,
    FrameName,
    Interrupted,
    Notice,
    Overlap,
    Privacy,
    Progress,
    Question,
    SpeechAudio,
    SpeechEnd,
    SpeechStart,
    SpeechState,
    SpeechStatus,
    SpeechTranscript,
    TurnUpdate,
)
from quizglass_server.domain.sound import SoundFormat, Transcript
from quizglass_server.errors import EngineLost
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.session_links import eventually, link, opened, question, usable, words
from tests.support.sessions.speech import hearing_and_speaking, pieces, silence, spoken, tone


async def final(said, id):
    return await said.until(SpeechTranscript, lambda each: each.ask_id == id and each.final)


async def hears_the_next(said):
    """Fail where the next spoken question is not answered."""
    await said.say(*spoken("next", tone(0.5)))
    assert (await final(said, "next")).text == "What is this?"
    assert (await said.done("next")).answer


async def test_what_is_said_is_asked_under_the_name_of_the_speech(stage, said):
    frame = await said.show(png())
    await said.say(*spoken("a", tone(1.0), request=Question("", (FrameName(frame),), max_answer_tokens=7)))
    heard = await final(said, "a")
    assert (heard.text, heard.language, heard.probability, heard.command) == ("What is this?", "en", 0.75, Command.NONE)
    assert (await said.done("a")).answer == "45 crowns"
    (turn,) = stage.assistant.turns
    assert (turn.question, turn.picture.sha256, turn.max_answer_tokens) == ("What is this?", frame, 7)
    assert stage.hearing.heard == [tone(1.0)]
    assert stage.hearing.formats == [SoundFormat()]


async def test_the_ledger_counts_the_sound(said):
    await said.say(*spoken("a", tone(1.0)))
    ledger = {entry.to: entry for entry in (await said.done("a")).ledger}
    assert (ledger["hearing"].bytes, ledger["hearing"].kept) == (32_000, "")


async def test_statuses_tell_how_far_a_speech_is(said):
    await said.say(*spoken("a", tone(1.0)))
    await said.done("a")
    states = [each.state for _, each in said.heard if isinstance(each, SpeechStatus)]
    assert states == [SpeechState.LISTENING, SpeechState.ENDED, SpeechState.VOICE] or states == [
        SpeechState.LISTENING,
        SpeechState.VOICE,
        SpeechState.ENDED,
    ]


async def test_the_first_word_is_said_to_be_before_a_piece_however_much_has_come(said):
    await said.say(*spoken("a", silence(1.0) + tone(1.0)))
    await said.done("a")
    (voice,) = (each for _, each in said.heard if isinstance(each, SpeechStatus) and each.state is SpeechState.VOICE)
    assert 11 <= voice.next_seq <= 13


async def test_partial_transcripts_come_before_the_final_one(stage, said):
    stage.hearing.partly = ["What", "[noise]", "What is"]
    await said.say(*spoken("a", tone(1.0)))
    await said.done("a")
    told = [(each.text, each.final) for _, each in said.heard if isinstance(each, SpeechTranscript)]
    assert told == [("What", False), ("What is", False), ("What is this?", True)]


@pytest.mark.parametrize(("rate_hz", "channels"), [(8_000, 1), (48_000, 2), (44_100, 1), (16_000, 2)])
async def test_every_rate_reaches_the_recogniser_as_one(stage, said, rate_hz, channels):
    sound = tone(1.0, rate_hz=rate_hz, channels=channels)
    await said.say(*spoken("a", sound, rate_hz=rate_hz, channels=channels, piece=4 * 800))
    assert (await final(said, "a")).text
    assert stage.hearing.formats == [SoundFormat()]
    assert len(stage.hearing.heard[0]) == pytest.approx(32_000, rel=0.02)


async def test_the_server_ends_what_is_followed_by_silence(stage, said):
    sound = silence(3.0) + tone(1.0) + silence(2.0)
    await said.say(*spoken("a", sound, ends_by_silence=True))
    ended = await said.until(SpeechStatus, lambda each: each.state is SpeechState.ENDED)
    assert 10 * (3.0 + 1.0 + 0.6) <= ended.next_seq <= 10 * (3.0 + 1.0 + 0.9)
    assert (await final(said, "a")).text == "What is this?"
    assert len(stage.hearing.heard[0]) < 2 * 16_000 * 2.5  # what was silent long before is not heard
    await said.done("a")


async def test_a_recogniser_may_find_the_end_before_the_server_does(stage, said, monkeypatch):
    async def transcribe(sound, format, language=""):
        await anext(sound)
        yield Transcript("What is this?", True)

    monkeypatch.setattr(stage.hearing, "transcribe", transcribe)
    start, *audio = spoken("a", tone(2.0), ends_by_silence=True)
    await said.say(start, *audio)
    assert (await final(said, "a")).text == "What is this?"
    states = [each.state for _, each in said.heard if isinstance(each, SpeechStatus)]
    assert states == [SpeechState.LISTENING, SpeechState.VOICE, SpeechState.ENDED]
    ended = said.heard[-2][1]
    assert (ended.state, ended.next_seq < len(audio)) == (SpeechState.ENDED, True)  # the rest is of the next question
    await said.done("a")


async def test_silence_ends_a_speech_though_its_client_has_sent_more_and_its_end(stage, said):
    start, *audio = spoken("a", tone(0.6) + silence(1.5) + tone(0.6) + silence(1.5), ends_by_silence=True)
    await said.say(start, *audio, SpeechEnd("a", len(audio)))
    ended = await said.until(SpeechStatus, lambda each: each.state is SpeechState.ENDED)
    assert 12 <= ended.next_seq <= 16
    assert (await final(said, "a")).text == "What is this?"
    await said.done("a")


@pytest.mark.parametrize("sound", [b"", silence(1.0)])
async def test_where_nothing_is_said_nothing_is_asked(stage, said, sound):
    await said.say(*spoken("a", sound))
    heard = await final(said, "a")
    assert (heard.text, heard.asks) == ("", False)
    assert stage.hearing.heard == []
    assert stage.assistant.turns == []
    await hears_the_next(said)


@pytest.mark.parametrize("text", ["[MUSIC]", "(breathing)", "♪♪", " ... ", "*sighs*", ""])
async def test_sounds_that_are_no_words_are_no_question(stage, said, text):
    stage.hearing.texts = [text, "What is this?"]
    await said.say(*spoken("a", tone(1.0)))
    assert (await final(said, "a")).text == ""
    assert stage.assistant.turns == []
    await hears_the_next(said)


async def test_another_language_is_told_and_asked_as_it_was_heard(stage, said):
    stage.hearing.texts, stage.hearing.language = ["Was kostet das?"], "de"
    await said.say(*spoken("a", tone(1.0)))
    assert (await final(said, "a")).language == "de"
    await said.done("a")
    assert stage.assistant.turns[0].question == "Was kostet das?"


@pytest.mark.parametrize(
    ("start", "field"),
    [
        (SpeechStart("a", rate_hz=4_000), "speech_start.rate_hz"),
        (SpeechStart("a", rate_hz=192_000), "speech_start.rate_hz"),
        (SpeechStart("a", channels=3), "speech_start.channels"),
        (SpeechStart("a", rate_hz=-1), "speech_start.rate_hz"),
        (SpeechStart(""), "speech_start.id"),
        (SpeechStart("a", request=Question("What?")), "speech_start.request.question"),
        (SpeechStart("a", request=Question("", (FrameName(b"short"),))), "speech_start.request.frames[0].sha256"),
        (SpeechStart("a", request=Question("", policy="never")), "speech_start.request.policy"),
        (SpeechStart("a", language="x" * 40), "speech_start.language"),
    ],
)
async def test_a_speech_that_cannot_be_heard_is_refused_before_its_sound(stage, said, start, field):
    await said.say(start, *pieces(start.id, tone(0.5)))
    notice = await said.notice()
    assert (notice.message, notice.field, notice.turn_over) == ("speech_start", field, True)
    assert stage.hearing.heard == []
    await hears_the_next(said)


@pytest.mark.parametrize(("sound", "channels"), [(b"odd", 1), (bytes(6), 2), (b"", 1), (bytes(33_000), 1)])
async def test_pieces_that_are_no_samples_end_the_speech(said, sound, channels):
    await said.say(SpeechStart("a", channels=channels), SpeechAudio("a", 0, sound), SpeechAudio("a", 1, bytes(4)))
    notice = await said.notice()
    assert (notice.message, notice.field, notice.ask_id, notice.turn_over) == ("audio", "audio.data", "a", True)
    await hears_the_next(said)


async def test_clipped_sound_is_heard(said):
    await said.say(*spoken("a", b"\xff\x7f\x00\x80" * 8_000))
    assert (await final(said, "a")).text == "What is this?"
    await said.done("a")


async def test_ten_minutes_are_refused_as_they_come(stage, said):
    await said.say(SpeechStart("a"))
    for piece in pieces("a", tone(60.0), piece=32_000):
        await said.say(piece)
    notice = await said.notice()
    assert (notice.field, notice.turn_over) == ("audio.data", True)
    assert "30 seconds" in notice.text
    assert sum(map(len, stage.hearing.heard)) <= 32_000 * 31
    await hears_the_next(said)


async def test_of_an_open_microphone_no_more_is_read_than_its_address_may_send(tmp_path):
    async with hearing_and_speaking(tmp_path, session_speech_s=1.0) as stage, opened(stage.target) as (said, _):
        for name in ("a", "b"):
            start, *audio = spoken(name, silence(12.0) + tone(0.5) + silence(1.0), ends_by_silence=True)
            await said.say(start, *audio)
            assert (await said.done(name)).answer
        assert not [each for _, each in said.heard if isinstance(each, Notice)]
        assert all(len(heard) < 2 * 16_000 * 2 for heard in stage.hearing.heard)


async def test_sound_that_many_sessions_of_one_address_send_at_once_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("quizglass_server.session.voice.pool._TIMES_LIVE", 1e-6)  # as if no time passed
    async with hearing_and_speaking(tmp_path, session_speech_s=1.0) as stage, AsyncExitStack() as stack:
        links = [(await stack.enter_async_context(opened(stage.target)))[0] for _ in range(8)]
        for each in links:
            await each.say(SpeechStart("a", ends_by_silence=True))
            await each.until(SpeechStatus)
        for each in links:
            await each.say(SpeechAudio("a", 0, silence(1.0)))
        notices, refused = {asyncio.create_task(each.notice()) for each in links}, set()
        while len(refused) < 4:  # four longest speeches are taken
            refused |= (await asyncio.wait(notices - refused, return_when=asyncio.FIRST_COMPLETED))[0]
        assert {(each.result().reason, each.result().turn_over) for each in refused} == {("OVERLOADED", True)}
        for each in notices - refused:
            each.cancel()
        await asyncio.wait(notices)


async def test_pieces_twice_change_nothing(stage, said):
    start, *audio, end = spoken("a", tone(1.0))
    await said.say(start, audio[0], audio[0], *audio[1:5], *audio[2:], *audio, end, end)
    assert (await final(said, "a")).text
    assert stage.hearing.heard == [tone(1.0)]
    await said.done("a")


async def test_a_gap_is_told_and_can_be_filled(stage, said):
    start, *audio, end = spoken("a", tone(1.0))
    await said.say(start, *audio[:3], audio[7])
    listening = lambda each: (each.state, each.next_seq) == (SpeechState.LISTENING, 3)  # noqa: E731
    await said.until(SpeechStatus, listening)
    notice = await said.notice()
    assert (notice.field, notice.turn_over) == ("audio.seq", False)
    await said.say(*audio[3:], end)
    assert (await final(said, "a")).text
    assert stage.hearing.heard == [tone(1.0)]
    await said.done("a")


async def test_an_end_before_all_came_is_told(stage, said):
    start, *audio, end = spoken("a", tone(1.0))
    await said.say(start, *audio[:3], end)
    assert (await said.notice()).field == "speech_end.parts"
    await said.say(*audio[3:], end)
    assert (await final(said, "a")).text
    await said.done("a")


@pytest.mark.parametrize("late", [SpeechEnd("never", 0), SpeechAudio("never", 0, bytes(2))])
async def test_what_has_no_start_is_told(said, late):
    await said.say(late)
    notice = await said.notice()
    assert (notice.reason, notice.field.partition(".")[2]) == ("NOT_FOUND", "id")
    await hears_the_next(said)


async def test_a_second_speech_at_once_is_refused(stage, said):
    start, *audio, end = spoken("a", tone(1.0))
    await said.say(start, *audio[:3], SpeechStart("b"), *pieces("b", tone(1.0)), *audio[3:], end)
    notice = await said.notice()
    assert (notice.reason, notice.ask_id, notice.metadata["ask_id"], notice.turn_over) == (
        "SPEECH_RUNNING",
        "b",
        "a",
        True,
    )
    assert (await final(said, "a")).text
    assert stage.hearing.heard == [tone(1.0)]
    await said.done("a")


async def test_a_name_stands_for_one_question(said):
    await said.say(*spoken("a", tone(0.5)))
    await said.done("a")
    await said.say(question("b"))
    await said.done("b")
    await said.say(SpeechStart("a", language="de"))
    assert (await said.notice()).field == "speech_start.id"
    await said.say(SpeechStart("b"))
    assert (await said.notice()).field == "speech_start.id"


async def test_starting_again_says_how_far_it_is_and_changes_nothing(stage, said):
    start, *audio, end = spoken("a", tone(1.0))
    await said.say(start, *audio[:4], start)
    assert (await said.until(SpeechStatus, lambda each: each.next_seq == 4)).state is SpeechState.LISTENING
    await said.say(*audio[4:], end)
    await said.done("a")
    await said.say(start)
    assert (await said.until(SpeechStatus)).state is SpeechState.ENDED
    assert len(stage.assistant.turns) == 1


async def test_a_broken_link_loses_nothing_of_a_speech(stage):
    start, *audio, end = spoken("a", tone(1.0))
    async with link(stage.target) as first:
        begun = await first.open()
        await first.say(start, *audio[:6])
        await first.until(SpeechStatus, lambda each: each.state is SpeechState.VOICE)
    async with opened(stage.target, session_id=begun.session_id, last_seq=first.heard[-1][0]) as (second, again):
        assert again.open_asks == ("a",)
        await second.say(start)
        there = await second.until(SpeechStatus, lambda each: each.state is SpeechState.LISTENING)
        await second.say(*audio[there.next_seq :], end)
        assert (await second.done("a")).answer == "45 crowns"
    assert stage.hearing.heard == [tone(1.0)]
    assert len(stage.assistant.turns) == 1


async def test_cancel_ends_a_speech(stage, said):
    start, *audio, _ = spoken("a", tone(1.0))
    await said.say(start, *audio[:4], CancelAsk("a"))
    interrupted = await said.until(Interrupted)
    assert (interrupted.ask_id, interrupted.cause) == ("a", Cause.CANCEL)
    await said.say(*audio[4:])  # they are late, and no failure
    await hears_the_next(said)
    assert len(stage.assistant.turns) == 1


async def test_speaking_interrupts_what_runs(stage, said):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    await said.say(SpeechStart("b"))
    interrupted = await said.until(Interrupted)
    assert (interrupted.ask_id, interrupted.cause, interrupted.by_ask_id) == ("a", Cause.SPEECH, "b")


async def test_an_open_microphone_interrupts_with_the_first_word_and_not_before(stage, said):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    start, *audio = spoken("b", silence(1.0) + tone(0.5) + silence(1.0), ends_by_silence=True)
    await said.say(start, *audio)
    interrupted = await said.until(Interrupted)
    voice = next(at for at, (_, each) in enumerate(said.heard) if getattr(each, "state", "") is SpeechState.VOICE)
    assert interrupted.ask_id == "a"
    assert said.heard[voice][1].id == "b"
    gate.open.set()
    assert (await said.done("b")).answer


async def test_a_queued_speech_waits_for_what_runs(stage, said):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    await said.say(*spoken("b", tone(0.5), overlap=Overlap.QUEUE))
    await final(said, "b")
    gate.open.set()
    await said.done("a")
    await said.done("b")


async def test_a_speech_is_refused_where_another_question_runs_and_it_is_not_to_wait(stage, said):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    await said.say(SpeechStart("b", overlap=Overlap.REFUSE))
    notice = await said.notice()
    assert (notice.reason, notice.ask_id) == ("TURN_RUNNING", "b")
    gate.open.set()
    await said.done("a")


@pytest.mark.parametrize(
    ("text", "command"),
    [("Stop.", Command.STOP), ("Louder, please.", Command.LOUDER), ("Not so loud!", Command.QUIETER)],
)
async def test_commands_are_done_without_a_turn(stage, said, text, command):
    stage.hearing.texts = [text, "What is this?"]
    await said.say(*spoken("a", tone(0.5)))
    heard = await final(said, "a")
    assert (heard.command, heard.text, heard.asks) == (command, text, False)
    assert stage.assistant.turns == []
    await hears_the_next(said)


@pytest.mark.parametrize("text", ["Say that again.", "What was that?", "Repeat that, please", "Pardon?"])
async def test_the_last_answer_is_said_again_without_a_lookup(stage, said, text):
    await said.say(question("first", "How much is it?"))
    await said.done("first")
    stage.hearing.texts = [text]
    await said.say(*spoken("a", tone(0.5)))
    assert (await said.done("a")).answer == "45 crowns"
    assert len(stage.assistant.turns) == 1
    await said.say(question("b", text))
    assert (await said.done("b")).answer == "45 crowns"
    assert len(stage.assistant.turns) == 1


async def test_nothing_can_be_said_again_before_the_first_answer(stage, said):
    stage.hearing.texts = ["What was that?"]
    await said.say(*spoken("a", tone(0.5)))
    await said.done("a")
    assert [turn.question for turn in stage.assistant.turns] == ["What was that?"]


async def test_a_recogniser_that_fails_is_told_and_text_goes_on(stage, said):
    stage.hearing.failure = EngineLost("the recogniser is gone", 1.0)
    await said.say(*spoken("a", tone(0.5)))
    notice = await said.notice()
    assert (notice.reason, notice.ask_id, notice.turn_over, notice.retry_after) == ("ENGINE_LOST", "a", True, 1.0)
    await usable(said)
    stage.hearing.failure = None
    await hears_the_next(said)


async def test_a_recogniser_that_is_away_is_told_before_anything_is_said(stage, said):
    stage.hearing.ready = False
    await said.say(SpeechStart("a"))
    assert (await said.notice()).reason == "ENGINE_LOST"
    stage.hearing.ready = True
    await hears_the_next(said)


async def test_a_server_that_hears_nothing_says_so(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, told):
        assert (told.limits.max_speech, told.limits.speaks) == (0.0, False)
        await said.say(SpeechStart("a"), *pieces("a", tone(0.2)))
        notice = await said.notice()
        assert (notice.reason, notice.metadata["role"]) == ("ROLE_MISSING", "hearing")
        await usable(said)


async def test_a_server_that_hears_says_so(stage, tmp_path):
    async with opened(stage.target) as (_, told):
        assert (told.limits.max_speech, told.limits.speaks) == (30.0, True)


async def test_sound_does_not_leave_the_machine_where_it_must_not(tmp_path):
    async with hearing_and_speaking(tmp_path, elsewhere=("hearing",)) as stage:
        async with opened(stage.target, privacy=Privacy.LOCAL_ONLY) as (said, _):
            await said.say(SpeechStart("a"), *pieces("a", tone(0.2)))
            notice = await said.notice()
            assert (notice.reason, notice.metadata["elsewhere"]) == ("NOT_LOCAL", "hearing")
            await usable(said)
        async with opened(stage.target) as (said, _):
            await hears_the_next(said)


async def test_who_sends_nothing_more_is_given_up(stage, said, monkeypatch):
    monkeypatch.setattr("quizglass_server.session.voice.speech.IDLE_S", 0.05)
    await said.say(SpeechStart("a"))
    notice = await said.notice()
    assert (notice.reason, notice.ask_id, notice.turn_over) == ("UNFINISHED", "a", True)
    await hears_the_next(said)


async def test_a_speech_is_not_given_up_while_its_client_has_no_link(stage, monkeypatch):
    monkeypatch.setattr("quizglass_server.session.voice.speech.IDLE_S", 0.5)
    start, *audio, end = spoken("a", tone(1.0))
    async with link(stage.target) as first:
        begun = await first.open()
        await first.say(start, *audio[:6])
        await first.until(SpeechStatus, lambda each: each.state is SpeechState.VOICE)
    session = stage.rpc.sessions.get(begun.session_id, 0)
    await eventually(lambda: session.link is None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.0):
            await eventually(lambda: not session.open_asks)
    monkeypatch.setattr("quizglass_server.session.voice.speech.IDLE_S", 120.0)
    async with opened(stage.target, session_id=begun.session_id, last_seq=first.heard[-1][0]) as (second, _):
        await second.say(start)
        there = await second.until(SpeechStatus, lambda each: each.state is SpeechState.LISTENING)
        await second.say(*audio[there.next_seq :], end)
        assert (await second.done("a")).answer == "45 crowns"
    assert stage.hearing.heard == [tone(1.0)]


async def test_no_address_is_listened_to_without_end(tmp_path):
    async with hearing_and_speaking(tmp_path, max_speeches=8) as stage:
        links = [link(stage.target) for _ in range(8)]
        said = [await each.__aenter__() for each in links]
        try:
            refused = 0
            for each in said:
                await each.open()
                await each.say(SpeechStart("a", ends_by_silence=True))
                told = await each.hear()
                refused += getattr(told, "reason", "") == "OVERLOADED"
            assert refused == 1
        finally:
            for each in links:
                await each.__aexit__(None, None, None)


async def test_questions_are_asked_in_the_order_of_their_words(stage, said):
    stage.hearing.texts = ["First?", "Second?"]
    stage.hearing.gate = gate = Gate()
    await said.say(*spoken("a", tone(0.5), overlap=Overlap.QUEUE))
    await gate.reached.wait()
    await said.say(*spoken("b", tone(0.5), overlap=Overlap.QUEUE))
    await said.until(SpeechStatus, lambda each: each.id == "b" and each.state is SpeechState.ENDED)
    gate.open.set()
    await said.done("b")
    assert [turn.question for turn in stage.assistant.turns] == ["First?", "Second?"]
    asked = [each.ask_id for _, each in said.heard if isinstance(each, TurnUpdate)]
    assert asked == sorted(asked)


async def test_a_later_speech_ends_one_that_is_still_being_understood(stage, said):
    stage.hearing.gate = gate = Gate()
    await said.say(*spoken("a", tone(0.5)))
    await gate.reached.wait()
    await said.say(SpeechStart("b"))
    interrupted = await said.until(Interrupted)
    assert (interrupted.ask_id, interrupted.cause, interrupted.by_ask_id) == ("a", Cause.SPEECH, "b")
    gate.open.set()
    _, *rest = spoken("b", tone(0.5))
    await said.say(*rest)
    await said.done("b")
    assert len(stage.assistant.turns) == 1


async def test_opus_that_is_none_is_told(said):
    pytest.importorskip("av")
    await said.say(SpeechStart("a", codec=Codec.OPUS), SpeechAudio("a", 0, b"\x1b\x3f no packet"))
    notice = await said.notice()
    assert notice.turn_over
    assert "at most 120 ms" in notice.text or "up to 120 ms" in notice.text
    await hears_the_next(said)


async def test_progress_comes_while_a_long_question_is_spoken(said):
    await said.say(SpeechStart("a"))
    progress = await said.until(Progress)
    assert (progress.ask_id, progress.stage) == ("a", "hearing")
