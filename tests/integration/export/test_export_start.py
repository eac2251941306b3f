"""`verify` refuses what a server would refuse at its start."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from quizglass_bundle.files import Bundle
from quizglass_export import cli
from quizglass_export.errors import ExportError
from quizglass_export.roles.starting import check_start
from quizglass_server.config.settings import EngineOptions
from quizglass_server.roles.load import load_models
from tests.support.bundles.tiny_bundle import write_bundle

Roles = dict[str, Any]


def changed(root: Path, edit: Callable[[Path, Roles], None], roles: tuple[str, ...]) -> Path:
    """A tiny bundle that an edit has changed, its hashes listed anew."""
    write_bundle(root, roles)
    path = root / "manifest.json"
    content = json.loads(path.read_text())
    edit(root, content["roles"])
    for name in content["files"]:
        data = (root / name).read_bytes()
        content["files"][name] = {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
    path.write_text(json.dumps(content))
    return root


def without_yes(root: Path, roles: Roles) -> None:
    roles["reranker"]["labels"] = [["good", " yes"], ["no", " no"]]


def one_token_twice(root: Path, roles: Roles) -> None:
    roles["reranker"]["labels"] = [["yes", " yes"], ["no", " yes"]]


def unknown_plan(root: Path, roles: Roles) -> None:
    roles["planner"]["labels"][1][0] = "web"


def label_of_tokens(root: Path, roles: Roles) -> None:
    roles["planner"]["labels"][1][1] = " image"


def unknown_value(root: Path, roles: Roles) -> None:
    (root / "prompts" / "answer.jinja").write_text("{{ weather }}")


def broken_template(root: Path, roles: Roles) -> None:
    (root / "prompts" / "rerank.jinja").write_text("{% if %}")


def long_stop(root: Path, roles: Roles) -> None:
    roles["generator"]["stop"] = ["<|im_end|>", "The end"]


def other_dimension(root: Path, roles: Roles) -> None:
    roles["text_encoder"]["dimension"] = 9


def other_picture(root: Path, roles: Roles) -> None:
    roles["image_encoder"]["picture"]["width"] = 98


REFUSED = [
    (without_yes, ("reranker",), "roles.reranker.labels: good, no: none is 'yes'"),
    (one_token_twice, ("reranker",), "labels ' yes' and ' yes' are one token in tokenizer.json"),
    (unknown_plan, ("planner",), "roles.planner.labels: none, web, text, both: not all are plans"),
    (label_of_tokens, ("planner",), "label ' image' is 6 tokens in tokenizer.json; choose a text of one token"),
    (unknown_value, ("generator",), "prompt template answer.jinja: 'weather' is undefined"),
    (broken_template, ("reranker",), "roles.reranker: prompt template rerank.jinja: "),
    (long_stop, ("generator",), "stop text 'The end' is 7 tokens"),
    (other_dimension, ("text_encoder",), "gives vectors of shape [1, 8], the manifest says 9"),
    (other_picture, ("image_encoder",), "image_encoder/model.onnx: pixel_values has shape "),
]


@pytest.mark.parametrize(("edit", "roles", "message"), REFUSED, ids=lambda each: getattr(each, "__name__", ""))
def test_verify_refuses_what_the_start_refuses(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    edit: Callable[[Path, Roles], None],
    roles: tuple[str, ...],
    message: str,
) -> None:
    root = changed(tmp_path / "bundle", edit, roles)
    assert cli.main(["verify", str(root)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("edit", [one_token_twice, label_of_tokens], ids=lambda each: each.__name__)
async def test_labels_that_cannot_be_distinguished_are_refused_at_the_start_too(
    tmp_path: Path, edit: Callable[[Path, Roles], None]
) -> None:
    role = "reranker" if edit is one_token_twice else "planner"
    bundle = Bundle.load(changed(tmp_path / "bundle", edit, (role,)))
    with pytest.raises(Exception, match=rf"roles\.{role}: label"):
        await load_models(bundle, EngineOptions(threads=1, provider="cpu"))


def model_as_projector(root: Path, _: Roles) -> None:
    (root / "generator" / "mmproj.gguf").write_bytes((root / "generator" / "model.gguf").read_bytes())


def nonsense_architecture(root: Path, _: Roles) -> None:
    model = root / "generator" / "model.gguf"
    before, name, behind = model.read_bytes().partition(b"qwen2vl")
    assert name
    model.write_bytes(before + b"nonsens" + behind)


def half_a_projector(root: Path, _: Roles) -> None:
    projector = root / "generator" / "mmproj.gguf"
    projector.write_bytes(projector.read_bytes()[:20_000])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (model_as_projector, r"mmproj\.gguf: llama\.cpp cannot load it: .*CLIP"),
        (nonsense_architecture, r"model\.gguf: llama\.cpp cannot load it: .*unknown model architecture: .nonsens"),
        (half_a_projector, r"mmproj\.gguf: not a usable GGUF file: .* copy it again"),
    ],
    ids=lambda each: getattr(each, "__name__", "message"),
)
def test_generators_that_would_not_start_are_refused(
    tmp_path: Path, edit: Callable[[Path, Roles], None], message: str
) -> None:
    bundle = Bundle.load(changed(tmp_path / "bundle", edit, ("generator",)))
    with pytest.raises(ExportError, match=message):
        check_start(bundle)


def test_the_starter_would_start(starter_bundle: Path) -> None:
    check_start(Bundle.load(starter_bundle))
