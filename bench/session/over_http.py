"""First words over HTTP, in a browser and by the client of OpenAI, against the Python client's over gRPC."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import openai

from bench.hostile.sections import Setup
from bench.results import Row, at_most
from bench.sections import Part
from bench.session.stage import Served, first_of, first_of_ask
from bench.worlds import in_own_order
from quizglass_client import AsyncClient, AsyncSession

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "tests" / "browser" / "node_modules"
"""Where `make test-web` puts what drives the browser."""
POLICY = "none"
_AHEAD_S = 0.3
_BROWSER_MS, _OPENAI_MS = 15.0, 3.0
_PATIENCE_S = 120.0

Ask = Callable[[str, bytes], Awaitable[float]]
"""Seconds to the first words of a question about a picture."""


async def chat(setup: Setup, stage: Served) -> Part:
    """`openai` streams a chat with its picture as a data URI, and the Python client asks with the picture's bytes."""
    async with (
        openai.AsyncOpenAI(base_url=f"{stage.server.web}/v1", api_key="none is needed", max_retries=0) as chats,
        AsyncClient(stage.target) as client,
    ):
        ours, theirs = await _in_turn(
            stage,
            setup.count(100, 3),
            lambda question, picture: _first_of_chat(chats, question, picture),
            lambda question, picture: first_of_ask(client, question, picture, POLICY),
        )
    return _compared("the client of OpenAI", ours, theirs, _OPENAI_MS)


async def browser(setup: Setup, stage: Served) -> Part:
    """The page in Chromium, and a session of the Python client, each with the frame 300 ms ahead of the question.

    Both are open and warm, and begin a new dialogue for each question. A page that was just opened is measured too.
    """
    async with _page(stage.server.web) as (ask, ask_cold), AsyncSession(stage.target) as session:

        async def ask_session(question: str, picture: bytes) -> float:
            return await _first_of_session(session, question, picture)

        await _in_turn(stage, setup.count(5, 1), ask, ask_session)  # warms both
        ours, theirs = await _in_turn(stage, setup.count(60, 2), ask, ask_session)
        cold, _ = await _in_turn(stage, setup.count(30, 1), ask_cold, ask_session)
    part = _compared("the page in Chromium", ours, theirs, _BROWSER_MS)
    row = Row("first words by a page that was opened 300 ms before, p50", median(cold) * 1e3, "ms")
    return Part([*part.rows, row], {**part.data, "cold_s": cold})


async def _in_turn(stage: Served, count: int, one: Ask, other: Ask) -> tuple[list[float], list[float]]:
    """Seconds of both, the same questions about pictures that no cache has seen, in an order of its own."""
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(count):
        question, pictures = stage.stock.twins()
        for which in in_own_order(question.id, (0, 1)):
            took[which].append(await (one, other)[which](question.text, pictures[which]))
    return took


def _compared(name: str, ours: list[float], theirs: list[float], most_ms: float) -> Part:
    more = (median(ours) - median(theirs)) * 1e3
    rows = [
        at_most(f"first words by {name} against the Python client, p50: more by", more, "ms", most_ms),
        Row(f"first words by {name}, p50", median(ours) * 1e3, "ms"),
    ]
    return Part(rows, {"ours_s": ours, "python_s": theirs})


async def _first_of_chat(client: openai.AsyncOpenAI, question: str, picture: bytes) -> float:
    uri = f"data:image/jpeg;base64,{b64encode(picture).decode()}"
    began, first = perf_counter(), 0.0
    stream = await client.chat.completions.create(
        model=POLICY,
        stream=True,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": question},
                    {"type": "image_url", "image_url": {"url": uri}},
                ],
            }
        ],
    )
    async for chunk in stream:
        if not first and chunk.choices and chunk.choices[0].delta.content:
            first = perf_counter() - began
    return first or perf_counter() - began


async def _first_of_session(session: AsyncSession, question: str, picture: bytes) -> float:
    await session.forget()  # a dialogue would make prompts longer
    frame = await session.show(picture)
    await asyncio.sleep(_AHEAD_S)
    began = perf_counter()
    turn = await session.ask(question, frame=frame, policy=POLICY, explain=True)  # as the page asks
    return await first_of(turn, began)


@asynccontextmanager
async def _page(url: str) -> AsyncIterator[tuple[Ask, Ask]]:
    """What asks in a page of Chromium that stays open, and in a new one each time; Chromium is ended afterwards."""
    if not DRIVER.is_dir():
        raise RuntimeError(f"{DRIVER} is missing: run `make clients-packages` (needs Node 20 and npm)")
    command = ("node", str(Path(__file__).with_name("page.mjs")), str(DRIVER), url)
    pipe = asyncio.subprocess.PIPE
    driver = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert driver.stdin is not None
    asking, told = driver.stdin, driver.stdout
    assert told is not None

    async def answer() -> dict[str, float]:
        async with asyncio.timeout(_PATIENCE_S):
            line = await told.readline()
        if not line:
            raise RuntimeError("Chromium's driver ended; what it said is above")
        content: dict[str, float] = json.loads(line)
        return content

    async def ask(question: str, picture: bytes, *, cold: bool = False) -> float:
        about = {"picture": b64encode(picture).decode(), "policy": POLICY, "ahead": _AHEAD_S * 1e3, "cold": cold}
        asking.write(json.dumps({"question": question, **about}).encode() + b"\n")
        await asking.drain()
        return (await answer())["ms"] / 1e3

    try:
        await answer()
        yield ask, partial(ask, cold=True)
    finally:
        asking.close()
        try:
            async with asyncio.timeout(10):
                await driver.wait()
        except TimeoutError:
            driver.kill()
