"""How soon and how well speech is understood."""

from __future__ import annotations

from time import perf_counter

from bench.engine.figures import percentile
from bench.results import Row, at_most
from bench.sections import Part
from bench.voice.speech import SENTENCES, Utterance, babble, sampled, utterances, white, with_noise, word_errors
from bench.voice.stage import VoiceSetup, VoiceStage
from quizglass.session import SpeechTranscript
from quizglass_client import AsyncSession

COMPUTED = {"a Raspberry Pi 5": 2.4, "an Intel N100": 1.5}
"""How many times as long a core of theirs is taken to need as one of the measured machine: by published results of one
core (Geekbench 6: about 800 and 1,250, beside 1,900 of a current server's)."""


async def transcripts(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """From the end of a question to its transcript, in a session; a recogniser of whole speeches begins then."""
    made = utterances(setup.demo, setup.folder / "speech", SENTENCES[: setup.count(12, 4)], (1.0,))
    took, lengths = list[float](), list[float]()
    async with AsyncSession(stage.server.target) as session:
        for each in (made[0], *made):  # the first one warms up
            setup.say(f"transcripts: {len(took)} of {len(made)}")
            began = perf_counter()
            turn = await session.say(each.wav())
            async for said in turn:
                if isinstance(said, SpeechTranscript) and said.final:
                    took.append(perf_counter() - began)
                    lengths.append(each.seconds)
                    break
            await turn.cancel()
    took, lengths = took[1:], lengths[1:]
    factors = [seconds / length for seconds, length in zip(took, lengths, strict=True)]
    factor, typical = percentile(factors, 0.5), percentile(lengths, 0.5)
    rows = [
        at_most(
            f"end of speech to final transcript, of questions of {typical:.1f} s, share of that, p50", factor, "", 0.35
        ),
        Row("the same in seconds, p50", percentile(took, 0.5), "s"),
        Row("the same in seconds, p95", percentile(took, 0.95), "s"),
        *(
            Row(f"computed for {name}: end of a 3 s question to its transcript", factor * 3 * slower, "s")
            for name, slower in COMPUTED.items()
        ),
    ]
    return Part(rows, {"took_s": took, "speech_s": lengths})


async def words(setup: VoiceSetup, stage: VoiceStage) -> Part:
    """Word error rates, alone and with noise."""
    made = utterances(setup.demo, setup.folder / "speech", SENTENCES)
    asked = sampled(made, setup.count(24, 6))
    crowd, longest = sampled(made[::-1], 6), max(each.seconds for each in made)
    noises = {"white noise": white(longest, 1), "babble": babble(crowd, longest)}
    clean = await _rates(setup, stage, asked, {}, "clean")
    rows = [at_most("word error rate, clean", clean[""], "%", 5)]
    rows += [Row(f"word error rate, clean, {name}", rate, "%") for name, rate in clean.items() if name]
    for name, noise in noises.items():
        for decibels in (20, 10):
            files = {at: with_noise(each, noise, decibels) for at, each in enumerate(asked)}
            rate = (await _rates(setup, stage, asked, files, f"{name} {decibels} dB"))[""]
            rows.append(Row(f"word error rate, {name} at {decibels} dB", rate, "%"))
    return Part(rows, {"utterances": len(asked)})


async def _rates(
    setup: VoiceSetup, stage: VoiceStage, asked: list[Utterance], files: dict[int, bytes], what: str
) -> dict[str, float]:
    """Errors in percent of the words: of all, by the name "", and of each voice and speed."""
    counts: dict[str, list[int]] = {}
    for at, each in enumerate(asked):
        setup.say(f"words: {what}, {at} of {len(asked)}")
        errors, said = word_errors(each.text, await stage.heard(files.get(at) or each.wav()))
        for name in ("", f"{each.voice} at {each.speed:g} of its time"):
            total = counts.setdefault(name, [0, 0])
            total[0] += errors
            total[1] += said
    return {name: 100 * errors / said for name, (errors, said) in counts.items()}
