"""Dialogues with the shipped bundle, and server processes that come and go: the token is all that is left of a turn."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL.Image import Image

from quizglass_client import Client, Dialogue, InvalidRequest
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import build_world, write_entries
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.scenes import make_scene
from quizglass_lab.pocketworld.world import Thing
from tests.support.bundles.tiny_bundle import write_bundle

SEED, PAIRS = 7007, 8
WORLD = build_world(SEED, 40)


def pairs() -> list[tuple[Thing, Thing]]:
    """Things of one kind that the generator knows nothing of, with a price and a weight in their articles."""
    told = [thing for thing in WORLD.things if not thing.recognised and {"price", "weight"} <= set(thing.facts)]
    every = [(one, two) for one in told for two in told if one.kind == two.kind and one.id < two.id]
    random.Random(SEED).shuffle(every)
    return every[:PAIRS]


def shown(*things: Thing) -> Image:
    return draw_scene(make_scene(things, random.Random(SEED), fault_share=0), 448)


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory, starter_bundle: Path) -> Path:
    folder = tmp_path_factory.mktemp("starter")
    write_entries(WORLD, folder, size=112)
    with LocalServer(starter_bundle, folder / "knowledge") as server, Client(server.target) as client:
        client.add_entries(line.entry for line in read_entries(folder / "entries.jsonl") if isinstance(line, GoodLine))
    return folder / "knowledge"


@pytest.fixture(scope="module")
def client(starter_bundle: Path, knowledge: Path) -> Iterator[Client]:
    with LocalServer(starter_bundle, knowledge) as server, Client(server.target, timeout=120) as connected:
        yield connected


def test_the_other_one_is_answered_as_if_it_were_asked_about_whole(client: Client) -> None:
    right = 0
    for one, two in pairs():
        picture = shown(one, two)
        on_the_left, on_the_right = (f"How much does the {one.kind} on the {side} cost?" for side in ("left", "right"))
        dialogue = Dialogue(client)
        first = dialogue.answer(on_the_left, picture)
        other = dialogue.answer("And the other one?")
        again = dialogue.answer("And the one on the left?")
        assert other.text == client.answer(on_the_right, picture).text
        assert again.text == first.text
        right += other.text == two.facts["price"]
    assert right > PAIRS // 2


def test_it_is_what_was_spoken_of(client: Client) -> None:
    right = 0
    for one, two in pairs():
        dialogue = Dialogue(client)
        dialogue.answer(f"What is the {one.kind} on the right called?", shown(two, one))
        right += dialogue.answer("How much does it weigh?").text == one.facts["weight"]
    assert right > PAIRS // 2


def test_a_dialogue_goes_on_after_a_restart_and_on_another_server(
    starter_bundle: Path, knowledge: Path, tmp_path: Path
) -> None:
    own = tmp_path / "knowledge"
    shutil.copytree(knowledge, own)
    key = own / "session.key"
    sessions: list[tuple[bytes, str]] = []
    with LocalServer(starter_bundle, own) as server, Client(server.target, timeout=120) as client:
        for one, _ in pairs():
            named = client.answer(f"What is this {one.kind} called?", shown(one))
            if named.text == one.name:
                sessions.append((named.session, one.facts["weight"]))
    assert len(sessions) > PAIRS // 2
    copied = tmp_path / "key"
    shutil.copyfile(key, copied)

    def go_on(*flags: str, bundle: Path = starter_bundle, folder: Path = own) -> int:
        with LocalServer(bundle, folder, flags=flags) as server, Client(server.target, timeout=120) as client:
            answers = [client.answer("How much does it weigh?", session=session).text for session, _ in sessions]
        return sum(answer == weight for answer, (_, weight) in zip(answers, sessions, strict=True))

    assert go_on() > len(sessions) // 2
    key.unlink()  # another server, that shares no directory but a key
    assert go_on("--session-key-file", str(copied)) > len(sessions) // 2
    assert not key.exists()
    stranger, tiny = tmp_path / "stranger", write_bundle(tmp_path / "tiny")
    with pytest.raises(InvalidRequest) as caught:
        go_on(bundle=tiny, folder=stranger)
    assert caught.value.reason == "SESSION_UNKNOWN_KEY"
    (stranger / key.name).unlink()
    (stranger / key.name).mkdir()  # nothing can be kept there: the server says so and serves
    with pytest.raises(InvalidRequest) as caught:
        go_on(bundle=tiny, folder=stranger)
    assert caught.value.reason == "SESSION_UNKNOWN_KEY"
