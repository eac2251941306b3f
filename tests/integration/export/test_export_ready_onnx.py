"""Text encoders and cross-encoders from ready-made ONNX files: taken in as they are, or refused."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import onnx
import pytest

pytest.importorskip("torch")
pytest.importorskip("optimum")

from quizglass_export.errors import ExportError
from tests.support.bundles.exported_bundle import exported_role
from tests.support.bundles.tiny_checkpoints import image_model, text_model


def theirs(folder: Path, role: str, made: Any) -> Path:
    """The file of a role that was exported, as if it were ready-made."""
    file = folder / "theirs.onnx"
    file.write_bytes((folder / "files" / made.model).read_bytes())
    return file


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_ready_made_text_encoder_is_taken_in_as_it_is(tmp_path: Path, pooling: str) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", "bert")
    made, _ = exported_role(tmp_path, "text_encoder", {"checkpoint": checkpoint, "pooling": pooling}, 4)
    file, tokenizer = theirs(tmp_path, "text_encoder", made), checkpoint / "tokenizer.json"
    spec = {"model": file, "tokenizer": tokenizer, "dimension": made.dimension, "pooling": pooling}
    spec |= {"max_tokens": made.max_tokens, "sha256": sha256(file.read_bytes()).hexdigest()}
    part, checks = exported_role(tmp_path / "ready", "text_encoder", spec, 4)
    assert part == made
    assert (tmp_path / "ready" / "files" / part.model).read_bytes() == file.read_bytes()
    assert [check.measure for check in checks] == ["smallest cosine, batches beside one at a time"]
    _, checks = exported_role(tmp_path / "compared", "text_encoder", spec | {"checkpoint": checkpoint}, 4)
    assert [check.measure for check in checks][1:] == ["smallest cosine"]
    assert all(check.passed for check in checks), checks
    for change, message in (
        ({"dimension": 9}, r"the recipe says \[None, None, 9\]|the recipe's dimension is 9"),
        ({"sha256": "0" * 64}, r"theirs\.onnx: SHA-256 is .*, the recipe says 0000"),
        ({"model": tmp_path / "no.onnx"}, r"no\.onnx: missing or a link; roles\.text_encoder\.model must name"),
        ({"tokenizer": tmp_path / "no.json"}, r"no\.json: no tokenizer; name a tokenizer\.json"),
        ({"max_tokens": 4096}, r"does not run on 4096 tokens; correct max_tokens"),
    ):
        with pytest.raises(ExportError, match=message):
            exported_role(tmp_path / "ready", "text_encoder", spec | change, 2)


@pytest.mark.parametrize("labels", [1, 3])
def test_a_ready_made_cross_encoder_is_taken_in_as_it_is(tmp_path: Path, labels: int) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", "bert", labels)
    made, _ = exported_role(tmp_path, "reranker", {"checkpoint": checkpoint, "max_tokens": 40}, 4)
    file = theirs(tmp_path, "reranker", made)
    spec = {"model": file, "tokenizer": checkpoint / "tokenizer.json", "logits": labels, "max_tokens": 40}
    part, checks = exported_role(tmp_path / "ready", "reranker", spec | {"checkpoint": checkpoint}, 4)
    assert part == made
    assert checks[0].measure == "largest difference of logits, batches beside one at a time"
    assert all(check.passed for check in checks), checks
    renamed = onnx.load(str(file))
    renamed.graph.output[0].name = "scores"
    renamed.graph.node[-1].output[0] = "scores"
    onnx.save(renamed, str(tmp_path / "renamed.onnx"))
    for change, message in (
        ({"logits": labels + 1}, r"logits is \[None, \d\], the recipe says|the model gives"),
        ({"relevant": labels}, rf"relevant is {labels}, the model gives {labels} logits"),
        (
            {"model": tmp_path / "renamed.onnx"},
            r'renamed\.onnx: outputs are scores; logits is .* as in output = "scores"',
        ),
    ):
        with pytest.raises((ExportError, ValueError), match=message):
            exported_role(tmp_path / "ready", "reranker", spec | change, 2)


@pytest.mark.parametrize(
    ("role", "make", "kind", "taken"),
    [
        ("image_encoder", image_model, "siglip_vision_model", "pooler_output"),
        ("text_encoder", text_model, "bert", "token_embeddings"),
    ],
)
def test_an_output_of_another_name_is_named_and_taken(
    tmp_path: Path, role: str, make: Any, kind: str, taken: str
) -> None:
    """As libraries write them, with further outputs that are not read."""
    checkpoint = make(tmp_path / "checkpoint", kind)
    made, _ = exported_role(tmp_path, role, {"checkpoint": checkpoint}, 4)
    file = theirs(tmp_path, role, made)
    model = onnx.load(str(file))
    (served,) = model.graph.output
    other = onnx.ValueInfoProto.FromString(served.SerializeToString())
    other.name = "last"
    model.graph.node.append(onnx.helper.make_node("Identity", [served.name], [taken]))
    model.graph.node.append(onnx.helper.make_node("Neg", [served.name], ["last"]))
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = ["inner" if name == served.name else name for name in names]
    name, served.name = served.name, taken
    model.graph.output.append(other)
    onnx.save(model, str(file))
    like = {key: value for key, value in made.model_dump().items() if key in ("dimension", "picture", "max_tokens")}
    spec = {"model": file, "checkpoint": checkpoint, **like}
    spec |= {"tokenizer": checkpoint / "tokenizer.json"} if role == "text_encoder" else {}
    with pytest.raises(ExportError, match=rf'outputs are {taken}, last; {name} is not .* as in output = "{taken}"'):
        exported_role(tmp_path / "unnamed", role, spec, 2)
    part, checks = exported_role(tmp_path / "named", role, spec | {"output": taken}, 4)
    assert part == made
    assert [check.measure for check in checks][1:] == ["smallest cosine"]
    assert all(check.passed for check in checks), checks
