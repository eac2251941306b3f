"""Orders of messages and cuts, drawn at random, against what a client may rely on: no event missing and none twice."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from google_crc32c import value as crc32c
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from quizglass.session import (
    Ack,
    CancelAsk,
    DeviceState,
    FrameBegin,
    FrameDrop,
    FramePart,
    FrameState,
    FrameStatus,
    Heat,
    Interrupted,
    LinkQuality,
    Notice,
    Open,
    Opened,
    Overlap,
    Ping,
    Playback,
    Posture,
    PostureChange,
    Progress,
    Question,
    Restored,
    SegmentState,
    SessionAsk,
    TurnUpdate,
)
from quizglass.values import AnswerDelta, Done, FinishReason
from quizglass_server.assistant.asking import Asking
from quizglass_server.config.settings import LinkOptions, RequestLimits
from quizglass_server.scheduling.places import Places
from quizglass_server.session.dialogue.token import DialogueSealer
from quizglass_server.session.directory import SessionDirectory, session_limits
from quizglass_server.session.frames import FramePool
from quizglass_server.session.session import SessionResources
from tests.support.rpc_fakes import Assistant

HOLDER = b"h" * 16
PIECE = 8
NAMES = st.integers(0, 12).map(str)
FRAMES = [bytes([number]) * (3 * PIECE - number) for number in range(3)]
"""Each of three pieces, the last of which is shorter."""
POSTURES = (Posture.NORMAL, Posture.CONSERVE, Posture.RESERVE)
SIGNALS = {
    DeviceState(): 0,
    DeviceState(battery_percent=31): 0,
    DeviceState(battery_percent=30): 1,
    DeviceState(battery_percent=10): 2,
    DeviceState(heat=Heat.NORMAL): 0,
    DeviceState(heat=Heat.WARM): 1,
    DeviceState(heat=Heat.HOT, link=LinkQuality.GOOD): 2,
    DeviceState(link=LinkQuality.FAIR): 1,
    DeviceState(link=LinkQuality.POOR): 2,
}
"""What a device says, and the place of the posture that it asks for."""


@dataclass(frozen=True)
class Sent:
    """A message as it would be on the wire."""

    said: object
    seq: int
    state: bytes

    def ByteSize(self) -> int:
        return 100


class Wire:
    def encode(self, said, seq, state):
        return Sent(said, seq, state)

    def status(self, error):
        return 3

    def kind(self, said):
        return type(said).__name__


class Wearable(RuleBasedStateMachine):
    """One client, whose link breaks between any two messages, and a server that writes on demand."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.begin())

    async def begin(self):
        self.steps: asyncio.Queue[bool] = asyncio.Queue()
        self.inferred: Counter[str] = Counter()
        assistant = Assistant()
        assistant.script = self.script
        pictures = SimpleNamespace(held=lambda _: None)
        asking = Asking(assistant, pictures, RequestLimits(), 10.0)
        options = LinkOptions(session_unacknowledged_bytes=16 << 10)
        limits = session_limits(options, 1 << 10, 640)
        resources = SessionResources(asking, None, FramePool(1 << 20), DialogueSealer([bytes(32)], 60), Wire(), limits)
        self.sessions = SessionDirectory(resources, Places(10, "sessions"))
        self.session_id, self.last = "", 0
        self.link = self.reader = self.next = None
        self.asked: dict[str, SessionAsk] = {}
        self.events: dict[str, list[TurnUpdate]] = {}
        self.ends: dict[str, list[object]] = {}
        self.segments: dict[str, dict[int, str]] = {}
        self.pieces: dict[bytes, int] = {}
        """Of frames that were announced: how many bytes of each the server has."""
        self.statuses: list[FrameStatus] = []
        self.posture = 0
        """Place of the worst one that the device asked for: it gets better after a while only."""
        self.postures: list[Posture] = []
        """Both as the server is to say them, and has not been heard to."""
        await self.connect()

    async def script(self, turn, policy, budget):
        self.inferred[turn.question] += 1
        words = []
        while await self.steps.get():
            words.append(f"w{len(words)}.")
            yield AnswerDelta(f" {words[-1]}")
        yield Done(" ".join(words), FinishReason.COMPLETE)

    async def connect(self):
        self.session, self.link = self.sessions.open(Open(HOLDER, self.session_id, self.last))
        self.reader = self.link.messages()
        self.take(await anext(self.reader))

    def breathe(self):
        """Let the server do what there is to do."""

        async def rounds():
            for _ in range(20):
                await asyncio.sleep(0)

        self.loop.run_until_complete(rounds())

    def say(self, said):
        async def receive():
            self.session.receive(said)

        self.loop.run_until_complete(receive())

    def read(self, most):
        """Take so many messages, as far as there are any."""

        async def take():
            for _ in range(most):
                self.next = self.next or asyncio.ensure_future(anext(self.reader))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                if not self.next.done():
                    return
                taken, self.next = self.next.result(), None
                self.take(taken)

        self.loop.run_until_complete(take())

    def take(self, sent):
        said = sent.said
        if isinstance(said, Opened):
            assert said.restored is (Restored.ALL if self.session_id else Restored.NEW)
            self.session_id = said.session_id
            return
        if isinstance(said, Progress):
            return
        if type(said).__name__ == "Pong":
            assert sent.seq == self.last
            return
        assert sent.seq == self.last + 1, "a message is missing, or came twice"
        self.last = sent.seq
        if isinstance(said, TurnUpdate):
            self.events.setdefault(said.ask_id, []).append(said)
            texts = self.segments.setdefault(said.ask_id, {})
            for segment in said.segments:
                assert segment.state is SegmentState.CONFIRMED
                assert segment.index not in texts, "a confirmed segment changed"
                texts[segment.index] = segment.text
            if isinstance(said.event, Done):
                self.ends.setdefault(said.ask_id, []).append(said.event)
        elif isinstance(said, FrameStatus):
            assert said == self.statuses.pop(0), "a frame is not there as far as its pieces came"
        elif isinstance(said, PostureChange):
            assert said.posture is self.postures.pop(0), "an unrequested posture, or twice"
        elif isinstance(said, Interrupted) or (isinstance(said, Notice) and said.turn_over):
            self.ends.setdefault(said.ask_id, []).append(said)

    # What the client does.

    @rule(name=NAMES, overlap=st.sampled_from([Overlap.UNKNOWN, Overlap.QUEUE, Overlap.REFUSE]))
    def ask(self, name, overlap):
        ask = self.asked.setdefault(name, SessionAsk(name, Question(f"Question {name}?"), overlap))
        if self.link is not None:
            self.say(ask)

    @rule(name=st.one_of(NAMES, st.just("")))
    @precondition(lambda self: self.link is not None)
    def cancel(self, name):
        self.say(CancelAsk(name))

    @rule(name=NAMES, segment=st.integers(0, 3), code_point=st.integers(0, 4))
    @precondition(lambda self: self.link is not None)
    def play(self, name, segment, code_point):
        self.say(Playback(name, segment, code_point))

    @rule()
    @precondition(lambda self: self.link is not None)
    def acknowledge(self):
        self.say(Ack(self.last))

    @rule()
    @precondition(lambda self: self.link is not None)
    def ping(self):
        self.say(Ping(b"x"))

    @rule(data=st.sampled_from(FRAMES))
    @precondition(lambda self: self.link is not None)
    def announce(self, data):
        name = hashlib.sha256(data).digest()
        self.pieces.setdefault(name, 0)
        self.statuses.append(self.status(name, len(data)))
        self.say(FrameBegin(name, len(data)))

    @rule(data=st.sampled_from(FRAMES), number=st.integers(0, 2), spoilt=st.booleans())
    @precondition(lambda self: self.link is not None)
    def send_piece(self, data, number, spoilt):
        """In any order, twice, with a wrong CRC or of an unannounced frame."""
        name, begin = hashlib.sha256(data).digest(), number * PIECE
        piece = data[begin : begin + PIECE]
        if (there := self.pieces.get(name)) is not None:
            if spoilt or begin > there:
                self.statuses.append(self.status(name, len(data)))
            elif begin == there:
                self.pieces[name] = there + len(piece)
                if there + len(piece) == len(data):
                    self.statuses.append(self.status(name, len(data)))
        self.say(FramePart(name, begin, piece, crc32c(piece) ^ spoilt))

    @rule(data=st.sampled_from(FRAMES))
    @precondition(lambda self: self.link is not None)
    def drop(self, data):
        name = hashlib.sha256(data).digest()
        self.pieces.pop(name, None)
        self.statuses.append(FrameStatus(name, FrameState.DROPPED))
        self.say(FrameDrop(name))

    @rule(state=st.sampled_from(list(SIGNALS)))
    @precondition(lambda self: self.link is not None)
    def tell_of_the_device(self, state):
        if SIGNALS[state] > self.posture:
            self.posture = SIGNALS[state]
            self.postures.append(POSTURES[self.posture])
        self.say(state)

    @rule(most=st.integers(1, 9))
    @precondition(lambda self: self.link is not None)
    def listen(self, most):
        self.read(most)

    def status(self, name, size):
        """What the server is to say of a frame that was announced."""
        there = self.pieces[name]
        held = there == size
        return FrameStatus(name, FrameState.HELD if held else FrameState.SEND, 0 if held else there)

    # What the link does.

    @rule()
    @precondition(lambda self: self.link is not None)
    def cut(self):
        """What was written and not read is lost."""

        self.loop.run_until_complete(self.leave())
        self.link = None

    @rule()
    def come_back(self):
        """Also while the older link is still there, which then ends."""

        async def again():
            older, reader, waiting = self.link, self.reader, self.next
            self.next = None
            await self.connect()
            if older is not None:
                await self.leave(older, reader, waiting)

        self.loop.run_until_complete(again())

    # What the server does.

    @rule(count=st.integers(1, 5))
    def write(self, count):
        for _ in range(count):
            self.steps.put_nowait(True)
        self.breathe()

    @rule()
    def finish(self):
        self.steps.put_nowait(False)
        self.breathe()

    # What holds.

    @invariant()
    def no_question_is_answered_twice(self):
        assert all(count == 1 for count in self.inferred.values())

    @invariant()
    def events_of_a_turn_come_in_order(self):
        for updates in self.events.values():
            assert [update.seq for update in updates] == list(range(1, len(updates) + 1))

    def teardown(self):
        """Every question that arrived has ended once, and what was confirmed is its answer."""
        try:
            self.settle()
        finally:
            self.loop.run_until_complete(self.end())
            self.loop.close()

    def settle(self):
        self.come_back()
        for ask in self.asked.values():  # whatever is not acknowledged is sent again
            self.say(ask)
        for _ in range(2 * len(self.asked) + 2):
            self.finish()
            self.read(1000)
        assert self.statuses == self.postures == [], "what was to be said of frames and posture was not"
        for name in self.asked:
            assert len(self.ends.get(name, [])) == 1, f"question {name} ended {self.ends.get(name)}"
            (end,) = self.ends[name]
            if isinstance(end, Done):
                heard = "".join(self.segments.get(name, {}).values())
                assert heard == end.answer or (self.posture and end.answer.startswith(heard))
            if isinstance(end, Interrupted) and name in self.events:
                words = [update.event.text for update in self.events[name] if isinstance(update.event, AnswerDelta)]
                assert len(f"{end.heard}{end.unheard}".replace(" ", "")) == len("".join(words).replace(" ", ""))

    async def leave(self, link=None, reader=None, waiting=None):
        """What becomes of a link that is gone."""
        if link is None:
            link, reader, waiting, self.next = self.link, self.reader, self.next, None
        if waiting is not None:
            waiting.cancel()
            await asyncio.wait({waiting})
        await reader.aclose()
        self.session.detach(link)

    async def end(self):
        self.session.end()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


TestWearable = Wearable.TestCase
TestWearable.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_the_machine_sees_a_message_that_is_missing():
    machine = Wearable()
    machine.say(SessionAsk("a", Question("Q?")))
    machine.write(3)
    machine.last = 1
    with pytest.raises(AssertionError, match="is missing, or came twice"):
        machine.read(100)
    machine.last = 0
    machine.loop.run_until_complete(machine.end())
    machine.loop.close()
