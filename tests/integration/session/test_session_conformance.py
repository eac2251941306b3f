"""The Python client replays the scenarios that every client has to (clients/conformance/README.md)."""

import asyncio
import base64
import json
from itertools import groupby
from pathlib import Path

import pytest

from quizglass.session import (
    AnswerAudio,
    Forgotten,
    FrameState,
    NeedFrame,
    OutputProfile,
    PostureChange,
    SegmentState,
    SpeechState,
    SpeechStatus,
    SpeechTranscript,
    TurnUpdate,
)
from quizglass_client import AsyncSession, ClientError, LinkLost, LinkRestored
from tests.support.sessions import conformance
from tests.support.sessions.conformance import ConformanceStage
from tests.support.sessions.session_links import WAIT_S, eventually
from tests.support.sessions.speech import silence, tone

SCENARIOS = sorted((Path(__file__).parents[3] / "clients" / "conformance").glob("*.json"))
KINDS = {
    "Accepted": "accepted",
    "PlanMade": "plan",
    "QueryRewritten": "query",
    "EvidenceFound": "evidence",
    "AnswerDelta": "answer_delta",
    "Verdict": "verdict",
    "Provisional": "provisional",
    "Withdrawn": "withdrawn",
    "Done": "done",
}
"""Events by the names of their fields in the protocol."""


def tenths(sound):
    """Sound of a scenario in pieces of a tenth of a second."""
    made = b"".join(tone(seconds, hertz=hertz) if hertz else silence(seconds) for hertz, seconds in sound)
    return [made[at : at + 3200] for at in range(0, len(made), 3200)]


class Following:
    """One turn, followed as it comes."""

    def __init__(self, turn):
        self.turn = turn
        self.updates = []
        self.heard = None
        self.sounds = {}
        self.closer = []
        self.states = []
        self.error = None
        self._task = asyncio.create_task(self._follow())

    async def _follow(self):
        try:
            async for said in self.turn:
                if isinstance(said, TurnUpdate):
                    self.updates.append(said)
                if isinstance(said, SpeechTranscript) and said.final:
                    self.heard = said.text
                if isinstance(said, SpeechStatus) and said.state is not SpeechState.LISTENING:
                    self.states.append(said.state.upper())
                if isinstance(said, AnswerAudio):
                    self.sounds[said.segment] = self.sounds.get(said.segment, 0) + len(said.data)
                if isinstance(said, NeedFrame):
                    self.closer += [need.region for need in said.frames if need.region is not None]
            await self.turn.answer()
        except ClientError as error:
            self.error = error

    async def over(self):
        async with asyncio.timeout(WAIT_S):
            await self._task

    @property
    def segments(self):
        """The last word about each segment: its state and text."""
        last = {}
        for update in self.updates:
            for segment in update.segments:
                state, text = last.get(segment.index, (None, ""))
                assert state in (None, SegmentState.DRAFT), "what is confirmed or retracted has changed"
                last[segment.index] = (segment.state, segment.text or text)
        return [last[index] for index in sorted(last)]

    def check(self, expected):
        """All that was reported about it, once and in order."""
        assert self.heard == expected.get("heard", self.heard)
        assert self.states == expected.get("states", self.states)
        sounds = list(self.sounds.values())
        assert sounds == expected.get("sounds", sounds)
        assert [update.seq for update in self.updates] == list(range(1, len(self.updates) + 1))
        if "error" in expected:
            assert type(self.error).__name__ == expected["error"], self.error
            assert self.error.reason == expected.get("reason", self.error.reason)
            assert getattr(self.error, "field", "") == expected.get("field", getattr(self.error, "field", ""))
            return
        assert self.error is None
        events = [KINDS[kind] for kind, _ in groupby(type(update.event).__name__ for update in self.updates)]
        assert events == expected.get("events", events)
        assert self.updates[-1].event.answer == expected["text"]
        confirmed = "".join(text for state, text in self.segments if state is SegmentState.CONFIRMED)
        assert confirmed.strip() == expected.get("said", expected["text"])
        closer = [[part.left, part.top, part.right, part.bottom] for part in self.closer]
        assert closer == expected.get("closer", closer)


def named(news):
    """What is reported about a session, as scenarios name it; None for what they leave out."""
    match news:
        case LinkLost():
            return "lost"
        case LinkRestored(restored=restored):
            return f"restored {restored.upper()}"
        case PostureChange(posture=posture):
            return f"posture {posture.upper()}"
        case Forgotten():
            return "forgotten"
    return None


class Replay:
    """One scenario, carried out."""

    def __init__(self, stage, session, options):
        self.stage = stage
        self.session = session
        self.options = options
        self.turns = {}
        self.frames = {}
        self.news = []
        self.marked = 0
        self.microphone = None
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self):
        async for news in self.session.news():
            self.news.append(news)

    async def step(self, step):
        match step:
            case {"stage": command}:
                await self.stage.do(command)
            case {"show": name, "picture": picture, **more}:
                self.frames[name] = await self.session.show(conformance.pictures()[picture], **more)
            case {"drop": name}:
                await self.session.drop(self.frames[name])
            case {"ask": name, "question": question, **more}:
                frame = self.frames[more["frame"]] if "frame" in more else b""
                overlap = more.get("overlap", "interrupt")
                self.turns[name] = Following(await self.session.ask(question, frame=frame, overlap=overlap))
            case {"say": name, "opus": seconds}:
                packets = map(base64.b64decode, await self.stage.do({"opus": seconds}))
                self.turns[name] = Following(await self.session.say(packets, codec="opus"))
            case {"say": name, "sound": sound, **more}:
                frame = self.frames[more["frame"]] if "frame" in more else b""
                silence = more.get("ends_by_silence", False)
                turn = await self.session.say(tenths(sound), frame=frame, ends_by_silence=silence)
                self.turns[name] = Following(turn)
            case {"listen": names, "sound": sound, **more}:
                over, pauses = self.turns.get(more.get("over")), more.get("pauses", False)
                overlap = more.get("overlap", "interrupt")
                self.microphone = asyncio.create_task(
                    self.listen(names, tenths(sound), over, pauses=pauses, overlap=overlap)
                )
                if not more.get("beside"):
                    await self.microphone
            case {"after": name, "events": count}:
                await eventually(lambda: len(self.turns[name].updates) >= count)
            case {"after": name, "segments": count}:
                await eventually(lambda: len(self.turns[name].segments) >= count)
            case {"after": name, "states": count}:
                await eventually(lambda: name in self.turns and len(self.turns[name].states) >= count)
            case {"played": name, "segment": segment, "code_point": code_point}:
                await self.turns[name].turn.played(segment, code_point)
            case {"cancel": name}:
                await self.turns[name].turn.cancel()
            case {"over": name}:
                await self.turns[name].over()
            case {"device": state}:
                await self.session.device(**state)
            case {"forget": True}:
                await self.session.forget()
            case {"told": name, **more}:
                await eventually(lambda: [named(news) for news in self.news].count(name) >= more.get("times", 1))
            case {"close": True}:
                await self.session.close()
            case {"anew": True}:
                await self.session.close()
                await self._listening
                self.session = AsyncSession(self.session.target, **self.options, state=self.session.state)
                await self.session.__aenter__()
                self._listening = asyncio.create_task(self._listen())
            case {"hint": True}:
                self.session.hint_reconnect()
            case {"links": count}:
                await eventually(lambda: self.session.links >= count)
            case {"mark": "up"}:
                self.marked = await self.stage.do({"up": None})
            case _:
                raise AssertionError(f"{step} is no step")

    async def listen(self, names, pieces, over, **options):
        """Open a microphone, and follow its turns by these names; what comes after them is nothing."""

        async def microphone():
            for at, piece in enumerate(pieces):
                if over is not None:
                    await over.turn.playing(at / 10)
                yield piece

        left = list(names)
        async for turn in self.session.listen(microphone(), **options):
            following = Following(turn)
            if left:
                self.turns[left.pop(0)] = following
            else:
                await following.over()
                assert following.heard == ""

    async def check(self, scenario):
        for name, expected in scenario["turns"].items():
            self.turns[name].check(expected)
        assert await self.stage.do({"inferred": None}) == scenario["inferred"]
        seen = await self.stage.do({"seen": None})
        assert seen == scenario.get("seen", seen)
        sounds = await self.stage.do({"sounds": None})
        assert sounds == scenario.get("sounds", sounds)
        assert self.session.links == scenario.get("links", self.session.links)
        up = await self.stage.do({"up": None})
        assert up - self.marked <= scenario.get("up_at_most", up)
        if self.microphone is not None:
            await self.microphone
        await self.session.close()
        await self._listening
        told = [name for name in map(named, self.news) if name is not None]
        assert told == scenario.get("news", told)
        for each in self.news:
            if isinstance(each, Forgotten):
                receipt = {key: getattr(each, key) for key in scenario["forgotten"]}
                assert receipt == scenario["forgotten"]
        assert FrameState.UNKNOWN not in [getattr(news, "state", None) for news in self.news]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
async def test_the_python_client_does_as_every_client(tmp_path, monkeypatch, path):
    for name, seconds in conformance.LIVELY.items():
        monkeypatch.setattr(f"quizglass_server.session.{name}", seconds)
    scenario = json.loads(path.read_text(encoding="utf-8"))
    options = dict(scenario.get("open", {}))
    if "output" in options:
        options["output"] = OutputProfile(**options["output"])
    async with (
        ConformanceStage(
            tmp_path, scenario.get("answers", {}), scenario.get("settings", {}), scenario.get("hears", ())
        ) as stage,
        AsyncSession(stage.targets["grpc"], **options) as session,
    ):
        replay = Replay(stage, session, options)
        for step in scenario["steps"]:
            await replay.step(step)
        await replay.check(scenario)


def test_scenarios_are_there():
    assert len(SCENARIOS) > 10
