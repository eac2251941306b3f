"""What a store's vectors were made with is known by the encoder's fingerprint, and a store follows it by itself."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from quizglass_bundle.fields import ManifestPart, Normalised
from quizglass_bundle.files import Bundle
from quizglass_server.domain.turns import Vector
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.knowledge.fakes import pictured, stream


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return Bundle.load(write_bundle(tmp_path / "tiny", ("image_encoder", "text_encoder")))


def part_of(bundle: Bundle, role: str, **changed: Any) -> ManifestPart:
    part = bundle.roles.part(role)
    assert part is not None
    return type(part).model_validate({**part.model_dump(), **changed})


def loaded(bundle: Bundle, pool: EnginePool, role: str, **changed: Any) -> Any:
    part: Any = part_of(bundle, role, **changed)
    return load_role(role, part, Loading(bundle, pool, PictureFitter(), OnnxOptions(threads=1, provider="cpu")))


@pytest.mark.parametrize("changed", [{"pooling": "cls"}, {"passage_prefix": "car: "}, {"max_tokens": 8}])
def test_what_changes_a_passages_vector_changes_the_text_encoders_fingerprint(
    bundle: Bundle, pool: EnginePool, changed: dict[str, Any]
) -> None:
    now = loaded(bundle, pool, "text_encoder").fingerprint
    assert loaded(bundle, pool, "text_encoder", **changed).fingerprint != now
    assert loaded(bundle, pool, "text_encoder", query_prefix="what: ").fingerprint == now


def test_another_tokenizer_changes_the_text_encoders_fingerprint(bundle: Bundle, pool: EnginePool) -> None:
    now = loaded(bundle, pool, "text_encoder").fingerprint
    name = "text_encoder/tokenizer.json"
    path = bundle.path(name)
    path.write_text(json.dumps(json.loads(path.read_text())))  # equal but for its white space
    manifest = json.loads((bundle.root / "manifest.json").read_text())
    manifest["files"][name] = {"sha256": sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    (bundle.root / "manifest.json").write_text(json.dumps(manifest))
    assert loaded(Bundle.load(bundle.root), pool, "text_encoder").fingerprint != now


@pytest.mark.parametrize("changed", [{"mean": (0.1, 0.2, 0.3)}, {"std": (0.4, 0.5, 0.6)}])
def test_what_is_done_to_a_picture_changes_the_image_encoders_fingerprint(
    bundle: Bundle, pool: EnginePool, changed: dict[str, Any]
) -> None:
    part: Any = part_of(bundle, "image_encoder")
    picture: Normalised = part.picture
    other = {**picture.model_dump(), **changed}
    now = loaded(bundle, pool, "image_encoder").fingerprint
    assert loaded(bundle, pool, "image_encoder", picture=other).fingerprint != now
    assert loaded(bundle, pool, "image_encoder").fingerprint == now


async def test_a_store_is_embedded_anew_by_itself_under_another_prefix(
    bundle: Bundle, pool: EnginePool, tmp_path: Path
) -> None:
    async def opened(prefix: str) -> tuple[Any, KnowledgeBase]:
        encoder = loaded(bundle, pool, "text_encoder", passage_prefix=prefix)
        pictures = loaded(bundle, pool, "image_encoder")
        return encoder, await KnowledgeBase.open(tmp_path / "store", text_encoder=encoder, image_encoder=pictures)

    path = tmp_path / "blue.png"
    Image.new("RGB", (64, 64), "blue").save(path)
    _, base = await opened("")
    await base.add(stream([pictured("boat", text="Blue boat.", title="red", pictures=[path.read_bytes()])]))
    await base.close()

    encoder, base = await opened("car car car: ")
    await base.settle()
    (now,) = await encoder.embed_passages(["red: Blue boat."])
    assert await score(base, now) == pytest.approx(1, abs=1e-5)
    await base.close()


async def score(base: KnowledgeBase, vector: Vector) -> float:
    (hit,) = await base.search_texts(np.asarray(vector), 1)
    return hit.score
