"""A session of eight questions about one picture, beside the same asked of llama-server alone.

That keeps nothing of a client: every request has the picture and all that was said. Both run the starter's generator,
which was trained on this server's prompts; what the peer answers counts for nothing, when and for how many bytes does.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from bench.engine.contenders.peers import PLAIN, PeerMissing, Peers
from bench.engine.contenders.shapes import starter
from bench.engine.contenders.sse import post_stream
from bench.hostile.sections import Setup
from bench.results import Row, absent, against
from bench.sections import Part
from bench.session.cutting_proxy import CuttingProxy, cutting_proxy
from bench.session.links import through_proxy
from bench.session.stage import Served, first_of

POLICY = "none"
"""The generator alone, which is all that the peer has."""
LATER = (
    "What is on the left?",
    "What is on the right?",
    "How many things are there?",
    "What colour is it?",
    "What is it made of?",
    "Who made it?",
    "Say that again.",
)
"""Asked after the first question, which comes with the picture."""
_CELLS, _MOST_TOKENS = 8192, 48


@dataclass(slots=True)
class Sessions:
    """What sessions with one server took."""

    up: list[float] = field(default_factory=list)
    """Bytes, by session."""
    first_s: list[float] = field(default_factory=list)
    """Seconds to the first words of the question that came with the picture, by session."""
    later_s: list[float] = field(default_factory=list)
    """The same of the other questions."""

    def add(self, up: int, took: Sequence[float]) -> None:
        """One more session, and its seconds by question."""
        self.up.append(float(up))
        self.first_s.append(took[0])
        self.later_s += took[1:]


async def beside(setup: Setup, stage: Served) -> Part:
    """Bytes that go up, and first words, of ours and of the peer in turn, each over a proxy that counts."""
    ours, theirs = Sessions(), Sessions()
    try:
        async with _peer(setup) as proxy:
            await _with_peer(proxy, *_asked(stage))  # its first picture takes it seconds
            for at in range(setup.count(10, 1)):
                setup.say(f"session {at + 1} with each")
                question, pictures = stage.stock.twins()
                for which in (0, 1) if at % 2 else (1, 0):
                    if which:
                        theirs.add(*await _with_peer(proxy, question.text, pictures[1]))
                    else:
                        ours.add(*await _with_ours(stage, question.text, pictures[0]))
    except PeerMissing as error:
        ours.add(*await _with_ours(stage, *_asked(stage)))
        return Part(_alone(ours, str(error)), {"ours": asdict(ours)})
    return Part(_compared(ours, theirs), {"ours": asdict(ours), "theirs": asdict(theirs)})


def _asked(stage: Served) -> tuple[str, bytes]:
    question, picture = next(stage.stock)
    return question.text, picture


def _figures(sessions: Sessions) -> dict[str, tuple[list[float], str]]:
    """Values and unit of every row."""
    count = len(LATER) + 1
    return {
        f"bytes up, a session of {count} questions about one picture": (sessions.up, "bytes"),
        "first words of its first question, sent with the picture": (sessions.first_s, "s"),
        f"first words of its {len(LATER)} later questions": (sessions.later_s, "s"),
    }


def _compared(ours: Sessions, theirs: Sessions) -> list[Row]:
    peers = _figures(theirs)
    return [against(name, values, unit, PLAIN, peers[name][0]) for name, (values, unit) in _figures(ours).items()]


def _alone(ours: Sessions, why: str) -> list[Row]:
    return [absent(name, median(values), unit, PLAIN, why) for name, (values, unit) in _figures(ours).items()]


@asynccontextmanager
async def _peer(setup: Setup) -> AsyncIterator[CuttingProxy]:
    """A proxy before the peer, which is ended afterwards. Raises PeerMissing."""
    peers = Peers(setup.folder / "session-peers", os.cpu_count() or 1, _CELLS)
    peer = await peers.start(PLAIN, starter(setup.bundle))
    try:
        async with cutting_proxy(peer.port) as proxy:
            yield proxy
    finally:
        await peer.close()


async def _with_ours(stage: Served, question: str, picture: bytes) -> tuple[int, list[float]]:
    """Bytes up and seconds to first words, of a session that is shown the picture once."""
    async with through_proxy(stage) as (proxy, session):
        began = perf_counter()
        frame = await session.show(picture)
        took = []
        for text in (question, *LATER):
            turn = await session.ask(text, frame=frame, policy=POLICY)
            took.append(await first_of(turn, began))
            began = perf_counter()
    return proxy.up, took


async def _with_peer(proxy: CuttingProxy, question: str, picture: bytes) -> tuple[int, list[float]]:
    """The same of chats that begin with the picture as a data URI and go on with all that was said."""
    before, took = proxy.up, []
    uri = f"data:image/jpeg;base64,{b64encode(picture).decode()}"
    content = [{"type": "image_url", "image_url": {"url": uri}}, {"type": "text", "text": question}]
    said: list[dict[str, Any]] = [{"role": "user", "content": content}]
    for later in (*LATER, ""):
        began, first, answer = perf_counter(), 0.0, ""
        async for text in _chat(proxy, said):
            first = first or perf_counter() - began
            answer += text
        took.append(first or perf_counter() - began)
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": later}]
    return proxy.up - before, took


async def _chat(proxy: CuttingProxy, messages: list[dict[str, Any]]) -> AsyncIterator[str]:
    """Texts of a streamed answer as they come."""
    body = {"messages": messages, "max_tokens": _MOST_TOKENS, "temperature": 0, "repeat_penalty": 1.0, "stream": True}
    port = int(proxy.target.rpartition(":")[2])
    async with aclosing(post_stream(port, "/v1/chat/completions", body)) as chunks:
        async for chunk in chunks:
            if text := (chunk["choices"][0].get("delta") or {}).get("content"):
                yield text
