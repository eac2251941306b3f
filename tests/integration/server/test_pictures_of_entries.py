"""A whole server whose prompts show the pictures of entries: through store, decoder and generator."""

from __future__ import annotations

import io
from collections.abc import Iterator
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image

from quizglass_client import Answer, Client, Entry
from quizglass_client.local import LocalServer
from tests.support.bundles.tiny_bundle import PROMPTS, write_bundle

ENTRIES = 3
OF_ENTRY = "{% if images[loop.index] is defined %}{{ images[loop.index] }}{% endif %}"
SHOWING = (
    "<|im_start|>{{ image }}{% for line in seen %}"
    + OF_ENTRY
    + "{{ line }}{% endfor %}{{ question }}<|im_end|> Answer:"
)


def png(level: int) -> bytes:
    """One that goes through a decoder's process; the encoder finds all of them alike."""
    file = io.BytesIO()
    Image.fromarray(np.full((60, 40, 3), 100 + level, np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Client]]:
    """Of a server whose answer shows the wearer's picture alone, and of one whose answer shows entries' too."""
    folder = tmp_path_factory.mktemp("shown")
    roles = ("image_encoder", "text_encoder", "generator")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROMPTS, "answer", SHOWING.replace(OF_ENTRY, ""))
        plain = write_bundle(folder / "plain", roles)
        patch.setitem(PROMPTS, "answer", SHOWING)
        showing = write_bundle(folder / "showing", roles)
    with (
        LocalServer(plain, folder / "one") as one,
        LocalServer(showing, folder / "two") as two,
        Client(one.target, timeout=60) as alone,
        Client(two.target, timeout=60) as together,
    ):
        for client in (alone, together):
            entries = [Entry(f"e{at}", f"Entry {at}", "a", pictures=(png(at),)) for at in range(ENTRIES)]
            assert client.add_entries(entries).added == ENTRIES
        yield alone, together


def ask(client: Client, policy: str, picture: bytes | None) -> Answer:
    return client.answer("What?", picture, policy=policy, budget=60)


def test_a_prompt_shows_the_pictures_of_all_entries_together(clients: tuple[Client, Client]) -> None:
    alone, _ = clients
    one, two = (ask(client, "core-one-stage+", png(0)) for client in clients)
    a_picture = ask(alone, "none", png(0)).done.prompt_tokens - ask(alone, "none", None).done.prompt_tokens
    assert a_picture > 0
    assert two.done.prompt_tokens == one.done.prompt_tokens + ENTRIES * a_picture
    beside = [answer.done.all_prompt_tokens - answer.done.prompt_tokens for answer in (one, two)]
    assert beside[0] == beside[1] > 0, "rewriting shows no pictures of entries"
    stages = [[timing.stage for timing in answer.done.timings] for answer in (one, two)]
    assert [names.count("entry_pictures") for names in stages] == [0, 1]
    assert (*one.done.skipped, *two.done.skipped) == ()


def test_evidence_names_a_picture_that_the_store_gives(clients: tuple[Client, Client]) -> None:
    _, together = clients
    answer = ask(together, "core-one-stage+", png(0))
    assert {item.entry_id: item.picture for item in answer.evidence} == {
        f"e{at}": sha256(png(at)).digest() for at in range(ENTRIES)
    }
    shown = answer.evidence[0].picture
    assert sha256(together.get_picture(shown)).digest() == shown
    hit, *_ = together.search(picture=png(0))
    assert hit.picture == sha256(png(int(hit.entry_id[1:]))).digest()


def test_a_prompt_that_has_no_room_for_them_goes_on_with_captions(clients: tuple[Client, Client]) -> None:
    for client in clients:  # five captions of 140 bytes fill most of a context of 256 tokens
        long = [Entry(f"e{at}", f"E {at}", "red car " * 4, pictures=(png(at),)) for at in range(ENTRIES + 2)]
        assert client.add_entries(long).added == len(long)
    one, two = (ask(client, "core-one-stage+", png(0)) for client in clients)
    assert two.done.prompt_tokens == one.done.prompt_tokens > 0
    assert two.done.finish_reason in ("complete", "length")
    assert "entry_pictures" in [timing.stage for timing in two.done.timings]
    assert not two.done.skipped
