"""A collection that others have filled, in a real Milvus Lite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quizglass_server.domain.turns import Vector
from quizglass_server.errors import SourceFailed
from quizglass_server.knowledge.sources.guarded import GuardedSource, Terms
from quizglass_server.knowledge.sources.milvus import opened
from quizglass_server.knowledge.sources.protocol import PictureQuery, TextQuery
from tests.support.turn_fakes import picture

pymilvus = pytest.importorskip("pymilvus", reason="the extra milvus is not installed")
pytest.importorskip("milvus_lite", reason="the extra milvus is not installed")

RED, BLUE, GREEN = (np.eye(4, dtype=np.float32)[place] for place in range(3))
ROWS = [
    {
        "id": 1,
        "vector": RED.tolist(),
        "said": "The Velmora costs 45 crowns.",
        "name": "Velmora",
        "page": "https://v.example",
    },
    {"id": 2, "vector": BLUE.tolist(), "said": "The Tagrin lies in Brenn.", "name": "Tagrin", "page": "tagrin.md"},
    {"id": 3, "vector": (RED + 2 * BLUE).tolist(), "said": "<b>Both</b> are old.", "name": "", "page": ""},
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A file with a collection."""
    path = str(tmp_path / "others.db")
    client = pymilvus.MilvusClient(path)
    client.create_collection("things", dimension=4, metric_type="COSINE")
    client.insert("things", ROWS)
    client.close()
    return f"milvus:{path}"


def source(url: str, **keys: Any) -> GuardedSource:
    fields = {"collection": "things", "text": "said", "title": "name", "address": "page"} | keys
    return GuardedSource("store", "milvus", opened({"url": url, **fields}), Terms(budget_s=60))


async def found(asked: GuardedSource, vector: Vector | None) -> list[tuple[str, str, str]]:
    try:
        return [(each.title, each.text, each.address) for each in await asked.texts(TextQuery("which?", vector))]
    finally:
        await asked.close()


async def test_texts_are_found_by_the_vector_of_the_query(url: str) -> None:
    first, second, _ = await found(source(url), RED)
    assert first == ("Velmora", "The Velmora costs 45 crowns.", "https://v.example")
    assert second == ("things", "Both are old.", "")


async def test_pictures_are_found_by_each_part_once_with_their_cosines(url: str) -> None:
    asked = source(url, finds="image")
    hits = await asked.pictures(PictureQuery(picture(), [RED, BLUE]))
    assert [(hit.id, round(hit.score or 0, 2)) for hit in hits[:2]] == [("1", 1.0), ("2", 1.0)]
    assert sorted(hit.id for hit in hits) == ["1", "2", "3"]
    assert asked.finds == ("image",)
    await asked.close()


@pytest.mark.parametrize("keys", [{"collection": "missing"}, {"vector": "nowhere"}, {"text": "nowhere"}])
async def test_what_the_collection_does_not_have_is_a_failure(url: str, keys: dict[str, str]) -> None:
    with pytest.raises(SourceFailed, match="store"):
        await found(source(url, **keys), RED)


async def test_vectors_of_another_encoder_are_a_failure(url: str) -> None:
    with pytest.raises(SourceFailed, match="store"):
        await found(source(url), np.ones(7, np.float32))


async def test_without_a_text_encoder_it_says_so(url: str) -> None:
    with pytest.raises(SourceFailed, match="no text encoder"):
        await found(source(url), None)


def test_a_file_is_of_this_machine_and_a_server_is_not(tmp_path: Path) -> None:
    keys = {"collection": "things"}
    (tmp_path / "a.db").touch()
    assert not opened({"url": f"milvus:{tmp_path}/a.db", **keys}).remote
    assert opened({"url": "http://127.0.0.1:19530", **keys}).remote


@pytest.mark.parametrize(
    ("url", "why"), [("/a/folder", "no address of Milvus"), ("milvus:/nowhere/a.db", "there is no such file")]
)
def test_what_is_no_milvus_is_refused(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        opened({"url": url, "collection": "things"})
