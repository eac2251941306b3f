"""Encoders and cross-encoders: exported as a build does it, and compared with transformers."""

import json
import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from safetensors.torch import save_file  # noqa: E402

from bench.export.parity import exported as exported_files  # noqa: E402
from bench.export.parity import plan_role  # noqa: E402
from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer  # noqa: E402
from quizglass_export.checks import Check  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.roles.shared.samples import random_samples  # noqa: E402
from tests.support.bundles.exported_bundle import exported_role  # noqa: E402
from tests.support.bundles.tiny_checkpoints import bert_tokenizer, blip2, convolutional, image_model, owlv2, text_model  # noqa: E402


def exported(folder: Path, role: str, checkpoint: Path, **spec: object) -> tuple[Any, list[Check]]:
    return exported_role(folder, role, {"checkpoint": checkpoint, **spec}, 10)


@pytest.mark.parametrize("kind", ["clip", "clip_vision_model", "siglip", "siglip_vision_model"])
def test_image_encoders_equal_transformers(tmp_path: Path, kind: str) -> None:
    part, checks = exported(tmp_path, "image_encoder", image_model(tmp_path / "checkpoint", kind))
    assert part.dimension == (24 if kind.startswith("clip") else 32)
    assert all(check.passed for check in checks), checks
    assert checks[0].value > 0.99999


@pytest.mark.parametrize("role", ["image_encoder", "text_encoder", "coarse_reranker"])
def test_an_encoder_that_is_wrong_for_one_alone_is_refused(tmp_path: Path, role: str) -> None:
    """A server mostly asks for one vector at a time; four samples are one batch of up to eight."""
    folder = tmp_path / "c"
    if role == "image_encoder":
        image_model(folder, "siglip")
    elif role == "text_encoder":
        text_model(folder, "bert")
    else:
        blip2(bert_tokenizer(folder)).save_pretrained(folder)
    plan = plan_role(tmp_path, role, {"checkpoint": folder}, {})
    job, part = exported_files(plan, role, random_samples(4), tmp_path / "files")
    assert all(check.passed for check in plan.exporter(role).check(job, plan.spec(role), part))
    _turned_when_alone(tmp_path / "files" / part.model)
    assert not all(check.passed for check in plan.exporter(role).check(job, plan.spec(role), part))


def test_texts_are_compared_as_the_server_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_role(tmp_path, "text_encoder", {"checkpoint": text_model(tmp_path / "c", "bert")}, {})
    job, part = exported_files(plan, "text_encoder", random_samples(4), tmp_path / "files")
    rows = TextTokenizer.rows

    def without_the_last(self: TextTokenizer, texts: Sequence[str]) -> list[TextRow]:
        return [TextRow(row.ids[:-1], row.types[:-1]) for row in rows(self, texts)]

    monkeypatch.setattr(TextTokenizer, "rows", without_the_last)
    assert not all(check.passed for check in plan.exporter("text_encoder").check(job, plan.spec("text_encoder"), part))


def _turned_when_alone(path: Path) -> None:
    """Let a graph give the opposite of its first output for a batch of one."""
    model = onnx.load(str(path))
    graph, name = model.graph, model.graph.output[0].name
    for node in graph.node:
        node.output[:] = ["right" if each == name else each for each in node.output]
        node.input[:] = ["right" if each == name else each for each in node.input]
    numbers = {"one": np.array([1], np.int64), "plus": np.array(1, np.float32), "minus": np.array(-1, np.float32)}
    graph.initializer.extend(onnx.numpy_helper.from_array(value, each) for each, value in numbers.items())
    for kind, given, out, more in (
        ("Shape", ["right"], "rows", {"start": 0, "end": 1}),
        ("Equal", ["rows", "one"], "alone", {}),
        ("Where", ["alone", "minus", "plus"], "sign", {}),
        ("Mul", ["right", "sign"], name, {}),
    ):
        graph.node.append(onnx.helper.make_node(kind, given, [out], **more))
    onnx.save(model, str(path))


@pytest.mark.parametrize(
    "kind", ["efficientnet", "resnet", "convnext", "convnextv2", "mobilenet_v1", "mobilenet_v2", "regnet"]
)
def test_convolutional_networks_give_their_pooled_features(tmp_path: Path, kind: str) -> None:
    part, checks = exported(tmp_path, "image_encoder", convolutional(tmp_path / "checkpoint", kind))
    assert (part.picture.width, part.picture.mean) == (64, (0.5, 0.4, 0.3))
    assert part.dimension >= 16
    assert all(check.passed for check in checks), checks


def test_a_ready_made_image_encoder_is_taken_in_as_it_is(tmp_path: Path) -> None:
    checkpoint = convolutional(tmp_path / "checkpoint", "resnet")
    made, _ = exported(tmp_path, "image_encoder", checkpoint)
    file = tmp_path / "theirs.onnx"
    file.write_bytes((tmp_path / "files" / made.model).read_bytes())
    spec = {"model": file, "picture": made.picture.model_dump(), "dimension": made.dimension, "checkpoint": checkpoint}
    spec["sha256"] = sha256(file.read_bytes()).hexdigest()
    part, checks = exported_role(tmp_path / "ready", "image_encoder", spec, 10)
    assert part == made
    assert (tmp_path / "ready" / "files" / part.model).read_bytes() == file.read_bytes()
    assert [check.measure for check in checks] == [
        "smallest cosine, batches beside one at a time",
        "smallest cosine",
    ]
    assert all(check.passed for check in checks), checks
    for change, message in (
        ({"dimension": 9}, r"the recipe says \[None, 9\]|vectors are \(1, 16\), not \(1, 9\)"),
        ({"sha256": "0" * 64}, r"theirs\.onnx: SHA-256 is .*, the recipe says 0000"),
        ({"model": tmp_path / "no.onnx"}, r"no\.onnx: missing or a link; roles\.image_encoder\.model must name"),
        ({"model": checkpoint / "config.json", "sha256": None}, r"config\.json: not a readable ONNX file"),
    ):
        with pytest.raises(ExportError, match=message):
            exported_role(tmp_path / "ready", "image_encoder", spec | change, 2)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "modernbert", "qwen3"])
def test_text_encoders_equal_transformers_with_each_pooling(tmp_path: Path, kind: str) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind)
    part, checks = exported(tmp_path, "text_encoder", checkpoint, max_tokens=24)
    assert part.pooling == ("last" if kind == "qwen3" else "mean")
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        *(("text_encoder", kind) for kind in ("bert", "xlm-roberta", "modernbert", "qwen3")),
        *(("reranker", kind) for kind in ("bert", "xlm-roberta", "modernbert")),
    ],
)
def test_a_checkpoint_may_have_its_tokenizer_elsewhere(tmp_path: Path, role: str, kind: str) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind, labels=int(role == "reranker"))
    shutil.move(checkpoint / "tokenizer.json", tmp_path / "theirs.json")
    for each in (*checkpoint.glob("tokenizer*"), *checkpoint.glob("vocab*")):
        each.unlink()
    _, checks = exported(tmp_path, role, checkpoint, tokenizer=tmp_path / "theirs.json", max_tokens=24)
    assert all(check.passed for check in checks), checks


def test_what_sentence_transformers_wrote_about_pooling_and_prompts_is_taken_over(tmp_path: Path) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", "bert")
    (checkpoint / "1_Pooling").mkdir()
    pooling = checkpoint / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_cls_token": True}))
    prompts = {"prompts": {"query": "Represent this: ", "document": ""}}
    (checkpoint / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    part, checks = exported(tmp_path, "text_encoder", checkpoint)
    assert (part.pooling, part.query_prefix, part.passage_prefix, part.max_tokens) == (
        "cls",
        "Represent this: ",
        "",
        64,
    )
    assert all(check.passed for check in checks), checks
    pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(ExportError, match=r"1_Pooling/config\.json: \['pooling_mode_max_tokens'\]; the"):
        exported(tmp_path, "text_encoder", checkpoint)


def sentence_files(folder: Path, **files: object) -> Path:
    """A BERT with what sentence-transformers writes beside it."""
    checkpoint = text_model(folder / "checkpoint", "bert")
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    written = {"modules": modules, "1_Pooling/config": {"pooling_mode_mean_tokens": True}, **files}
    for name, content in written.items():
        path = checkpoint / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return checkpoint


def test_the_length_that_sentence_transformers_wrote_is_taken_over(tmp_path: Path) -> None:
    checkpoint = sentence_files(tmp_path, sentence_bert_config={"max_seq_length": 17, "do_lower_case": False})
    part, checks = exported(tmp_path, "text_encoder", checkpoint)
    assert part.max_tokens == 17
    assert all(check.passed for check in checks), checks


DENSE = [{"type": "sentence_transformers.models.Transformer", "path": ""},
         {"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]  # fmt: skip
UNPROMPTED = {"pooling_mode_mean_tokens": True, "include_prompt": False}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"modules": DENSE}, r"modules\.json: the module '2_Dense' is a Dense; text encoders here have Transformer,"),
        ({"modules": {"type": "x"}}, r"modules\.json: not a list of modules with type and path"),
        ({"sentence_bert_config": {"max_seq_length": "long"}}, r"sentence_bert_config\.json: max_seq_length is 'long'"),
        (
            {"1_Pooling/config": UNPROMPTED, "config_sentence_transformers": {"prompts": {"query": "find: "}}},
            r"1_Pooling/config\.json: include_prompt is false, and the server's mean takes a prefix in",
        ),
    ],
)
def test_what_the_server_does_not_do_as_sentence_transformers_is_refused_before_the_export(
    tmp_path: Path, files: dict[str, object], message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        plan_role(tmp_path, "text_encoder", {"checkpoint": sentence_files(tmp_path, **files)}, {})


def test_a_module_that_no_file_names_is_refused_too(tmp_path: Path) -> None:
    checkpoint = sentence_files(tmp_path, **{"2_Dense/config": {"in_features": 32, "out_features": 16}})
    (checkpoint / "modules.json").unlink()
    with pytest.raises(ExportError, match=r"2_Dense: the folder of a Dense, and no modules\.json names it"):
        plan_role(tmp_path, "text_encoder", {"checkpoint": checkpoint}, {})


def test_prompts_that_are_left_out_of_the_mean_are_no_matter_without_prefixes(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "find: "}}
    checkpoint = sentence_files(tmp_path, config_sentence_transformers=prompts, **{"1_Pooling/config": UNPROMPTED})
    plan_role(tmp_path, "text_encoder", {"checkpoint": checkpoint, "query_prefix": ""}, {})


@pytest.mark.parametrize(("kind", "labels"), [("bert", 1), ("bert", 3), ("xlm-roberta", 1), ("modernbert", 2)])
def test_cross_encoders_equal_transformers(tmp_path: Path, kind: str, labels: int) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind, labels)
    part, checks = exported(tmp_path, "reranker", checkpoint, max_tokens=40)
    assert (part.kind, part.logits, part.relevant) == ("cross-encoder", labels, labels - 1)
    assert all(check.passed for check in checks), checks
    assert checks[0].value < 1e-4


def test_a_model_that_goes_wrong_at_length_alone_is_not_taken(tmp_path: Path) -> None:
    parts = {}
    for window in (480, 1000):
        folder = tmp_path / str(window)
        text_model(folder / "checkpoint", "modernbert", max_position_embeddings=600)
        config = json.loads((folder / "checkpoint" / "config.json").read_text())
        (folder / "checkpoint" / "config.json").write_text(json.dumps(config | {"local_attention": window}))
        plan = plan_role(folder, "text_encoder", {"checkpoint": "checkpoint", "max_tokens": 600}, {})
        job, part = exported_files(plan, "text_encoder", random_samples(8), folder / "files")
        parts[window] = (plan, job, part)
    plan, job, part = parts[480]
    (own,) = plan.exporter("text_encoder").check(job, plan.spec("text_encoder"), part)
    assert own.passed
    shutil.copyfile(parts[1000][1].path(part.model), job.path(part.model))
    (other,) = plan.exporter("text_encoder").check(job, plan.spec("text_encoder"), part)
    assert not other.passed


def test_a_cross_encoder_needs_no_prompt_and_takes_none(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    spec = {"checkpoint": text_model(tmp_path / "checkpoint", "bert", 1)}
    assert not plan_role(tmp_path, "reranker", spec, {}, prompts="own").prompts
    for key, value in (("prompt", "rerank"), ("labels", [["yes", " yes"], ["no", " no"]])):
        with pytest.raises(ExportError, match=rf"roles\.reranker\.{key}: a cross-encoder \(bert\) has none; leave it"):
            plan_role(tmp_path, "reranker", spec | {key: value}, {}, prompts="own")


def test_an_encoder_of_less_precision_is_judged_by_its_own_bound(tmp_path: Path) -> None:
    checkpoint = image_model(tmp_path / "checkpoint", "siglip_vision_model")
    _, checks = exported(tmp_path, "image_encoder", checkpoint, precision="fp16", accept={"cosine": 0.99})
    assert checks[0].demand == ">= 0.99"
    assert 0.99 < checks[0].value < 0.9999999
    assert checks[0].passed


WIDE = {"hidden_size": 128, "intermediate_size": 192}


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "modernbert", "qwen3"])
def test_text_encoders_in_int8_by_rows_stay_near_transformers(tmp_path: Path, kind: str) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind, **WIDE)
    _, checks = exported(tmp_path, "text_encoder", checkpoint, precision="int8-rows", max_tokens=24)
    assert checks[0].passed
    assert 0.995 < checks[0].value < 0.9999999, checks


@pytest.mark.parametrize("kind", ["clip_vision_model", "siglip"])
def test_image_encoders_in_int8_by_rows_stay_near_transformers(tmp_path: Path, kind: str) -> None:
    checkpoint = image_model(tmp_path / "checkpoint", kind, **WIDE)
    _, checks = exported(tmp_path, "image_encoder", checkpoint, precision="int8-rows")
    assert checks[0].passed
    assert 0.995 < checks[0].value < 0.9999999, checks


@pytest.mark.parametrize(("kind", "labels"), [("bert", 1), ("xlm-roberta", 1), ("modernbert", 2)])
def test_cross_encoders_in_int8_by_rows_keep_labels_and_do_not_depend_on_their_batch(
    tmp_path: Path, kind: str, labels: int
) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind, labels, **WIDE)
    _, checks = exported(tmp_path, "reranker", checkpoint, precision="int8-rows", max_tokens=40)
    assert [check.measure for check in checks][-1] == "largest change of a probability by its batch"
    assert all(check.passed for check in checks), checks
    assert checks[1].value > 0


def test_the_q_former_roles_equal_transformers(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    blip2(bert_tokenizer(folder)).save_pretrained(folder)
    part, checks = exported(tmp_path, "coarse_reranker", folder)
    assert (part.kind, part.queries, part.dimension) == ("q-former", 4, 24)
    assert all(check.passed for check in checks), checks
    with pytest.raises(ExportError, match=r"classifier\.safetensors: missing"):
        exported(tmp_path, "domain_router", folder, labels=["food", "plants", "vehicles"])
    head = {"weight": torch.randn(3, 32), "bias": torch.randn(3)}
    save_file(head, folder / "classifier.safetensors")
    part, checks = exported(tmp_path, "domain_router", folder, labels=["food", "plants", "vehicles"])
    assert part.labels == ("food", "plants", "vehicles")
    assert all(check.passed for check in checks), checks
    with pytest.raises(ExportError, match=r"classifier\.safetensors: weight has shape \[3, 32\], not \[2, 32\]"):
        exported(tmp_path, "domain_router", folder, labels=["food", "plants"])


def test_a_detector_equals_transformers(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    owlv2(bert_tokenizer(folder)).save_pretrained(folder)
    part, checks = exported(tmp_path, "detector", folder)
    assert (part.kind, part.boxes, part.picture.width) == ("owlv2", 16, 56)
    assert all(check.passed for check in checks), checks
