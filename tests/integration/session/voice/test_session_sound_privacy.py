"""Nothing of any sound is kept: not in logs, traces, files or a turn's events, or in memory after its transcript."""

import asyncio
import base64
import gc
import logging

import pytest

from quizglass.convert import server_message
from quizglass.session import AnswerSpoken, Forget, Forgotten, Kept, Question
from quizglass_client.local import LocalServer
from quizglass_server.session.voice.speech import Speech
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.collector import collecting
from tests.support.engines import wyoming_server
from tests.support.engines.wyoming_server import SpeechScript, wyoming_serving
from tests.support.sessions.session_links import opened
from tests.support.sessions.speech import ALOUD, CANARY, hearing_and_speaking, spoken, tone, vowels

SECRET = "zanzibar"
SPOKEN = tone(0.5) + CANARY * 800


def found(text_or_bytes, sound=CANARY):
    """Whether anything of the sound, or of what was said, is in it, in whatever writing."""
    data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
    ways = sound, sound.hex().encode(), repr(sound)[2:-1].encode(), base64.b64encode(sound * 3)[2:14]
    return any(way in data for way in ways)


@pytest.fixture
async def stage(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    async with hearing_and_speaking(tmp_path, audit_log=tmp_path / "audit.log") as stage:
        stage.voice.tail = CANARY * 100
        stage.hearing.texts = [f"Where is {SECRET}?"]
        yield stage


async def test_sound_is_in_no_log_and_in_no_file(stage, tmp_path, caplog):
    async with opened(stage.target, output=ALOUD) as (said, _):
        await said.say(*spoken("a", SPOKEN, request=Question("", explain=True)))
        await said.until(AnswerSpoken)
        assert CANARY in stage.hearing.heard[0]
        told = [each for _, each in said.heard if type(each).__name__ not in ("AnswerAudio", "Opened")]
        assert not any(found(server_message(each, 1).SerializeToString()) for each in told)
        await said.say(Forget())
        assert Kept("caches") in (await said.until(Forgotten)).kept
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert not found(path.read_bytes()), path
            assert SECRET.encode() not in path.read_bytes(), path
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert not found(logged)
    assert SECRET not in logged


async def test_a_recogniser_that_fails_leaves_no_sound_in_the_log(stage, caplog):
    stage.hearing.failure = RuntimeError("unforeseen")
    async with opened(stage.target) as (said, _):
        await said.say(*spoken("a", SPOKEN))
        assert (await said.notice()).reason == "UNEXPECTED"
    assert "unforeseen" in caplog.text
    assert not found(caplog.text)


async def test_sound_is_let_go_with_its_transcript(stage):
    async with opened(stage.target) as (said, _):
        await said.say(*spoken("a", SPOKEN))
        await said.done("a")
        gc.collect()
        assert [each for each in gc.get_objects() if isinstance(each, Speech)] == []


async def test_a_whole_server_keeps_no_sound_in_logs_traces_state_or_stores(tmp_path):
    """As it is run: a generator that keeps its state, spans for a collector, and speech over the Wyoming protocol."""
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    state, log, script = tmp_path / "state", tmp_path / "server.log", SpeechScript(words=("Where is", f" {SECRET}?"))
    flags = ["--state-directory", str(state), "--audit-log", str(tmp_path / "audit.jsonl"), "--log-level", "debug"]
    with collecting() as collector:
        async with wyoming_serving(script) as speech:
            flags += ["--traces-url", collector.url, "--hearing", speech, "--voice", speech]
            server = LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags, log=log)
            await asyncio.to_thread(server.__enter__)
            try:
                async with opened(server.target, output=ALOUD) as (said, _):
                    asked = Question("", policy="none", explain=True)
                    await said.say(*spoken("a", vowels(1.0) + CANARY * 800, request=asked))
                    await said.until(AnswerSpoken)
            finally:
                await asyncio.to_thread(server.__exit__, None, None, None)
        spans, sent = [span.name for span in collector.spans()], b"".join(collector.bodies)
    answered = wyoming_server.tone(50)[:40]
    assert CANARY in script.heard[0]
    assert script.spoken
    assert {"turn", "generate"} <= set(spans)
    assert any(path.is_file() for path in state.rglob("*")), "the generator's state was written"
    assert SECRET.encode() not in sent
    assert SECRET not in log.read_text() + (tmp_path / "audit.jsonl").read_text()
    kept = [sent, *(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())]
    assert not any(found(each, sound) for each in kept for sound in (CANARY, answered))
