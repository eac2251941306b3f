"""Questions that are spoken, with the Python client, over real sockets and links that break."""

import asyncio
import json
import math
import queue
import random
import wave
from contextlib import AsyncExitStack, aclosing

import pytest

from bench.session.cutting_proxy import Cut, cutting_proxy
from quizglass.session import (
    AnswerAudio,
    AnswerSpoken,
    Segment,
    SegmentState,
    SpeechState,
    SpeechStatus,
    SpeechTranscript,
)
from quizglass_client import AsyncSession, Cancelled, ClientError, InvalidRequest, Session
from quizglass_client.cli import main
from quizglass_client.session.voice.device import louder
from quizglass_client.session.voice.playback import AnswerSound
from quizglass_client.terminal.conversation import converse
from quizglass_server.errors import EngineLost
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving, serving_on_a_thread
from tests.support.sessions.conformance import LIVELY
from tests.support.sessions.session_links import eventually, text, words
from tests.support.sessions.speech import ALOUD, SpeechStage, babble, hearing_and_speaking, silence, tone, wav


@pytest.fixture
async def stage(tmp_path):
    async with hearing_and_speaking(tmp_path) as stage:
        yield stage


async def test_a_file_is_heard_and_answered(stage, tmp_path):
    path = tmp_path / "question.wav"
    path.write_bytes(wav(tone(1.0, rate_hz=48_000, channels=2), rate_hz=48_000, channels=2))
    async with AsyncSession(stage.target) as session:
        turn = await session.say(path, png(), max_answer_tokens=5)
        assert (await turn.transcript()).text == "What is this?"
        assert (await turn.answer()).text == "45 crowns"
    (asked,) = stage.assistant.turns
    assert (asked.max_answer_tokens, asked.picture.width) == (5, 64)


async def test_packets_of_opus_are_heard(stage):
    pytest.importorskip("av")
    from tests.support.sessions.opus import encoded

    async with AsyncSession(stage.target) as session:
        turn = await session.say(encoded(tone(1.0, rate_hz=48_000)), codec="opus")
        assert (await turn.transcript()).text == "What is this?"
        assert (await turn.answer()).text
        with pytest.raises(InvalidRequest, match="codec: 'flac' is none of pcm16, opus"):
            await session.say([b"x"], codec="flac")
    assert len(stage.hearing.heard[0]) == pytest.approx(32_000, rel=0.05)


async def test_an_answer_comes_aloud_until_it_is_said(stage):
    stage.assistant.script = words(3)
    async with AsyncSession(stage.target, output=ALOUD) as session:
        turn = await session.say(wav(tone(1.0)))
        told = [said async for said in turn]
        assert isinstance(told[-1], AnswerSpoken)
        sound = b"".join(said.data for said in told if isinstance(said, AnswerAudio))
        assert sound == tone(0.3, rate_hz=22_050) * 3
        asked = await session.ask("Again?")
        assert isinstance([said async for said in asked][-1], AnswerSpoken)


async def test_pieces_are_sent_as_they_are_recorded(stage):
    recorded: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def microphone():
        while (piece := await recorded.get()) is not None:
            yield piece

    async with AsyncSession(stage.target) as session:
        turn = await session.say(microphone())
        for at in range(0, 32_000, 999):
            recorded.put_nowait(tone(1.0)[at : at + 999])
        recorded.put_nowait(None)
        assert (await turn.answer()).text == "45 crowns"
    assert stage.hearing.heard == [tone(1.0)]


async def test_an_open_microphone_asks_question_after_question(stage):
    stage.hearing.texts = ["First?", "Second?", "Third?"]
    spoken = silence(0.8) + tone(0.6) + silence(1.2)

    def microphone():
        for at in range(0, 3 * len(spoken), 1280):
            yield (spoken * 3)[at : at + 1280]

    heard, answers = [], []
    async with AsyncSession(stage.target) as session:
        async for turn in session.listen(microphone(), overlap="queue"):
            transcript = await turn.transcript()
            if transcript.asks:
                heard.append(transcript.text)
                answers.append((await turn.answer()).text)
    assert heard == ["First?", "Second?", "Third?"]
    assert answers == ["45 crowns"] * 3


async def test_a_microphone_is_let_go_when_listening_is_left(stage):
    stage.hearing.texts = ["First?", "And now?"]
    read, let_go = [], asyncio.Event()

    async def microphone():
        try:
            read.append(silence(0.8) + tone(0.6) + silence(1.2))
            yield read[0]
            await asyncio.Event().wait()
        finally:
            let_go.set()

    async with AsyncSession(stage.target) as session:
        async with aclosing(session.listen(microphone())) as turns:
            first = await anext(turns)
            assert (await first.transcript()).text == "First?"
        await asyncio.wait_for(let_go.wait(), 60)
        assert (await session.answer("Still there?")).text == "45 crowns"
    assert len(read) == 1


def test_a_program_that_waits_stops_listening_too(tmp_path):
    from_microphone: queue.Queue[bytes | None] = queue.Queue()
    with serving_on_a_thread(tmp_path, kind=SpeechStage) as stage, Session(stage.target) as session:
        from_microphone.put(silence(0.8) + tone(0.6) + silence(1.2))
        for turn in session.listen(iter(from_microphone.get, None)):
            assert turn.transcript().text == "What is this?"
            break
        for _ in range(3):
            from_microphone.put(tone(0.6))
        assert session.answer("Still there?").text == "45 crowns"
        assert from_microphone.qsize() >= 2  # one was being read
        from_microphone.put(None)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("rate_hz", {"rate_hz": -1}),
        ("rate_hz", {"rate_hz": 1 << 40}),
        ("channels", {"channels": 0}),
        ("channels", {"channels": 1 << 40, "codec": "opus"}),
        ("language", {"language": "\ud800"}),
    ],
)
async def test_a_way_of_speaking_that_cannot_be_sent_is_named_and_ends_nothing(stage, field, wrong):
    async with AsyncSession(stage.target) as session:
        with pytest.raises(InvalidRequest) as refused:
            await session.say([tone(0.1)], **wrong)
        assert refused.value.field == field
        assert (await session.answer("Still?")).text == "45 crowns"
        assert session.links == 1


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("segment", lambda turn: turn.played(1 << 40, 0)),
        ("code_point", lambda turn: turn.played(0, 1 << 40)),
        ("seconds", lambda turn: turn.playing(-0.5)),
        ("seconds", lambda turn: turn.playing(math.nan)),
    ],
)
async def test_what_was_played_that_cannot_be_is_named_and_ends_nothing(stage, field, wrong):
    async with AsyncSession(stage.target) as session:
        turn = await session.ask("What?")
        await turn.answer()
        with pytest.raises(InvalidRequest) as refused:
            await wrong(turn)
        assert refused.value.field == field
        assert (await session.answer("Still?")).text == "45 crowns"
        assert session.links == 1


async def test_pieces_that_are_no_bytes_end_their_question_alone(stage):
    async with AsyncSession(stage.target) as session:
        for codec in ("pcm16", "opus"):
            turn = await session.say(["no bytes"], codec=codec)
            with pytest.raises(ClientError, match="the sound cannot be read"):
                await turn.answer()
        with pytest.raises(InvalidRequest, match="battery"):
            await session.device(12.5)
        with pytest.raises(InvalidRequest, match="frame"):
            await session.drop("abc")
        assert (await session.answer("Still?")).text == "45 crowns"
        assert session.links == 1


async def test_cuts_drawn_by_seed_lose_and_repeat_nothing_of_either_sound(stage, monkeypatch):
    for name, seconds in LIVELY.items():
        monkeypatch.setattr(f"quizglass_server.session.{name}", seconds)
    draw = random.Random(3)
    stage.hearing.texts = [f"Question {at}?" for at in range(20)]
    stage.assistant.script = words(4)
    async with cutting_proxy(stage.rpc.port) as proxy, AsyncExitStack() as stack:
        for _ in range(40):
            proxy.cut_after(draw.randrange(4_000, 90_000), draw.choice([Cut.FIN, Cut.RST]))
        session = await stack.enter_async_context(AsyncSession(proxy.target, output=ALOUD))
        for at in range(20):
            turn = await session.say(wav(tone(0.5 + at / 20)))
            told = [said async for said in turn]
            assert (await turn.transcript()).text == f"Question {at}?"
            assert (await turn.answer()).text == text(4)
            assert told[-1] == AnswerSpoken(turn.id, True, text(4))
            sound = b"".join(said.data for said in told if isinstance(said, AnswerAudio))
            assert sound == tone(0.3, rate_hz=22_050) * 4
        assert sum(proxy.cuts.values()) >= 30
    assert stage.hearing.heard == [tone(0.5 + at / 20) for at in range(20)]
    assert [turn.question for turn in stage.assistant.turns] == stage.hearing.texts


@pytest.mark.parametrize(("heard", "reason"), [("", "NOTHING_HEARD"), ("Stop.", "COMMAND")])
async def test_what_is_no_question_has_no_answer(stage, heard, reason):
    stage.hearing.texts = [heard]
    async with AsyncSession(stage.target) as session:
        turn = await session.say(wav(tone(0.5)))
        with pytest.raises(Cancelled) as failed:
            await turn.answer()
        assert failed.value.reason == reason
        assert isinstance([said async for said in turn][-1], SpeechTranscript)


@pytest.mark.parametrize("audio", [b"no wave file", wav(bytes(6), width=3), 7])
async def test_what_is_no_sound_is_refused(stage, audio):
    async with AsyncSession(stage.target) as session:
        with pytest.raises(InvalidRequest) as refused:
            await session.say(audio)
        assert refused.value.field == "audio"


async def test_a_server_that_hears_nothing_is_told_of_before_anything_is_sent(tmp_path):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        with pytest.raises(InvalidRequest):
            await session.say(wav(tone(0.5)))


async def test_a_microphone_that_fails_ends_the_question(stage):
    def microphone():
        yield tone(0.1)
        raise OSError("unplugged")

    async with AsyncSession(stage.target) as session:
        turn = await session.say(microphone())
        with pytest.raises(Exception, match="unplugged"):
            await turn.answer()
        assert (await session.answer("Still?")).text == "45 crowns"


async def test_what_was_played_is_told_as_words(stage):
    stage.assistant.script = words(3)
    async with AsyncSession(stage.target, output=ALOUD) as session:
        turn = await session.ask("What?")
        told = [said async for said in turn]
        await turn.playing(0.45)
        await turn.playing(None)
        again = await session.ask("Go on.")
        assert (await again.answer()).text == "1. w2."
    assert isinstance(told[-1], AnswerSpoken)


def test_seconds_of_sound_are_places_in_the_text():
    sound = AnswerSound()
    assert sound.at(1.0) is None
    for index, said in enumerate(("abcd", "efgh")):
        sound.written(Segment(index, SegmentState.CONFIRMED, said))
        sound.take(AnswerAudio("a", index, 8_000, 1, bytes(16_000)))
        sound.take(AnswerAudio("a", index, 8_000, 1, b"", last=True))
    assert [sound.at(seconds) for seconds in (-1, 0, 0.5, 1.0, 1.25, 2.0, 9.0)] == [
        (0, 0),
        (0, 0),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 4),
        (1, 4),
    ]
    assert sound.seconds == 2.0


def test_a_program_that_waits_speaks_too(tmp_path):
    with serving_on_a_thread(tmp_path, kind=SpeechStage) as stage, Session(stage.target, output=ALOUD) as session:
        turn = session.say(wav(tone(0.5)))
        assert turn.transcript().text == "What is this?"
        assert any(isinstance(said, AnswerAudio) for said in turn)
        assert turn.answer().text == "45 crowns"


def test_the_command_hears_a_file_and_writes_another(tmp_path, capsys):
    question, answer, photo = tmp_path / "question.wav", tmp_path / "answer.wav", tmp_path / "photo.png"
    question.write_bytes(wav(tone(1.0)))
    photo.write_bytes(png())
    with serving_on_a_thread(tmp_path, kind=SpeechStage) as stage:
        words_ = ["--server", stage.target, "ask", str(photo), "--say", str(question), "--speak", str(answer)]
        assert main(words_) == 0
        out, err = capsys.readouterr()
        assert (out, err) == ("45 crowns\n", "quizglass: heard: What is this?\n")
        assert main([*words_, "--json"]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["message"] for line in lines} >= {"speech_status", "transcript", "turn", "speech", "spoken"}
    with wave.open(str(answer)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (22_050, 1, 2)
        assert file.getnframes() == 22_050 * len("forty-five crowns") // 10


def test_the_command_explains_what_was_spoken(tmp_path, capsys):
    question, photo = tmp_path / "question.wav", tmp_path / "photo.png"
    question.write_bytes(wav(tone(1.0)))
    photo.write_bytes(png())
    with serving_on_a_thread(tmp_path, kind=SpeechStage) as stage:
        assert main(["--server", stage.target, "ask", str(photo), "--say", str(question), "--explain"]) == 0
    out, _ = capsys.readouterr()
    assert "45 crowns" in out
    steps = out.partition("\nsteps ")[2]
    assert "decode" in steps
    assert "both 0.75" not in out, "what the steps tell is not told twice"


def test_the_command_fails_where_the_answer_is_not_said(tmp_path, capsys):
    answer = tmp_path / "answer.wav"
    answer.write_bytes(b"of an earlier question")
    with serving_on_a_thread(tmp_path / "server", kind=SpeechStage) as stage:
        stage.voice.failure = EngineLost("gone")
        assert main(["--server", stage.target, "ask", "-", "How much?", "--speak", str(answer)]) == 1
    out, err = capsys.readouterr()
    assert (out, "could not be said aloud" in err) == ("45 crowns\n", True)


@pytest.mark.parametrize(
    "words_",
    [
        ["-"],
        ["-", "What?", "--say", "q.wav"],
        ["-", "--say", "missing.wav"],
        ["-", "What?", "--speak", "missing/a.wav"],
        ["-", "What?", "--speak", "a.wav", "--trace", "t.html"],
    ],
)
def test_the_command_says_what_it_cannot_do(words_, capsys):
    assert main(["ask", *words_]) == 2
    assert capsys.readouterr().err


class Played:
    """A loudspeaker that plays nothing, and is never through with it until it is stopped."""

    def __init__(self):
        self.volume, self.sound, self.stopped = 1.0, [], asyncio.Event()
        self.paused, self.at, self._read = False, 0.1, asyncio.Event()

    async def told(self, at):
        """Play up to there, and wait until that has been told."""
        self.at = at
        for _ in range(3):
            self._read.clear()
            await self._read.wait()

    async def drained(self):
        """Have all of it be played, and wait until that is seen."""
        self.sound.clear()
        self._read.clear()
        await self._read.wait()

    @property
    def seconds(self):
        self._read.set()
        return None if self.stopped.is_set() or not self.sound else self.at

    def play(self, audio):
        if audio.data:
            self.sound.append(audio)

    def stop(self):
        if self.sound:
            self.stopped.set()


async def test_a_conversation_ends_an_answer_with_the_wearers_first_word(stage):
    stage.hearing.texts = ["What is it?", "Louder.", "Stop."]
    stage.assistant.script = words(3)
    stage.voice.sound = lambda seconds: babble(seconds, 2).astype("<i2").tobytes()  # no tone, as the wearer's is
    speaker, told, failed = Played(), [], []
    between = asyncio.Event()

    async def microphone():
        yield tone(0.6) + silence(1.2)
        await between.wait()  # the whole answer is there, and still being played
        yield silence(0.8)
        yield tone(0.6) + silence(1.2)
        yield tone(0.6) + silence(1.2)

    def tell(said):
        told.append(said)
        if isinstance(said, AnswerSpoken):
            between.set()

    async with AsyncSession(stage.target, output=ALOUD) as session:
        await converse(session, microphone(), 16_000, speaker, tell, failed.append, b"", {})
    assert speaker.stopped.is_set()
    assert speaker.volume == 1.5
    heard = [said.text for said in told if isinstance(said, SpeechTranscript) and said.final and said.text]
    assert heard == ["What is it?", "Louder.", "Stop."]
    assert len(stage.assistant.turns) == 1
    assert failed == []


async def test_a_conversation_pauses_an_answer_until_it_knows_who_spoke(stage):
    stage.assistant.script = words(3)
    stage.voice.sound = lambda seconds: babble(seconds, 2).astype("<i2").tobytes()
    speaker, between, paused, states, failed = Played(), asyncio.Event(), asyncio.Event(), [], []

    async def microphone():
        yield tone(0.6) + silence(1.2)
        await between.wait()
        yield silence(0.8)  # comes after the first question, and belongs to the second
        await speaker.told(0.9)
        yield tone(0.1)
        await paused.wait()
        for _ in range(30):
            yield silence(0.04)

    def tell(said):
        if isinstance(said, AnswerSpoken):
            between.set()
        if isinstance(said, SpeechStatus):
            states.append((said.state, speaker.paused))
            if said.state is SpeechState.PAUSE:
                paused.set()
            if said.state is SpeechState.RESUME:
                speaker.sound.clear()  # all is played

    async with AsyncSession(stage.target, output=ALOUD) as session:
        async with asyncio.timeout(120):
            await converse(session, microphone(), 16_000, speaker, tell, failed.append, b"", {})
    assert (SpeechState.PAUSE, True) in states
    assert (SpeechState.RESUME, False) in states
    assert failed == []
    assert not speaker.stopped.is_set()


async def test_an_answer_whose_sound_comes_with_a_gap_is_played_to_its_end(stage):
    stage.voice.gate = Gate()
    stage.assistant.script = words(2)
    speaker, spoken, failed = Played(), asyncio.Event(), []

    async def microphone():
        yield tone(0.6) + silence(1.2)

    def tell(said):
        if isinstance(said, AnswerSpoken):
            spoken.set()

    async with AsyncSession(stage.target, output=ALOUD) as session:
        talk = asyncio.create_task(converse(session, microphone(), 16_000, speaker, tell, failed.append, b"", {}))
        await stage.voice.gate.reached.wait()
        first = 2 * round(22_050 * len(stage.voice.texts[0]) / 10)  # bytes
        await eventually(lambda: sum(len(each.data) for each in speaker.sound) == first)
        await speaker.drained()
        stage.voice.gate.open.set()
        await spoken.wait()
        told = asyncio.create_task(speaker.told(0.9))
        ended, _ = await asyncio.wait({talk, told}, return_when=asyncio.FIRST_COMPLETED)
        assert ended == {told}, "the rest of the answer is left unplayed"
        speaker.stop()
        await talk
    assert failed == []


def test_louder_sound_is_not_clipped_around():
    assert louder(b"\x00\x40\x00\xc0\x10\x00", 3.0) == b"\xff\x7f\x00\x80\x30\x00"
    assert louder(b"\x00\x40", 1.0) == b"\x00\x40"
