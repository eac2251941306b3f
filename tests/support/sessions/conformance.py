"""The server's side of the clients' scenarios (clients/conformance): a scripted server behind a proxy that cuts.

Python's tests use `ConformanceStage`; others run `python -m tests.support.sessions.conformance` and write one command a
line, as JSON, which is answered by one line.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from PIL import Image

from bench.session.cutting_proxy import Cut, CuttingProxy, cutting_proxy
from quizglass import values
from quizglass.values import Region
from quizglass_client.pictures import cut_out, encode
from quizglass_server.domain import turns as domain
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.session import directory, question_frames
from quizglass_server.web.http.server import WebServer
from quizglass_server.web.routes import open_listener
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, Stage, png, serve_stage
from tests.support.sessions import opus
from tests.support.sessions.session_links import WAIT_S, words
from tests.support.sessions.speech import SpeechStage, tone

LIVELY = {
    "directory.PROGRESS_S": 0.5,
    "directory.PING_S": 0.75,
    "question_frames.WAIT_S": 30.0,
    "question_frames.LOOK_S": 30.0,
}
"""Seconds after which a server tells of life: short enough for tests of dead links, and long enough that one on a busy
machine is not taken for dead; and those that a closer look may take, longer than a busy machine needs."""


def pictures() -> dict[str, bytes]:
    """Pictures of the scenarios: one that is a piece, one of many, one with room for thumbnails, and none."""
    large = Image.frombytes("RGB", (640, 480), random.Random(0).randbytes(640 * 480 * 3))
    out = io.BytesIO()
    large.save(out, "JPEG", quality=90)
    scene = io.BytesIO()
    Image.linear_gradient("L").resize((480, 360)).convert("RGB").save(scene, "JPEG", quality=90)
    return {"small": png(), "large": out.getvalue(), "scene": scene.getvalue(), "broken": b"no picture at all"}


class ConformanceStage:
    """One scenario's server, its answers, and its network.

    Args:
        answers: what is answered, by question: {"words": 20, "hold": 10} (so many sentences of a word each; waits
            before one of them), {"draft": "…", "then": "…"} (a draft, which is taken back unless the answer is the
            same, and the answer). Others get the usual one.
        settings: of the server.
        hears: what its recogniser hears, speech by speech; it has a voice, too. Empty: it neither hears nor speaks.
    """

    def __init__(
        self,
        folder: Path,
        answers: Mapping[str, Mapping[str, Any]],
        settings: Mapping[str, Any],
        hears: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._hears = hears
        self._answers = answers
        self._settings = settings
        self._gates = {question: Gate() for question, answer in answers.items() if "hold" in answer}
        self._finished = {question: asyncio.Event() for question in answers}
        self._stages: list[tuple[Stage, WebServer]] = []
        self._proxies: list[CuttingProxy] = []
        self._stops: list[asyncio.Task[None]] = []
        self._things: list[Region] = []
        self._all = AsyncExitStack()

    async def __aenter__(self) -> Self:
        stage, web = await self._serve()
        assert stage.rpc is not None
        for port in (stage.rpc.port, web.port):
            self._proxies.append(await self._all.enter_async_context(cutting_proxy(port)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._all.aclose()
        for stop in self._stops:
            with suppress(asyncio.CancelledError):
                await stop

    @property
    def targets(self) -> dict[str, str]:
        """Where the server is, for both transports."""
        grpc, http = (proxy.target for proxy in self._proxies)
        return {"grpc": grpc, "http": f"http://{http}"}

    async def do(self, command: Mapping[str, Any]) -> Any:
        """Carry out one command: an object of one key, which names a method, and its argument."""
        ((name, argument),) = command.items()
        handler = getattr(self, f"do_{name}", None)
        if handler is None:
            raise ValueError(f"{name!r} is no command")
        return await handler(argument)

    async def do_reached(self, question: str) -> None:
        """Wait until the answer to a question waits."""
        async with asyncio.timeout(WAIT_S):
            await self._gates[question].reached.wait()

    async def do_release(self, question: str) -> None:
        """Let the answer to a question go on."""
        self._gates[question].open.set()

    async def do_finished(self, question: str) -> None:
        """Wait until the answer to a question is written."""
        async with asyncio.timeout(WAIT_S):
            await self._finished[question].wait()

    async def do_cut(self, how: str) -> None:
        """End every connection: "fin", "rst", or "black hole" (nothing passes, without an error)."""
        for proxy in self._proxies:
            proxy.cut(Cut(how))

    async def do_cut_after(self, order: Mapping[str, Any]) -> None:
        """End the next connection after so many bytes."""
        for proxy in self._proxies:
            proxy.cut_after(order["bytes"], Cut(order["how"]))

    async def do_refuse(self, refusing: bool) -> None:
        """Whether new connections are closed as they come."""
        for proxy in self._proxies:
            proxy.refusing = refusing

    async def do_move(self, _: object) -> None:
        """Lead new connections to another server, which knows nothing of the sessions and has the same keys."""
        stage, web = await self._serve()
        assert stage.rpc is not None
        for proxy, port in zip(self._proxies, (stage.rpc.port, web.port), strict=True):
            proxy.move(port)

    async def do_stop(self, _: object) -> None:
        """Stop the first server as SIGTERM does; what runs may finish."""
        stage, web = self._stages[0]
        assert stage.rpc is not None
        self._stops += [asyncio.create_task(stage.rpc.stop(20)), asyncio.create_task(web.stop(20))]

    async def do_things(self, regions: Sequence[Sequence[float]]) -> None:
        """Have it known that no picture has words, and where the things are that questions are about."""
        self._things = [Region(*region) for region in regions]
        for stage, _ in self._stages:
            self._show_things(stage)

    async def do_inferred(self, _: object) -> list[str]:
        """The questions that assistants were given, in order."""
        return [turn.question for stage, _ in self._stages for turn in stage.assistant.turns]

    async def do_sounds(self, _: object) -> list[float]:
        """Seconds of sound that the recogniser was given, speech by speech."""
        heard = [each for stage, _ in self._stages if isinstance(stage, SpeechStage) for each in stage.hearing.heard]
        return [round(len(each) / 32_000, 2) for each in heard]

    async def do_withhold(self, _: object) -> None:
        """Have the first server's recogniser understand nothing: it waits."""
        stage, _web = self._stages[0]
        assert isinstance(stage, SpeechStage)
        stage.hearing.gate = Gate()

    async def do_opus(self, seconds: float) -> list[str]:
        """A tone of so many seconds as packets of Opus, in base64."""
        packets = opus.encoded(tone(seconds, rate_hz=48_000))
        return [base64.b64encode(packet).decode() for packet in packets]

    async def do_seen(self, _: object) -> list[int]:
        """Pixels of the longer sides of the pictures that assistants were given, in order; 0 where there was none."""
        pictures = [turn.picture for stage, _ in self._stages for turn in stage.assistant.turns]
        return [max(picture.width, picture.height) if picture else 0 for picture in pictures]

    async def do_up(self, _: object) -> int:
        """Bytes that clients have sent."""
        return sum(proxy.up for proxy in self._proxies)

    async def _serve(self) -> tuple[Stage, WebServer]:
        made = (SpeechStage if self._hears else Stage)(self._folder, web_port=0, **self._settings)
        if isinstance(made, SpeechStage):
            made.hearing.texts = list(self._hears)
        stage = await self._all.enter_async_context(serve_stage(made))
        assert stage.rpc is not None
        stage.assistant.script = self._answer
        self._show_things(stage)
        web = await open_listener(stage.services, stage.rpc, stage.services.settings)
        self._all.push_async_callback(web.stop, 0)
        self._stages.append((stage, web))
        return stage, web

    def _show_things(self, stage: Stage) -> None:
        stage.assistant.wordy, stage.assistant.things = [], self._things

    async def _answer(self, turn: domain.Turn, policy: str, budget: Budget) -> AsyncGenerator[values.TurnEvent, None]:
        async for event in self._told(turn, policy, budget):
            yield event
        if turn.question in self._finished:
            self._finished[turn.question].set()

    async def _told(self, turn: domain.Turn, policy: str, budget: Budget) -> AsyncGenerator[values.TurnEvent, None]:
        match self._answers.get(turn.question):
            case {"words": int(count), **more}:
                gates = [(at, self._gates[turn.question]) for at in (more.get("hold"),) if at is not None]
                async for event in words(count, gates)(turn, policy, budget):
                    yield event
            case {"draft": str(draft), "then": str(then)}:
                yield values.Provisional(draft)
                yield values.Confirmed() if then == draft else values.Withdrawn()
                yield values.AnswerDelta(then)
                yield values.Done(then, values.FinishReason.COMPLETE)
            case _:
                for event in EVENTS:
                    yield event


async def main() -> None:
    """Carry out the commands of standard input."""
    for name, seconds in LIVELY.items():
        module, _, constant = name.partition(".")
        setattr({"directory": directory, "question_frames": question_frames}[module], constant, seconds)
    stages = AsyncExitStack()
    stage: ConformanceStage | None = None
    with tempfile.TemporaryDirectory() as folder:
        async with stages:
            while line := await asyncio.to_thread(sys.stdin.readline):
                match json.loads(line):
                    case {"begin": scenario}:
                        await stages.aclose()
                        there = ConformanceStage(
                            Path(folder),
                            scenario.get("answers", {}),
                            scenario.get("settings", {}),
                            scenario.get("hears", ()),
                        )
                        stage = await stages.enter_async_context(there)
                        reply: Any = stage.targets
                    case {"picture": name}:
                        reply = base64.b64encode(pictures()[name]).decode()
                    case {"fit": {"picture": text, "side": side}}:
                        reply = base64.b64encode(encode(base64.b64decode(text), side)).decode()
                    case {"cut": {"picture": text, "region": region, "side": side}}:
                        part = cut_out(base64.b64decode(text), Region(*region), side)
                        reply = base64.b64encode(part).decode()
                    case command:
                        assert stage is not None, "no scenario has begun"
                        reply = await stage.do(command)
                print(json.dumps({"reply": reply}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
