"""Another client's questions in text, while a wearer speaks and while not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import cycle
from time import perf_counter

from bench.engine.figures import percentile
from bench.results import Row, at_most
from bench.sections import Part
from bench.voice.rooms import PIECE
from bench.voice.speech import RATE, SENTENCES, pcm_of, utterances
from bench.voice.stage import VoiceSetup, VoiceStage
from clients.demo.album import QUESTIONS
from quizglass_client import AsyncClient, AsyncSession, Cancelled

_PAUSE_S = 1.5
"""Of silence after each question of the wearer, and the server ends it meanwhile."""
_BETWEEN_S = 0.1


async def beside(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """Turns in text, in turn while a wearer asks question after question by voice, and while all is quiet."""
    made = utterances(setup.demo, setup.folder / "speech", SENTENCES[:6], (1.0,))
    sound = [pcm_of(each.samples) for each in made]
    quiet, spoken = list[float](), list[float]()
    rounds = setup.count(4, 1)
    async with AsyncClient(stage.server.target) as client:
        await _turns(client, stage, 6)
        for at in range(rounds):
            setup.say(f"beside: round {at + 1} of {rounds}")
            quiet += await _turns(client, stage, 40)
            async with asyncio.TaskGroup() as group:
                speaking = group.create_task(_speak(stage, sound))
                spoken += await _turns(client, stage, 40)
                speaking.cancel()
    before, meanwhile = percentile(quiet, 0.95), percentile(spoken, 0.95)
    rows = [
        at_most("turn in text, p95: while a wearer speaks, beside quiet", meanwhile / before, "times", 1.5),
        Row("turn in text, p95, quiet", 1000 * before, "ms"),
        Row("turn in text, p95, while a wearer speaks", 1000 * meanwhile, "ms"),
    ]
    return Part(rows, {"quiet_s": quiet, "spoken_s": spoken})


async def _turns(client: AsyncClient, stage: VoiceStage, count: int) -> list[float]:
    took = list[float]()
    for at in range(count):
        asked = QUESTIONS[at % len(QUESTIONS)]
        picture = (stage.pictures / asked.picture).read_bytes() if asked.picture else None
        began = perf_counter()
        await client.answer(asked.question, picture)
        took.append(perf_counter() - began)
        await asyncio.sleep(_BETWEEN_S)
    return took


async def _speak(stage: VoiceStage, sound: list[bytes]) -> None:
    """An open microphone, whose questions are heard and not answered: only the sound is to be beside the turns."""
    async with AsyncSession(stage.server.target) as session:
        async for turn in session.listen(_live(sound)):
            with suppress(Cancelled):  # by the next words, where the recogniser is late
                await turn.transcript()
            await turn.cancel()


async def _live(sound: list[bytes]) -> AsyncIterator[bytes]:
    """Pieces as a microphone gives them."""
    began, at = perf_counter(), 0
    for speech in cycle(sound):
        whole = speech + bytes(2 * round(_PAUSE_S * RATE))
        for begin in range(0, len(whole), 2 * PIECE):
            yield whole[begin : begin + 2 * PIECE]
            at += PIECE
            await asyncio.sleep(max(0.0, began + at / RATE - perf_counter()))
