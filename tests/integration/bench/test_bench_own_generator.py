"""The bundle's generator by itself, behind a real llama-server that is ended afterwards."""

import os
from pathlib import Path

import pytest

from bench.own.dataset import OwnThing
from bench.own.plain_generator import NearestNotes, PlainGenerator
from quizglass_bundle.files import Bundle
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from tests.support.bundles.tiny_bundle import PROMPTS, write_bundle

ANSWER = "<|im_start|>{% for f in found %}{{ f }}{% endfor %}{{ question }}<|im_end|> Answer:"


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    prompts = {**PROMPTS, "answer": ANSWER}
    return Bundle.load(write_bundle(tmp_path / "b", ("text_encoder", "generator"), prompts))


def test_a_generator_by_itself_answers_greedily_and_its_server_ends(bundle: Bundle) -> None:
    with PlainGenerator(bundle) as plain:
        before = plain.pid
        first = plain.answer("what is this")
        pid = plain.pid
        assert plain.answer("what is this").text == first.text
        assert plain.answer("what is this", ["red car: blue boat"]).whole_ms > 0
        assert plain.pid == pid, "one server for all"
        assert first.first_ms == first.whole_ms > 0
        assert (before, first.outcome) == (None, ""), "nothing ran before the first question"
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_notes_nearest_to_the_words_of_a_question_come_first(bundle: Bundle) -> None:
    part, pool = bundle.roles.text_encoder, EnginePool(1)
    assert part is not None
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(provider="cpu"))
    encoder = await pool.run(lambda: load_role("text_encoder", part, loading))
    things = [OwnThing(name, name, "this is", "", "", (), "dev") for name in ("red car", "blue boat")]
    nearest = await NearestNotes.read(things, encoder)
    assert await nearest.to("blue boat: this is", 1) == ["blue boat: this is"]
    assert set(await nearest.to("red car: this is", 2)) == {"red car: this is", "blue boat: this is"}
    pool.close()
