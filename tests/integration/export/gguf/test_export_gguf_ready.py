"""Ready-made GGUF files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from bench.export.parity import checked, plan_role
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.text import write_text_gguf
from quizglass_export.gguf.vision import write_vision_gguf
from quizglass_export.roles.ready import generator as role
from quizglass_export.roles.shared.samples import random_samples
from tests.support.bundles.exported_bundle import exported_role
from tests.support.bundles.tiny_qwen import qwen2_5_vl, qwen2_vl, qwen3, spec

RELATIVE = "largest difference of logits of texts, in standard deviations of them"


@pytest.fixture
def ready(tokenizer: Path, tmp_path: Path) -> Path:
    """A pair of GGUF files with its tokenizer, as others publish them."""
    source = qwen2_vl(tokenizer)
    write_text_gguf(source, tokenizer, tmp_path / "m.gguf", "theirs")
    write_vision_gguf(source, spec(), tmp_path / "v.gguf")
    (tmp_path / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return tmp_path


def taken_in(folder: Path, **more: Any) -> tuple[Any, list[Any]]:
    files = {"model": folder / "m.gguf", "projector": folder / "v.gguf", "tokenizer": folder / "tokenizer.json"}
    return exported(folder, {**files, "context": 256, "picture": {"width": 112, "height": 112}, **more})


def exported(folder: Path, generator: dict[str, Any]) -> tuple[Any, list[Any]]:
    return exported_role(folder, "generator", generator, 2)


def test_ready_made_files_are_taken_in_as_they_are(ready: Path) -> None:
    part, checks = taken_in(ready)
    assert (ready / "files" / part.model).read_bytes() == (ready / "m.gguf").read_bytes()
    assert all(check.passed for check in checks), checks


def test_ready_made_files_that_do_not_fit_are_refused(ready: Path) -> None:
    with pytest.raises(ExportError, match=r"qwen2vl\.context_length is 512, the recipe's context 9999"):
        taken_in(ready, context=9999)
    with pytest.raises(
        ExportError, match=r"v\.gguf: a picture of 560 x 560 is 40\d tokens, and .*context is 256; give"
    ):
        taken_in(ready, picture={"width": 560, "height": 560})
    with pytest.raises(ExportError, match=r"roles\.generator\.stop: stop text '<\|stop\|>' is \d+ tokens"):
        taken_in(ready, stop=["<|stop|>"])
    with pytest.raises(ExportError, match=r"m\.gguf: llama\.cpp cannot load it: .*Failed to load CLIP model"):
        taken_in(ready, projector=ready / "m.gguf")
    text = (ready / "tokenizer.json").read_text()
    (ready / "tokenizer.json").write_text(text.replace("<|im_end|>", "<|the_end|>"))
    with pytest.raises(ExportError, match=r"m\.gguf: token \d+ is '<\|im_end\|>', .* has '<\|the_end\|>'"):
        taken_in(ready, stop=["<|endoftext|>"])
    (ready / "m.gguf").write_bytes((ready / "m.gguf").read_bytes()[:-400])
    with pytest.raises(ExportError, match=r"m\.gguf: not a usable GGUF file: tensor .* ends at"):
        taken_in(ready)


def test_a_model_of_text_alone_needs_no_projector(tokenizer: Path, tmp_path: Path) -> None:
    write_text_gguf(qwen3(tokenizer), tokenizer, tmp_path / "m.gguf", "theirs")
    files = {"model": tmp_path / "m.gguf", "tokenizer": tokenizer}
    part, checks = exported(tmp_path, {**files, "context": 256})
    assert (part.projector, part.picture) == (None, None)
    assert all(check.passed for check in checks), checks


def test_a_projector_of_another_model_is_refused_in_the_words_of_llama_cpp(tokenizer: Path, tmp_path: Path) -> None:
    write_text_gguf(qwen3(tokenizer, width=96), tokenizer, tmp_path / "m.gguf", "theirs")
    write_vision_gguf(qwen2_vl(tokenizer), spec(), tmp_path / "v.gguf")
    files = {"model": tmp_path / "m.gguf", "tokenizer": tokenizer, "projector": tmp_path / "v.gguf"}
    with pytest.raises(ExportError, match=r"v\.gguf: llama\.cpp cannot load it: .*mismatch .*n_embd = 96.*n_embd = 64"):
        exported(tmp_path, {**files, "context": 256})


def test_pictures_keep_their_shape_unless_the_recipe_gives_a_size(tokenizer: Path, tmp_path: Path) -> None:
    source = qwen2_5_vl(tokenizer, max_position_embeddings=1024)
    write_text_gguf(source, tokenizer, tmp_path / "m.gguf", "theirs")
    write_vision_gguf(source, spec(), tmp_path / "v.gguf")
    files = {"model": tmp_path / "m.gguf", "projector": tmp_path / "v.gguf", "tokenizer": tokenizer}
    part, checks = exported(tmp_path, {**files, "context": 1024, "max_new_tokens": 4})
    assert (part.projector, part.picture) == ("generator/mmproj.gguf", None)
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize(
    ("file", "key", "value", "message"),
    [
        (
            "m.gguf",
            "general.architecture",
            ["qwen2vl"],
            r"m\.gguf: general\.architecture is \['qwen2vl'\], which is no",
        ),
        ("m.gguf", "qwen2vl.context_length", "512", r"m\.gguf: qwen2vl\.context_length is '512', the recipe's context"),
        ("m.gguf", "tokenizer.ggml.tokens", "all", r"m\.gguf: tokenizer\.ggml\.tokens and token_type must be lists"),
    ],
)
def test_metadata_of_another_kind_is_refused(
    ready: Path, monkeypatch: pytest.MonkeyPatch, file: str, key: str, value: object, message: str
) -> None:
    def changed(path: Path) -> Any:
        header = read_gguf(path)
        return replace(header, metadata={**header.metadata, key: value}) if path.name == file else header

    monkeypatch.setattr(role, "read_gguf", changed)
    with pytest.raises(ExportError, match=message):
        taken_in(ready)


def test_a_model_that_could_see_is_taken_without_its_projector(ready: Path) -> None:
    files = {"model": ready / "m.gguf", "tokenizer": ready / "tokenizer.json", "context": 256}
    part, checks = exported(ready, files)
    assert not part.sees_pictures
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize("make", [qwen3, qwen2_vl])
def test_checkpoints_become_generators_with_and_without_pictures(tokenizer: Path, tmp_path: Path, make: Any) -> None:
    folder = tmp_path / "checkpoint"
    make(tokenizer).half().float().save_pretrained(folder)  # so that f16 loses nothing of the weights
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    wanted = {"checkpoint": folder, "quantisation": "f16", "context": 512, "max_new_tokens": 2}
    sees = make is qwen2_vl
    picture = {"picture": {"width": 112, "height": 84}} if sees else {}
    part, checks = exported(tmp_path, {**wanted, **picture})
    assert (part.projector is not None, part.picture is not None) == (sees, sees)
    found = {check.measure: check for check in checks}
    assert found["equal tokens of prompts"].passed
    assert found["largest difference of logits of texts"].demand == "reported"
    assert found[RELATIVE].demand == "<= 0.01"
    assert found[RELATIVE].passed
    assert found["equal best tokens of texts"].demand == ">= 0.97"


@pytest.mark.parametrize(("key", "file"), [("model", "m.gguf"), ("projector", "v.gguf")])
def test_links_are_not_taken_in(ready: Path, key: str, file: str) -> None:
    (ready / "link.gguf").symlink_to(ready / file)
    with pytest.raises(ExportError, match=rf"link\.gguf: missing or a link; roles\.generator\.{key} must name a GGUF"):
        taken_in(ready, **{key: ready / "link.gguf"})


def test_the_bound_of_logits_grows_with_them_and_is_what_the_recipe_demands(tokenizer: Path, tmp_path: Path) -> None:
    """As real checkpoints', these logits are large, and so is what float16 rounds away."""
    folder = tmp_path / "checkpoint"
    model = qwen3(tokenizer, tie_word_embeddings=False)
    with torch.no_grad():
        model.lm_head.weight *= 20
    model.half().float().save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    spec = {"checkpoint": folder, "quantisation": "f16", "context": 512, "max_new_tokens": 2}
    passed = {}
    for demand in (1e-3, 1e-7):
        plan = plan_role(tmp_path, "generator", spec, {"source": "random", "count": 2}, demands={"logits": demand})
        checks = {check.measure: check for check in checked(plan, "generator", random_samples(2), tmp_path / "files")}
        assert checks["largest difference of logits of texts"].value > 0.01
        passed[demand] = checks[RELATIVE].passed
    assert passed == {1e-3: True, 1e-7: False}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"quantisation": "q4_0"}, "quantisation: ready-made GGUF files are taken as they are; leave it out"),
        ({"projector": None}, "picture: a model without projector reads text alone; leave it out"),
    ],
)
def test_keys_that_ready_made_files_would_ignore_are_refused(ready: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        taken_in(ready, **more)
