"""The everyday bundle, built from its packages, asked about photographs. Run by `make everyday-test` alone.

Downloads about 220 MB the first time; `work/everyday` keeps what was made, as `make everyday` does.
"""

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from quizglass_bundle.files import Bundle
from quizglass_export.everyday.base import gguf_file
from quizglass_export.everyday.build import build_bundle
from quizglass_export.everyday.weights import PHOTOGRAPHS, fetch_everything
from quizglass_export.gguf.header import read_gguf
from quizglass_lab.demo import everyday
from quizglass_lab.everyday.facts import all_facts
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading

WORKDIR = Path("work/everyday")
pytestmark = pytest.mark.everyday


def test_packages_bring_weights_and_facts() -> None:
    fetch_everything(WORKDIR)
    assert read_gguf(gguf_file(WORKDIR)).metadata["general.architecture"] == "llama"
    known = {(fact.thing, fact.name): fact.value for fact in all_facts(WORKDIR)}
    assert known["France", "capital"] == "Paris"
    assert known["Iron", "symbol"] == "Fe"


async def test_the_tagger_knows_the_photographed_cat_and_is_sure_of_nothing_in_grass() -> None:
    bundle, pool = Bundle.load(build_bundle(WORKDIR)), EnginePool(1)
    part = bundle.roles.tagger
    assert part is not None
    tagger = load_role("tagger", part, Loading(bundle, pool, PictureFitter(), OnnxOptions(1, "cpu")))
    tags = {}
    for name in ("chelsea.png", "coffee.png", "grass.png"):
        with Image.open(WORKDIR / PHOTOGRAPHS[0].folder / name) as image:
            pixels = np.asarray(image.convert("RGB"))
        tags[name] = [tag for tag, _ in await tagger.tags(Picture(sha256(pixels.tobytes()).digest(), pixels))]
    pool.close()
    assert tags == {"chelsea.png": ["Egyptian cat"], "coffee.png": ["espresso"], "grass.png": []}


def test_the_demo_answers_half_of_its_questions_at_least() -> None:
    assert everyday.main(["--workdir", str(WORKDIR), "--least", "4"]) == 0
