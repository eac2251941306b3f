"""`quizglass memory` and the blocking client against a real server with a real memory."""

import asyncio
import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from quizglass_client import Client
from quizglass_client.cli import main, memory
from quizglass_client.cli.memory import moment
from quizglass_client.terminal.usage import UsageError
from tests.support.knowledge.memory_stage import remembering, shot


@contextmanager
def on_a_thread(folder, **options):
    """A server with a memory on an event loop of its own."""
    ready, started = threading.Event(), []

    async def serve():
        end = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with remembering(folder, **options) as (stage, _):
            started.extend([stage, lambda: loop.call_soon_threadsafe(end.set), loop])
            ready.set()
            await end.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(60)
    try:
        yield started[0], lambda: asyncio.run_coroutine_threadsafe(started[0].settled(), started[2]).result(60)
    finally:
        started[1]()
        thread.join(60)


@pytest.fixture
def server(tmp_path):
    with on_a_thread(tmp_path) as made:
        yield made


@pytest.fixture
def quizglass(server, capsys):
    """Runs the command; gives its exit status, output and errors."""

    def run(*words):
        status = main(["--server", server[0].target, *map(str, words)])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def photos(tmp_path):
    """A red and a blue picture; the red one was asked about."""
    made = {colour: tmp_path / f"{colour}.png" for colour in ("red", "blue")}
    for colour, path in made.items():
        path.write_bytes(shot(colour))
    return made


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.usefixtures("midday")
def test_ask_then_search_then_forget(server, quizglass, photos, tmp_path):
    asked = ("ask", photos["red"], "How much does this cost?", "--policy", "image", "--session-id", "walk")
    assert quizglass(*asked, "--remember")[0] == 0
    server[1]()
    status, out, _ = quizglass("memory", "search", photos["red"], "--thumbnails", tmp_path / "small")
    assert status == 0
    for part in ("walk", "Velmora", "cost?", "45 crowns", "1.00", f"{datetime.now():%Y-%m-%d}"):
        assert part in " ".join(out.split())
    (small,) = (tmp_path / "small").iterdir()
    (found,) = objects(quizglass("memory", "search", "--text", "cost", "--json")[1])
    assert small.name == f"{found['id']}.jpg"
    assert found["recognised"] == ["Velmora"]
    assert quizglass("memory", "search", photos["blue"])[2] == "quizglass: nothing like that is remembered\n"
    assert (
        "You last saw this (Velmora) today"
        in quizglass("ask", photos["red"], "Have I seen this before?", "--recall")[1]
    )
    assert "1 frame of at most 10,000" in quizglass("memory", "stats")[1]
    assert "forgot 0 frames" in quizglass("memory", "forget", "--frame", photos["blue"])[1]
    assert "forgot 0 frames" in quizglass("memory", "forget", "--until", "1h")[1]
    assert "forgot 1 frame " in quizglass("memory", "forget", "--frame", photos["red"])[1]
    assert objects(quizglass("memory", "stats", "--json")[1])[0]["sightings"] == 0
    assert "nothing forgotten up to commit" in quizglass("memory", "compact")[1]
    assert objects(quizglass("memory", "compact", "--json")[1])[0]["sequence"] > 0


def test_wrong_usage_says_what_is_right(quizglass, photos):
    for words, said in (
        (("forget",), "give --session-id"),
        (("forget", "--session-id", "a", "--everything"), "give --session-id"),
        (("search", photos["red"], "--text", "x"), "not both"),
        (("search", "missing.png"), "is no file"),
        (("search", "--since", "soon"), "--since 'soon' is no time"),
        (("search", "--since", "999999w"), "is no time"),
    ):
        status, _, err = quizglass("memory", *words)
        assert (status, said in err) == (2, True), err


def test_the_blocking_client_does_the_same(server, photos):
    with Client(server[0].target) as client:
        assert client.capabilities().memory
        answer = client.answer("What is this?", photos["red"], remember=True, session_id="walk")
        server[1]()
        (found,) = client.memory.search(photos["red"], order="best")
        assert found.id == answer.turn_id
        assert client.memory.search(since=found.seen_at, until=found.seen_at + timedelta(seconds=1)) != []
        assert client.memory.thumbnail(found.id)[:2] == b"\xff\xd8"
        assert client.answer("When did I last see this?", photos["red"], recall=True).plan.decided_by == "memory"
        assert client.memory.stats().sightings == 1
        receipt = client.memory.forget(session_id="walk")
        assert receipt.sightings == 1
        assert client.memory.compact() >= receipt.sequence


def test_a_server_without_a_memory_says_how_to_get_one(tmp_path, capsys):
    with on_a_thread(tmp_path, on=False) as (stage, _):
        assert main(["--server", stage.target, "memory", "stats"]) == 1
        assert "--memory-directory" in capsys.readouterr().err
        assert main(["--server", stage.target, "capabilities"]) == 0
        assert "visual memory" in capsys.readouterr().out


def test_so_long_ago_is_so_long_ago_though_clocks_were_changed(monkeypatch):
    summer = datetime(2026, 3, 29, 1, tzinfo=UTC)
    now = summer + timedelta(minutes=30)
    monkeypatch.setattr(memory, "datetime", SimpleNamespace(now=lambda zone=None: now.astimezone(zone)))
    assert moment("2h", "--since") == int(now.timestamp()) - 7200


def test_times_are_dates_times_or_how_long_ago():
    assert moment("", "--since") == 0
    assert moment("2026-11-21T14:05", "--since") == int(datetime(2026, 11, 21, 14, 5).timestamp())
    assert moment("2026-11-21", "--since") == int(datetime(2026, 11, 21).timestamp())
    assert moment("1970-01-02T00:00+00:00", "--since") == 86_400
    assert moment("1970-01-01T00:00+00:00", "--since") == 1
    with pytest.raises(UsageError, match="2 hours ago"):
        moment("2 h", "--since")
