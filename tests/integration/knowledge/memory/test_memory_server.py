"""The whole server on the starter bundle, killed and started again: the memory is what it was."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from quizglass_client import Client
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.errors import ServerUnavailable
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import build_world, write_entries
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.scenes import make_scene

WORLD = build_world(4242, 12)
PATIENCE_S = 60


def shown(number: int, seed: int):
    """A scene with one thing, drawn otherwise for every seed."""
    return draw_scene(make_scene([WORLD.things[number]], random.Random(seed), fault_share=0), 336)


def settled(client: Client, expected: int) -> bool:
    """Whether there come to be so many sightings, none of them waiting: a turn ends before it is remembered."""
    end = time.monotonic() + PATIENCE_S
    while (stats := client.memory.stats()).waiting or stats.sightings != expected:
        assert time.monotonic() < end, stats
        time.sleep(0.02)
    return True


def test_what_was_seen_and_forgotten_survives_a_kill(starter_bundle: Path, tmp_path: Path) -> None:
    write_entries(WORLD, tmp_path, size=112)
    flags = ("--memory-directory", str(tmp_path / "memory"))

    def started() -> LocalServer:
        return LocalServer(starter_bundle, tmp_path / "knowledge", flags=flags)

    with started() as server, Client(server.target, timeout=120) as client:
        lines = read_entries(tmp_path / "entries.jsonl")
        client.add_entries(line.entry for line in lines if isinstance(line, GoodLine))
        for number, session in ((0, "walk"), (1, "secret")):
            client.answer("What is this called?", shown(number, 1), policy="image", remember=True, session_id=session)
        assert settled(client, 2)
        assert client.memory.forget(session_id="secret").sightings == 1
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(ServerUnavailable):
            client.memory.stats()
    with started() as server, Client(server.target, timeout=120) as client:
        assert settled(client, 1)
        seen = client.answer("When did I last see this?", shown(0, 2), recall=True)
        assert seen.text.startswith(f"You last saw this ({WORLD.things[0].name}) ")
        assert seen.done.citations
        forgotten = client.answer("When did I last see this?", shown(1, 2), recall=True)
        assert forgotten.done.abstain_reason == "no_evidence"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_forgotten_is_in_no_file_below_the_servers_directories(
    starter_bundle: Path, tmp_path: Path, end: signal.Signals
) -> None:
    places = {name: tmp_path / name for name in ("knowledge", "memory", "state")}
    flags = ("--memory-directory", str(places["memory"]), "--state-directory", str(places["state"]))
    with LocalServer(starter_bundle, places["knowledge"], flags=flags) as server, Client(server.target) as client:
        told = client.answer("Is this a zebracanary?", shown(0, 1), policy="image", remember=True)
        assert settled(client, 1)
        assert client.memory.search()[0].question == "Is this a zebracanary?"
        assert any(b"zebracanary" in file.read_bytes() for file in _files(places["memory"]))
        assert client.memory.forget(everything=True).sightings == 1
        assert told.text
        if end is signal.SIGKILL:
            os.kill(server.pid, end)
    assert [file.name for file in _files(tmp_path) if b"zebracanary" in file.read_bytes()] == []
    assert [file.name for file in _files(places["state"])] == []  # the generator's prompts, as numbers of tokens


def _files(place: Path) -> list[Path]:
    return [file for file in place.rglob("*") if file.is_file()]
