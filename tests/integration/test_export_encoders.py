"""Encoders and cross-encoders: exported as a build does it, and compared with transformers."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("optimum")

from quizglass_export.bundling.errors import ExportError
from quizglass_export.bundling.parity import Check
from quizglass_export.bundling.samples import random_samples
from quizglass_export.recipe.plan import make_plan
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import Recipe
from tests.support.tiny_checkpoints import image_model, text_model


def exported(folder: Path, role: str, checkpoint: Path, **spec: object) -> tuple[object, list[Check]]:
    """A role's manifest entry and its comparisons."""
    content = {"format": 1, "name": "n", "version": "1", "roles": {role: {"checkpoint": checkpoint, **spec}}}
    plan = make_plan(RecipeFile(Recipe.model_validate(content), folder))
    job = plan.job(role, folder / "files", "t.json", random_samples(10))
    part = plan.exporter(role).export(job, plan.spec(role)).part
    return part, plan.exporter(role).check(job, plan.spec(role), part)


@pytest.mark.parametrize("kind", ["clip", "clip_vision_model", "siglip", "siglip_vision_model"])
def test_image_encoders_equal_transformers(tmp_path: Path, kind: str) -> None:
    part, checks = exported(tmp_path, "image_encoder", image_model(tmp_path / "checkpoint", kind))
    assert part.dimension == (24 if kind.startswith("clip") else 32)
    assert all(check.passed for check in checks), checks
    assert checks[0].value > 0.99999


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "modernbert", "qwen3"])
def test_text_encoders_equal_transformers_with_each_pooling(tmp_path: Path, kind: str) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind)
    part, checks = exported(tmp_path, "text_encoder", checkpoint, max_tokens=24)
    assert part.pooling == ("last" if kind == "qwen3" else "mean")
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


@pytest.mark.parametrize(("kind", "labels"), [("bert", 1), ("bert", 3), ("xlm-roberta", 1), ("modernbert", 2)])
def test_cross_encoders_equal_transformers(tmp_path: Path, kind: str, labels: int) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind, labels)
    part, checks = exported(tmp_path, "reranker", checkpoint, max_tokens=40)
    assert (part.kind, part.logits, part.relevant) == ("cross-encoder", labels, labels - 1)
    assert all(check.passed for check in checks), checks
    assert checks[0].value < 1e-4
