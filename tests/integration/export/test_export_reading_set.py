"""A build proposes how its bundle answers, from a reading set, unless the recipe says it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_bundle.files import Bundle
from quizglass_bundle.tuning import Answers
from quizglass_export.gguf.text import write_text_gguf
from tests.support.bundles.small_build import run
from tests.support.bundles.tiny_checkpoints import text_model
from tests.support.bundles.tiny_qwen import qwen3

RECIPE = """
format = 1
name = "reader"
version = "1"
{said}
[samples]
source = "random"
count = 2
[roles.text_encoder]
checkpoint = "text_encoder"
[roles.generator]
model = "m.gguf"
tokenizer = "tokenizer.json"
context = {context}
max_new_tokens = 4
"""


@pytest.fixture
def sources(tokenizer: Path, tmp_path: Path) -> Path:
    """A text encoder and a generator, both of random weights."""
    text_model(tmp_path / "text_encoder", "bert")
    write_text_gguf(qwen3(tokenizer), tokenizer, tmp_path / "m.gguf", "theirs")
    (tmp_path / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return tmp_path


def build(sources: Path, said: str, context: int = 512) -> Path:
    recipe, out = sources / "bundle.toml", sources / "out" / "bundle"
    recipe.write_text(RECIPE.format(said=said, context=context))
    assert run("build", "--recipe", recipe, "--out", out, "--replace") == 0
    return out


def test_a_build_proposes_how_the_bundle_answers(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = build(sources, "thresholds.quote_accept = 0.3")
    told = " ".join(capsys.readouterr().out.split())
    reading = json.loads(out.with_name("bundle.report.json").read_text())["reading"]
    assert set(reading["answers"]) == set(Answers)
    assert all(each["right"] + each["refused"] + each["wrong"] == 31 for each in reading["answers"].values())
    assert f"evidence.answers: proposed is {reading['best']}; of 31 questions about notes: quote " in told
    assert "## Reading set" in out.with_name("bundle.report.md").read_text()
    assert Bundle.load(out).answers is Answers.WRITE, "proposed, and not set"


def test_a_recipe_that_says_it_is_not_asked(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = build(sources, 'evidence.answers = "quote"')
    assert "proposed" not in capsys.readouterr().out
    assert json.loads(out.with_name("bundle.report.json").read_text())["reading"] is None


def test_notes_that_do_not_fit_the_context_keep_no_bundle_from_being_built(
    sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(sources, "", context=64)
    assert "evidence.answers: the reading set was not asked, so no value is proposed (llama.cpp" in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_shorter_of_two_needs_a_line_for_quotes(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = sources / "bundle.toml"
    recipe.write_text(RECIPE.format(said='evidence.answers = "shorter"', context=512))
    assert run("build", "--recipe", recipe, "--out", sources / "bundle") == 2
    assert 'evidence.answers: "shorter" needs thresholds.quote_accept' in " ".join(capsys.readouterr().err.split())
