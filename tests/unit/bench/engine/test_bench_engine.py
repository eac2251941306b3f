"""The engine benchmark's own arithmetic, its small HTTP client and its store; nothing is measured here."""

import asyncio
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import results
from bench.engine import figures, plot
from bench.engine.__main__ import SECTIONS
from bench.engine.contenders import sse
from bench.engine.contenders.contender import Ask, Timed, in_turn
from bench.engine.contenders.ours import new_picture, parts
from bench.engine.contenders.peers import messages
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import filled_up
from bench.engine.generator.tails import slowest
from bench.engine.scorers import resizing
from bench.engine.scorers.memory import memory_kib
from bench.engine.server import kills
from bench.engine.server.serving import Outcome, good, kinds
from bench.results import Row
from bench.sections import Part, Store
from quizglass_server.engines.generator.prompt import PicturePart, TextPart

_VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(_VALUES, st.floats(0, 1))
def test_percentiles_are_numpys(values: list[float], share: float) -> None:
    assert figures.percentile(values, share) == pytest.approx(float(np.quantile(values, share)), abs=1e-6)


def test_a_percentile_of_nothing_is_no_number() -> None:
    assert math.isnan(figures.percentile([], 0.99))
    with pytest.raises(ValueError, match=r"share: 1\.5"):
        figures.percentile([1.0], 1.5)


def test_a_row_against_a_peer_compares_medians() -> None:
    row = results.against("wall", [1.0, 9.0, 2.0], "s", "other", [4.0, 5.0, 3.0], 0.5)
    assert (row.value, row.peer_value, row.ratio, row.bar, row.ok) == (2.0, 4.0, 0.5, "<= 0.5x peer", True)
    assert "quartiles 1.5 to 5.5" in row.name
    assert results.against("wall", [2.1], "s", "other", [4.0], 0.5).ok is False
    assert results.against("wall", [2.1], "s", "other", [4.0]).ok is None


def test_a_peer_that_is_missing_leaves_its_reason() -> None:
    row = results.absent("wall", 2.0, "s", "other", "it did not come up")
    assert row.peer == "other not run: it did not come up"
    assert row.ok is None


async def test_resizing_is_compared_for_each_size_and_for_a_whole_turn() -> None:
    part = await resizing.run(cast("Setup", SimpleNamespace(count=lambda full, quick: quick)))
    assert len(part.rows) == 9
    assert all(row.peer_value for row in part.rows)
    assert [row.name.partition(" (")[0] for row in part.rows if row.bar] == [
        f"{frame}, all sizes of a turn" for frame in ("448 x 448", "640 x 480", "1280 x 720")
    ]


def test_resizing_is_begun_by_either_side_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(resizing, "resize", lambda *_: order.append("ours"))
    monkeypatch.setattr(resizing, "_by_pillow", lambda *_: order.append("Pillow"))
    resizing._timed([np.zeros((4, 4, 3), np.uint8)], 2, 8)
    del order[0]  # which fits the shape
    assert order[::2].count("ours") == order[::2].count("Pillow") == 4


def test_what_is_answered_after_the_measurement_is_no_goodput() -> None:
    early = [Outcome("answered", 100.0 + at, 0.5) for at in range(10)]
    backlog = [Outcome("answered", 109.0, 4.0)] * 20
    assert good([*early, *backlog, Outcome("refused", 105.0, 0.0)], 10.0) == 1.0
    assert good([Outcome("answered", 0.0, 5.5), Outcome("answered", 0.0, 4.0)], 10.0) == 0.1, "too late is not in time"
    assert good([], 10.0) == 0.0


async def test_a_turn_that_hangs_is_an_outcome_and_no_error() -> None:
    async def turn(kind: str) -> Outcome:
        if kind == "hangs":
            await asyncio.Event().wait()
        return Outcome(kind, 0.0, 0.1)

    asked = [asyncio.create_task(turn(kind)) for kind in ("answered", "hangs", "ServerUnavailable")]
    found = await kills.ended(asked, 0.05)
    assert kinds(found) == {"ServerUnavailable": 1, "answered": 1, "hangs": 1}
    assert asked[1].cancelled()


def test_a_stall_across_a_whole_window_is_one_gap() -> None:
    assert figures.gaps_during([0.0, 1.0, 5.0, 6.0], [(2.0, 3.0)]) == [4.0]


def test_only_gaps_that_overlap_the_window_count() -> None:
    times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(figures.gaps_during(times, [(1.5, 3.5)])) == 3
    assert figures.gaps_during(times, [(9.0, 10.0)]) == []
    assert figures.gaps_during([], [(0.0, 1.0)]) == []


@given(st.floats(0.5, 50), st.integers(0, 100))
def test_arrivals_come_in_order_and_at_their_rate(rate: float, seed: int) -> None:
    times = figures.arrivals(rate, 400 / rate, seed)
    assert times == sorted(times)
    assert all(0 < at < 400 / rate for at in times)
    assert 280 < len(times) < 520, "six deviations around 400"
    assert times == figures.arrivals(rate, 400 / rate, seed)


def test_arrivals_need_a_rate() -> None:
    with pytest.raises(ValueError, match="rate: 0"):
        figures.arrivals(0, 1, 0)


def test_prompts_differ_from_their_beginning() -> None:
    prompts = [figures.words(20, seed) for seed in range(200)]
    assert len({" ".join(prompt.split()[:4]) for prompt in prompts}) == len(prompts)
    assert all(len(prompt.split()) == 20 for prompt in prompts)


def test_a_filled_vocabulary_has_every_id_once_and_keeps_its_own() -> None:
    content = {"model": {"vocab": {"a": 1, "b": 2}, "merges": []}, "added_tokens": [{"id": 0, "content": "<|x|>"}]}
    vocabulary = filled_up(content, 10)["model"]["vocab"]
    assert sorted([0, *vocabulary.values()]) == list(range(10))
    assert (vocabulary["a"], vocabulary["b"]) == (1, 2)
    assert content["model"]["vocab"] == {"a": 1, "b": 2}


async def test_everybody_begins_once() -> None:
    first: list[Any] = []
    for round_ in range(3):
        order: list[Any] = []

        async def work(contender: Any, order: list[Any] = order) -> None:
            order.append(contender)

        await in_turn(["a", "b", "c"], round_, work)  # type: ignore[list-item]
        assert sorted(order) == ["a", "b", "c"]
        first.append(order[0])
    assert sorted(first) == ["a", "b", "c"]


def test_both_sides_get_the_same_request() -> None:
    ask = Ask("What is it?", 8, new_picture(28, 1))
    before, picture, after = parts(ask)
    assert isinstance(before, TextPart)
    assert isinstance(picture, PicturePart)
    assert isinstance(after, TextPart)
    assert (picture.width, picture.height, len(picture.rgb)) == (28, 28, 28 * 28 * 3)
    system, user = messages(ask)
    assert before.text == f"<|im_start|>system\n{system['content']}<|im_end|>\n<|im_start|>user\n"
    assert after.text.startswith(user["content"][1]["text"])
    assert new_picture(28, 1) == ask.picture != new_picture(28, 2)


def test_a_stream_without_tokens_has_no_first_one() -> None:
    assert math.isnan(Timed().first)


def test_a_store_gives_back_what_it_was_given(tmp_path: Path) -> None:
    store = Store(tmp_path / "engine")
    assert store.load("gaps") is None
    part = Part([Row("a", 1.5, "s", ok=True)], {"curve": {"1": 2.0}})
    store.save("gaps", part, {"seconds": 3})
    assert store.load("gaps") == (part, {"seconds": 3})
    (tmp_path / "engine" / "gaps.json").write_text('{"rows": [{"nothing": 1}], "data": {}, "how": {}}')
    assert store.load("gaps") is None, "of another version: it is measured again"


def test_the_plot_shows_every_model(tmp_path: Path) -> None:
    points = {"1": {"first": 0.1, "rate": 50.0}, "8": {"first": 0.9, "rate": 90.0}}
    path = plot.engine({"starter": {"quizglass": points}, "0.5B": {"example server": points}}, tmp_path)
    assert path is not None
    assert path.read_bytes().startswith(b"\x89PNG")
    assert plot.engine({}, tmp_path) is None


def test_memory_of_this_process() -> None:
    assert 0 < memory_kib("VmRSS") <= memory_kib("VmHWM")
    with pytest.raises(OSError, match="No such file"):
        memory_kib("VmRSS", 2**22 + 1)


def test_every_section_can_be_run() -> None:
    from importlib import import_module

    for module, function in SECTIONS.values():
        assert callable(getattr(import_module(f"bench.engine.{module}"), function))


@pytest.fixture
async def answering() -> Any:
    """A server that answers every request with given bytes; the requests it got."""
    got: list[bytes] = []
    answer = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(
            next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")).split()[1]
        )
        got.append(head + await reader.readexactly(length))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)

    async def post(reply: bytes) -> list[Any]:
        nonlocal answer
        answer = reply
        port = server.sockets[0].getsockname()[1]
        return [chunk async for chunk in sse.post_stream(port, "/v1/completions", {"prompt": "é"})]

    yield post, got
    server.close()
    await server.wait_closed()


_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


async def test_events_are_read_whatever_the_pieces_they_come_in(answering: Any) -> None:
    post, got = answering
    body = b'data: {"n": 1}\r\n\r\n: ping\r\n\r\ndata: {"n": "\xc3\xa9"}\r\n\r\ndata: [DONE]\r\n\r\n'
    assert await post(_OK + b"\r\n" + body) == [{"n": 1}, {"n": "é"}]
    for size in (1, 7, 1000):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        assert await post(_OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks) == [{"n": 1}, {"n": "é"}]
    assert json.loads(got[0].split(b"\r\n\r\n", 1)[1]) == {"prompt": "é"}


async def test_a_refusal_says_what_the_server_said(answering: Any) -> None:
    post, _ = answering
    with pytest.raises(ConnectionError, match="503 Busy: come back"):
        await post(b"HTTP/1.1 503 Busy\r\n\r\ncome back")


async def test_a_stream_that_ends_early_is_an_error(answering: Any) -> None:
    post, _ = answering
    with pytest.raises(ConnectionError, match="without"):
        await post(_OK + b'\r\ndata: {"n": 1}\r\n\r\n')


async def test_a_server_that_is_gone_is_not_waited_for() -> None:
    with pytest.raises(TimeoutError):
        await sse.wait_until_listening(sse.free_port(), 60, lambda: True)


def test_the_slowest_are_compared_with_the_median() -> None:
    rows = slowest("stream", [1.0] * 98 + [2.0, 9.0], "ms", 3, 8)
    assert [row.value for row in rows] == [1.0, pytest.approx(2.07), 9.0]
    assert [row.ok for row in rows] == [None, True, False]
    assert [row.bar for row in slowest("stream", [1.0, 2.0], "ms")] == ["", "", ""]
