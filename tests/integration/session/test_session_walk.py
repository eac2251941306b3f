"""`quizglass walk`: what a walk may hold, and what it reports, over a real socket through the shaped link."""

import asyncio
import json
from pathlib import Path

import pytest

from quizglass_client.cli.walk import read_walk, replay
from quizglass_client.session.shaping import LinkProfile, ShapingProxy
from quizglass_client.terminal.usage import UsageError
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.session_links import words

SAMPLE = Path(__file__).parents[3] / "bench" / "session" / "walk.jsonl"


def written(folder, *lines):
    (folder / "a.png").write_bytes(png())
    path = folder / "walk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def port(target):
    return int(target.rpartition(":")[2])


async def test_questions_are_told_of_with_their_times(tmp_path):
    path = written(
        tmp_path,
        {"at": 0, "link": {"delay_ms": 5, "rate_kbit": 8000, "loss": 0.1}},
        {"at": 0, "frame": "a.png", "name": "a"},
        {"at": 0, "ask": "What is this?", "frame": "a"},
    )
    async with serving(tmp_path) as stage:
        (told,) = await replay(read_walk(path), "127.0.0.1", port(stage.target))
    assert told.outcome == "answered"
    assert 0 < told.first_segment <= told.total
    assert told.upload >= 0
    assert told.answering == max(0.0, told.first_segment - told.upload)


async def test_a_walk_goes_on_after_a_cut_and_says_what_was_interrupted(tmp_path):
    async with serving(tmp_path) as stage:
        stage.assistant.script = words(3, [(1, Gate())])
        path = written(
            tmp_path,
            {"at": 0, "ask": "What?"},
            {"at": 0.3, "cut": True},
            {"at": 0.4, "cancel": True},
        )
        (told,) = await replay(read_walk(path), "127.0.0.1", port(stage.target))
    assert told.outcome == "interrupted"


async def test_a_shaped_link_passes_everything_in_order():
    async def echo(reader, writer):
        writer.write(await reader.readexactly(100_000))
        await writer.drain()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    proxy = ShapingProxy("127.0.0.1", server.sockets[0].getsockname()[1], seed=1)
    proxy.profile = LinkProfile(1, 100_000, 0.2)
    data = bytes(range(250)) * 400
    async with proxy.serving():
        reader, writer = await asyncio.open_connection("127.0.0.1", port(proxy.target))
        writer.write(data)
        assert await reader.readexactly(len(data)) == data
        assert proxy.up == len(data)
        writer.close()
    server.close()


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ({"ask": "What?"}, "at"),
        ({"at": -1, "ask": "What?"}, "at"),
        ({"at": 0, "ask": 3}, "ask"),
        ({"at": 0, "frame": "none.png"}, "frame"),
        ({"at": float("nan"), "ask": "What?"}, "at"),
        ({"at": 0, "link": {"speed": 3}}, "speed"),
        ({"at": 0, "link": {"delay_ms": "long"}}, r"link\.delay_ms: give a number"),
        ({"at": 0, "link": {"loss": -1}}, r"link\.loss: give a number"),
        ({"at": 0, "frame": "a.png", "thumbnail": "small"}, "thumbnail: is no int"),
        ({"at": 0, "ask": "What?", "frame": 3}, "frame: is no str"),
        ({"at": 0, "sing": "la"}, "one of"),
        ([], "one of"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, wrong):
    with pytest.raises(UsageError, match=rf"walk\.jsonl:2: .*{wrong}"):
        read_walk(written(tmp_path, {"at": 0, "cut": True}, line))


def test_what_is_no_text_is_named_by_its_line(tmp_path):
    (tmp_path / "walk.jsonl").write_bytes(png())
    with pytest.raises(UsageError, match=r"walk\.jsonl:1: "):
        read_walk(tmp_path / "walk.jsonl")


def test_what_is_no_json_is_called_that(tmp_path):
    (tmp_path / "walk.jsonl").write_text("# A walk\n")
    with pytest.raises(UsageError, match=r"walk\.jsonl:1: is not JSON: .* at character 1"):
        read_walk(tmp_path / "walk.jsonl")


def test_the_sample_walk_can_be_read():
    assert {step.kind for step in read_walk(SAMPLE)} == {"link", "frame", "ask", "cut", "cancel"}
