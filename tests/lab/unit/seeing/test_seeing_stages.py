"""The stages of seeing: seconds of each, gone on with, measured, and exported."""

import json
import random
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")
# ruff: noqa: E402

from transformers import CLIPVisionModelWithProjection

from quizglass_export.assembly.carry_out import carry_out
from quizglass_export.assembly.plan import make_plan
from quizglass_export.checkpoints.files import Checkpoints
from quizglass_export.recipe.read import read_recipe
from quizglass_lab import starter_command
from quizglass_lab.retrieval.random_checkpoints import write_random_checkpoints
from quizglass_lab.retrieval.text_encoder import load_text_encoder
from quizglass_lab.seeing import asked, coarse_reranker, detector, detector_batches, domain_router, looking, ranking
from quizglass_lab.seeing import scenes as seeing_scenes
from quizglass_lab.seeing.coarse_trainer import CoarseTrainer
from quizglass_lab.seeing.detector_shape import PhraseReader, build_detector, build_tokenizer
from quizglass_lab.seeing.phrases import vocabulary
from quizglass_lab.seeing.q_former_shape import build_q_former
from quizglass_lab.seeing.scenes import drawn_scenes

SECONDS = 1 / 60
RECIPE = """
format = 1
name = "seeing"
version = "1"
[samples]
count = 6
[roles.detector]
checkpoint = "detector"
[roles.coarse_reranker]
checkpoint = "coarse_reranker"
max_tokens = 128
[roles.domain_router]
checkpoint = "coarse_reranker"
labels = [LABELS]
"""


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("encoders")
    write_random_checkpoints(out)
    for part in ("reranker", "reranker_base"):
        (out / part).rename(out / f"unused-{part}")
    return out


@pytest.fixture(scope="module")
def trained(encoders: Path) -> Path:
    """Every stage for a second or two, measured on a handful of questions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asked, "_THINGS", 40)
        patch.setattr(asked, "_QUESTIONS", 24)
        patch.setattr(seeing_scenes, "_WORLD_THINGS", 40)
        patch.setattr(detector, "FULL", 2)
        patch.setattr(detector, "WORLD", (7001, 20, 4))
        patch.setattr(coarse_reranker, "_BATCH", 4)
        patch.setattr(coarse_reranker, "WORLD", (7001, 20, 24))
        patch.setattr(domain_router, "_BATCH", 8)
        patch.setattr(domain_router, "_MEASURED", (4_990_000, 20, 24))
        detector.train_detector(encoders, SECONDS)
        coarse_reranker.train_coarse_reranker(encoders, SECONDS)
        domain_router.train_domain_router(encoders, SECONDS)
    return encoders


@pytest.mark.parametrize(
    ("stage", "measures"),
    [
        ("detector", {"boxed", "recognised", "detect_accept"}),
        ("coarse_reranker", {"questions"}),
        ("domain_router", {"accuracy", "by domain", "commonest"}),
    ],
)
def test_a_stage_records_what_it_measured_and_what_it_took(trained: Path, stage: str, measures: set[str]) -> None:
    record = json.loads((trained / stage / "done.json").read_text())
    assert measures | {"steps", "minutes", "peak_memory_mb"} <= record.keys()
    assert record["steps"] >= 1
    assert record["minutes"] > 0
    assert record["peak_memory_mb"] > 50


def test_a_finished_stage_is_not_repeated_and_an_interrupted_one_goes_on(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = trained / "detector" / "done.json"
    before = json.loads(done.read_text())
    detector.train_detector(trained, 10 * SECONDS)
    assert json.loads(done.read_text()) == before
    monkeypatch.setattr(detector, "FULL", 2)
    monkeypatch.setattr(detector, "WORLD", (7001, 20, 4))
    done.unlink()
    detector.train_detector(trained, before["minutes"] + 2 * SECONDS)
    after = json.loads(done.read_text())
    assert after["steps"] > before["steps"]
    assert after["minutes"] > before["minutes"]


def test_trained_roles_are_exported_as_they_are(trained: Path, tmp_path: Path) -> None:
    labels = ", ".join(json.dumps(label) for label in domain_router.LABELS)
    (trained / "bundle.toml").write_text(RECIPE.replace("LABELS", labels))
    built = carry_out(make_plan(read_recipe(trained / "bundle.toml")), tmp_path / "bundle")
    assert {check.role for check in built.checks} == {"detector", "coarse_reranker", "domain_router"}
    assert all(check.passed for check in built.checks)
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    assert manifest["roles"]["detector"]["picture"]["width"] == 224


def test_the_routers_labels_are_kept_beside_its_head(trained: Path) -> None:
    config = json.loads((trained / "coarse_reranker" / "config.json").read_text())
    assert tuple(config["id2label"][str(row)] for row in range(len(domain_router.LABELS))) == domain_router.LABELS


def test_parts_that_a_directory_may_do_without_are_checked_where_it_has_them(trained: Path) -> None:
    assert Checkpoints(trained).parts()[-2:] == ("detector", "coarse_reranker")
    names = [path.name for path in Checkpoints(trained).weights("coarse_reranker")]
    assert names == ["model.safetensors", "classifier.safetensors"]


def test_thresholds_take_over_what_the_stages_measured(tmp_path: Path) -> None:
    (tmp_path / "detector").mkdir()
    (tmp_path / "detector" / "done.json").write_text('{"detect_accept": 0.2}')
    (tmp_path / "decider").mkdir()
    (tmp_path / "decider" / "done.json").write_text('{"support_accept": 0.6, "plan": 0.9}')
    (tmp_path / "settings.json").write_text('{"version": "3", "thresholds": {"detect_accept": 0.1, "p_min": 0.4}}')
    starter_command.keep_thresholds(tmp_path, {"image_accept": 0.7})
    thresholds = {"detect_accept": 0.2, "p_min": 0.4, "image_accept": 0.7, "support_accept": 0.6}
    assert json.loads((tmp_path / "settings.json").read_text()) == {"version": "3", "thresholds": thresholds}


def test_a_detector_that_was_copied_has_the_line_of_the_settings_beside_it(trained: Path, tmp_path: Path) -> None:
    assert looking.finder(tmp_path) is None
    copied = shutil.copytree(trained / "detector", tmp_path / "detector", ignore=shutil.ignore_patterns("done.json"))
    (tmp_path / "settings.json").write_text('{"thresholds": {"detect_accept": 0.2}}')
    assert looking.line_of(copied) == 0.2
    assert looking.finder(tmp_path) is not None


def test_the_detectors_loss_falls_on_the_same_pictures(encoders: Path) -> None:
    torch.manual_seed(0)
    tokenizer = build_tokenizer(vocabulary())
    encoder = CLIPVisionModelWithProjection.from_pretrained(encoders / "image_encoder")
    model = detector.DetectorTrainer(build_detector(tokenizer.get_vocab_size(), encoder))
    scenes = drawn_scenes(1, 224)
    batch = detector_batches.make_batch([next(scenes) for _ in range(2)], PhraseReader(tokenizer), random.Random(1))
    assert falls(model, lambda: model.losses(batch)[0])


def test_the_q_formers_loss_falls_on_the_same_questions(encoders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse_reranker, "_BATCH", 4)
    torch.manual_seed(0)
    images = CLIPVisionModelWithProjection.from_pretrained(encoders / "image_encoder")
    texts, tokenizer = load_text_encoder(encoders / "text_encoder")
    trainer = CoarseTrainer(build_q_former(len(tokenizer), images, texts), tokenizer)
    exam = coarse_reranker.Exam.of(4_500_001, 20, 24)
    assert falls(trainer, lambda: coarse_reranker.batch_loss(trainer, exam, random.Random(1))[0])


def test_the_gold_passage_is_counted_among_the_first(trained: Path) -> None:
    report = ranking.evaluate_coarse(trained, 7001, 12, 60)
    orders = report["gold among the first"]
    assert {"text search", "coarse", "coarse, question as asked", "coarse, no picture"} == orders.keys()
    for shares in orders.values():
        assert 0 <= shares["1"] <= shares["2"] <= shares["4"] <= 1
    assert -1 <= report["coarse_accept"] <= 1


def falls(model, loss) -> bool:
    """Whether a few steps reduce it clearly."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    first = loss().item()
    for _ in range(30):
        value = loss()
        if value.item() < 0.7 * first:
            return True
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return False
