"""Speaking over an answer: how soon it is quiet, and whether its own sound is ever taken for the wearer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

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
_ALONE_SEED, _OVER_SEED = 61000, 63000
"""Of the first room, whose successors follow it; drawn anew when something was tuned on them."""


@dataclass(frozen=True)
class Spoken:
    """An answer that a wearer spoke over, and what came of it."""

    words: str
    wearer: Wearer
    heard: Heard
    length: int
    """Samples of the answer."""

    @property
    def ended_before(self) -> bool:
        """Whether the answer ended by its own sound, before the wearer began."""
        return self.heard.voice is not None and self.heard.voice <= self.wearer.onset

    @property
    def was_heard(self) -> bool:
        """Whether the wearer ended the answer."""
        return self.heard.voice is not None and not self.ended_before

    @property
    def paused_before(self) -> bool:
        """Whether the answer had paused by its own sound, and was quiet when the wearer began."""
        return self.heard.paused(self.wearer.onset)

    @property
    def silent_s(self) -> float:
        """Seconds from the wearer's first sound to a quiet loudspeaker.

        A wearer who was not heard waits for the answer's end. Where the loudspeaker was quiet before, it counts up to
        the next pause or word, and not as nothing.
        """
        if not self.was_heard:
            return max(0, self.length - self.wearer.onset) / RATE
        quiet = min(at for at in [*self.heard.pauses, self.heard.voice or 0] if at > self.wearer.onset)
        return (quiet - self.wearer.onset) / RATE + max(self.heard.took_s) + LINK_S


async def interruptions(setup: VoiceSetup) -> Part:
    """Answers in drawn rooms, alone and with a wearer who speaks over them, by the time of the microphone's samples.

    What the server works on a piece, and the link, are added: nothing else lies between a voice and the silence.
    """
    return await asyncio.to_thread(_measured, setup)


def _measured(setup: VoiceSetup) -> Part:
    folder = setup.folder / "speech"
    answers = [each for each in utterances(setup.demo, folder, ANSWERS, (1.0,)) if each.voice == "piper"]
    wearers = utterances(setup.demo, folder, [*WORDS, *SENTENCES[: len(WORDS)]], (1.0,))
    alone, over = list[Heard](), list[Spoken]()
    for at in range(setup.count(200, 6)):
        setup.say(f"interruptions: {at} of 200 answers alone")
        alone.append(listened(_pcm(answers[at % len(answers)].samples), drawn_room(_ALONE_SEED + at)))
    for at in range(setup.count(200, 6)):
        setup.say(f"interruptions: {at} of 200 answers that are spoken over")
        said, answer, room = wearers[at % len(wearers)], answers[at % len(answers)].samples, drawn_room(_OVER_SEED + at)
        wearer = _wearer(said.samples, _pcm(answer), room)
        over.append(Spoken(said.text, wearer, listened(_pcm(answer), room, wearer), len(answer)))
    data = {
        "silent_s": [each.silent_s for each in over],
        "not_heard": [each.words for each in over if not each.was_heard],
        "paused_before": [each.silent_s for each in over if each.paused_before],
    }
    return Part(rows(alone, over), data)


def _pcm(samples: Samples) -> Samples:
    return samples * 32_767


def _wearer(samples: Samples, answer: Samples, room: Room) -> Wearer:
    echo = room.heard(answer)
    level = np.sqrt((echo**2).mean() / (samples**2).mean()) * room.draw.uniform(*_LOUDER)
    return Wearer(samples * level, round(room.draw.uniform(*_BEGINS_S) * RATE))


def rows(alone: Sequence[Heard], over: Sequence[Spoken]) -> list[Row]:
    """The figures of answers that played alone, and of those that were spoken over: all of them, none left out."""
    silent = [each.silent_s for each in over]
    words = [(each.heard.voice - each.wearer.onset) / RATE for each in over if each.was_heard and each.heard.voice]
    false = sum(heard.voice is not None for heard in alone) + sum(each.ended_before for each in over)
    pauses, seconds = sum(len(heard.pauses) for heard in alone), sum(heard.length for heard in alone) / RATE
    took = [seconds for heard in alone for seconds in heard.took_s]
    every = f"of {len(over)}"
    return [
        at_most(f"from a voice to a quiet loudspeaker, p99 {every}", 1000 * percentile(silent, 0.99), "ms", 300),
        Row("the same, p50", 1000 * percentile(silent, 0.5), "ms"),
        at_most("answers whose own sound was taken for the wearer", false, f"of {len(alone) + len(over)}", 0),
        at_most("wearers who were not heard", sum(not each.was_heard for each in over), every, 0),
        Row("answers that had paused by themselves when the wearer began", sum(e.paused_before for e in over), every),
        Row("short pauses that an answer made by itself, in a minute", 60 * pauses / seconds, ""),
        Row("from a voice to its first word, p50", 1000 * percentile(words, 0.5), "ms"),
        Row("work for a piece of 32 ms, p99", 1000 * percentile(took, 0.99), "ms"),
    ]
