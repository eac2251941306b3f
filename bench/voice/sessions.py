"""What an open microphone costs, what speeches leave behind, and what becomes of sound when links are cut."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from typing import Any

import grpc

from bench.hostile.stage import tree_mib
from bench.results import Row, at_most
from bench.sections import Part
from bench.session.cutting_proxy import Cut, CuttingProxy, cutting_proxy
from bench.voice.speech import SENTENCES, utterances, word_errors
from bench.voice.stage import VoiceSetup, VoiceStage
from quizglass.session import AnswerAudio, AnswerSpoken, OutputProfile, SpeechTranscript
from quizglass.v1 import session_pb2, session_pb2_grpc
from quizglass_client import AsyncSession

_SILENCE = bytes(3_200)
"""A tenth of a second."""
_LINK_BYTES = 128_000
"""Bytes a second that go up: a question of three seconds takes three quarters of one, and cuts come in the middle."""
_CUTS_S = 1.5
"""Most seconds from the beginning of a question, or from one cut, to the next."""


async def memory(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """Sessions whose microphones are open in silence, and the server after many speeches."""
    count, rounds = setup.count(100, 8), setup.count(1_000, 10)
    (short, *_) = utterances(setup.demo, setup.folder / "speech", ["How tall is it?"], (1.0,))
    await _said(setup, stage, short.wav(), setup.count(20, 2))  # what the first ones bring with them
    async with AsyncExitStack() as first, AsyncExitStack() as stack:
        for at in range(-4, count):
            if at == 0:
                await asyncio.sleep(2)
                before = tree_mib(stage.server.pid)
            options = [("grpc.use_local_subchannel_pool", 1), ("quizglass.bench", at)]
            await _open_microphone(
                await (first if at < 0 else stack).enter_async_context(
                    grpc.aio.insecure_channel(stage.server.target, options=options)
                )
            )
        await asyncio.sleep(2)
        each = (tree_mib(stage.server.pid) - before) * 1024 / count
    base = tree_mib(stage.server.pid)
    await _said(setup, stage, short.wav(), rounds)
    growth = (tree_mib(stage.server.pid) / base - 1) * 100
    rows = [
        at_most("a session with an open microphone, silent", each, "KiB", 128),
        at_most(f"growth after {rounds:,} utterances", growth, "%", 2),
        Row("server, recogniser and voice", before, "MiB"),
    ]
    return Part(rows)


async def _open_microphone(channel: grpc.aio.Channel) -> Any:
    call = session_pb2_grpc.SessionServiceStub(channel).Converse()  # type: ignore[no-untyped-call]
    await call.write(session_pb2.ClientMessage(open=session_pb2.Open(holder=b"bench of microphones")))
    await call.read()
    start = session_pb2.SpeechStart(id="a", ends_by_silence=True)
    await call.write(session_pb2.ClientMessage(id=1, speech_start=start))
    for at in range(20):
        piece = session_pb2.SpeechAudio(id="a", seq=at, data=_SILENCE)
        await call.write(session_pb2.ClientMessage(id=2 + at, audio=piece))
    return call


async def _said(setup: VoiceSetup, stage: VoiceStage, wav: bytes, count: int) -> None:
    async with AsyncSession(stage.server.target) as session:
        for at in range(count):
            setup.say(f"memory: speech {at} of {count}")
            turn = await session.say(wav)
            async for said in turn:
                if isinstance(said, SpeechTranscript) and said.final:
                    break
            await turn.cancel()


async def _cut(proxy: CuttingProxy, draw: random.Random) -> None:
    """Cut again and again, until it is cancelled."""
    while True:
        await asyncio.sleep(draw.uniform(0.2, _CUTS_S))
        proxy.cut(draw.choice([Cut.FIN, Cut.RST, Cut.STREAM_RESET]))


async def cuts(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """Links that are cut in the middle of sound, both ways, drawn by seed."""
    draw, wanted = random.Random(59), setup.count(200, 6)
    made = utterances(setup.demo, setup.folder / "speech", SENTENCES[:4], (1.0,))
    # Where a recogniser is unsure it draws words by chance, with cuts and without: the clearer voice alone.
    made = [each for each in made if each.voice == "piper"]
    port = int(stage.server.target.rpartition(":")[2])
    doubled, lost, silent, turns, wrong = 0, 0, 0, 0, list[tuple[str, list[str]]]()
    async with (
        cutting_proxy(port, _LINK_BYTES) as proxy,
        AsyncSession(proxy.target, output=OutputProfile(aloud=True)) as session,
    ):
        expected = {}
        for each in made:  # in the session, too, whose sound takes the same way
            turn = await session.say(each.wav(), policy="quote")
            expected[each.text] = (await turn.transcript()).text
            await turn.cancel()
        while session.links <= wanted:
            each = draw.choice(made)
            turn = await session.say(each.wav(), policy="quote")
            cutting = asyncio.create_task(_cut(proxy, draw))
            finals, sound, whole = list[str](), 0, list[bool]()
            async for said in turn:
                match said:
                    case SpeechTranscript(final=True, text=text):
                        finals.append(text)
                    case AnswerAudio(data=data):
                        sound += len(data)
                    case AnswerSpoken(whole=is_whole):
                        whole.append(is_whole)
            cutting.cancel()
            turns += 1
            lost += not finals
            doubled += len(finals) > 1 or len(whole) > 1
            if word_errors(expected[each.text], "".join(finals[:1]))[0]:
                wrong.append((expected[each.text], finals))
            silent += whole != [True] or not sound
            setup.say(f"cuts: {session.links - 1} of {wanted}, {turns} speeches")
        links = session.links - 1
    rows = [
        at_most(f"transcripts lost through {links} links that were cut", lost, f"of {turns}", 0),
        at_most("transcripts or answers doubled", doubled, f"of {turns}", 0),
        at_most("transcripts with other words than without cuts", len(wrong), f"of {turns}", 0),
        at_most("answers whose sound is not whole", silent, f"of {turns}", 0),
    ]
    return Part(rows, {"speeches": turns, "cuts": links, "other_words": wrong})
