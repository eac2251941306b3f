"""Speaking over an answer: how soon it is quiet, and whether its own sound is ever taken for the wearer."""

from __future__ import annotations

import asyncio

import numpy as np

from bench.engine.figures import percentile
from bench.results import Row, at_most
from bench.sections import Part
from bench.voice.rooms import LINK_S, Heard, Room, Samples, Wearer, drawn_room, listened
from bench.voice.speech import RATE, SENTENCES, utterances
from bench.voice.stage import VoiceSetup

ANSWERS = (
    "The glass costs forty-five crowns, and it was made in Velmora in nineteen twelve.",
    "It is a spider plant; water it every three weeks and keep it out of the sun.",
    "The train leaves at half past seven from platform nine.",
    "This is the town hall of Leuven, which was built in the fifteenth century.",
    "The medicine contains two hundred milligrams of ibuprofen in each tablet.",
    "I don't know who painted this, but it looks like a copy of an older picture.",
    "The book on the left is by Selma Lagerlof, and the one on the right is a dictionary.",
    "That bridge is three point five kilometres long and carries six lanes of traffic.",
    "The soup has leeks, potatoes, cream and a little nutmeg.",
    "Your meeting with Anna is on Thursday at ten in the small room.",
)
WORDS = ("Stop.", "And who made it?", "How old is it?", "No, the other one, please.", "Louder, please.")
"""What wearers say over them, beside the questions of the other sections."""
_LOUDER = 1.5, 3.0
"""Times as loud as the answer's echo a wearer is, by amplitude."""
_BEGINS_S = 1.0, 2.2
"""Seconds of the answer after which one begins."""


async def interruptions(setup: VoiceSetup) -> Part:
    """Answers in drawn rooms, alone and with a wearer who speaks over them, by the time of the microphone's samples.

    What the server works on a piece, and the link, are added: nothing else lies between a voice and the silence.
    """
    return await asyncio.to_thread(_measured, setup)


def _measured(setup: VoiceSetup) -> Part:
    folder = setup.folder / "speech"
    answers = [each for each in utterances(setup.demo, folder, ANSWERS, (1.0,)) if each.voice == "piper"]
    wearers = utterances(setup.demo, folder, [*WORDS, *SENTENCES[: len(WORDS)]], (1.0,))
    alone, over = list[Heard](), list[tuple[Wearer, Heard]]()
    for at in range(setup.count(200, 6)):
        setup.say(f"interruptions: {at} of 200 answers alone")
        alone.append(listened(_pcm(answers[at % len(answers)].samples), drawn_room(5000 + at)))
    for at in range(setup.count(200, 6)):
        setup.say(f"interruptions: {at} of 200 answers that are spoken over")
        answer, room = _pcm(answers[at % len(answers)].samples), drawn_room(9000 + at)
        wearer = _wearer(wearers[at % len(wearers)].samples, answer, room)
        over.append((wearer, listened(answer, room, wearer)))
    return Part(_rows(alone, over), {"silent_s": [_silent_s(*each) for each in over]})


def _pcm(samples: Samples) -> Samples:
    return samples * 32_767


def _wearer(samples: Samples, answer: Samples, room: Room) -> Wearer:
    echo = room.heard(answer)
    level = np.sqrt((echo**2).mean() / (samples**2).mean()) * room.draw.uniform(*_LOUDER)
    return Wearer(samples * level, round(room.draw.uniform(*_BEGINS_S) * RATE))


def _silent_s(wearer: Wearer, heard: Heard) -> float | None:
    """Seconds from the wearer's first sound to a quiet loudspeaker; None: it was quiet before, or never."""
    before = [at for at in heard.pauses if at <= wearer.onset]
    quiet = [at for at in [*heard.pauses, heard.voice or 0] if at > wearer.onset]
    if not quiet or (before and len(before) == len(heard.pauses)):
        return None
    return (min(quiet) - wearer.onset) / RATE + max(heard.took_s) + LINK_S


def _rows(alone: list[Heard], over: list[tuple[Wearer, Heard]]) -> list[Row]:
    silent = [seconds for each in over if (seconds := _silent_s(*each)) is not None]
    words = [(heard.voice - wearer.onset) / RATE for wearer, heard in over if heard.voice is not None]
    false = sum(heard.voice is not None for heard in alone)
    pauses, seconds = sum(len(heard.pauses) for heard in alone), sum(heard.length for heard in alone) / RATE
    took = [seconds for heard in alone for seconds in heard.took_s]
    return [
        at_most("from a voice to a quiet loudspeaker, p99", 1000 * percentile(silent, 0.99), "ms", 300),
        Row("the same, p50", 1000 * percentile(silent, 0.5), "ms"),
        at_most("answers whose own sound was taken for the wearer", false, f"of {len(alone)}", 0),
        at_most("wearers who were not heard", sum(h.voice is None for _, h in over), f"of {len(over)}", 0),
        Row("short pauses that an answer made by itself, in a minute", 60 * pauses / seconds, ""),
        Row("from a voice to its first word, p50", 1000 * percentile(words, 0.5), "ms"),
        Row("work for a piece of 32 ms, p99", 1000 * percentile(took, 0.99), "ms"),
    ]
