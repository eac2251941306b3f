"""Several picture sizes of one model, each a static graph."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from tests.support.bundles.exported_bundle import exported_role
from tests.support.bundles.tiny_checkpoints import bert_tokenizer, grounding_dino, owlv2, scatter
from tests.support.bundles.tiny_qwen import qwen2_vl, write_tokenizer


def exported(folder: Path, role: str, **spec: object) -> tuple[Any, list[Check]]:
    return exported_role(folder, role, {"checkpoint": folder / "c", **spec}, 3)


@pytest.fixture
def scorer(tmp_path: Path) -> Path:
    (tmp_path / "c").mkdir()
    scatter(qwen2_vl(write_tokenizer(tmp_path / "c" / "tokenizer.json"))).save_pretrained(tmp_path / "c")
    return tmp_path


def size(width: int, height: int) -> dict[str, int]:
    return {"width": width, "height": height}


def test_a_scorer_has_a_graph_for_each_size_and_each_equals_transformers(scorer: Path) -> None:
    part, checks = exported(scorer, "planner", picture=size(112, 112), grids=[size(84, 140), size(56, 56)])
    assert [(grid.width, grid.height, grid.model, grid.tower) for grid in part.grids] == [
        (84, 140, "planner/model-84x140.onnx", "planner/tower-84x140.onnx"),
        (56, 56, "planner/model-56x56.onnx", "planner/tower-56x56.onnx"),
    ]
    files = [name for grid in (part, *part.grids) for name in (grid.model, grid.tower)]
    assert all((scorer / "files" / name).is_file() for name in files)
    assert all(check.passed for check in checks), checks
    assert [check.measure for check in checks if check.measure.startswith("equal labels")] == [
        "equal labels",
        "equal labels, 84 x 140",
        "equal labels, 56 x 56",
    ]


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        ([(84, 140), (100, 112)], r"(?s)roles\.planner\.grids\.1: .*width 100 and height 112 must be multiples of 28"),
        ([(112, 112)], r"roles\.planner\.grids\.0: 112x112 is there already"),
        ([(84, 84), (84, 84)], r"roles\.planner\.grids\.1: 84x84 is there already"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(scorer: Path, grids: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        exported(scorer, "planner", picture=size(112, 112), grids=[size(*each) for each in grids])
    assert not list(scorer.rglob("*.onnx"))


def test_grounding_dino_has_sizes_and_owlv2_has_one(tmp_path: Path) -> None:
    for name, make in (("dino", lambda _: grounding_dino()), ("owl", owlv2)):
        make(bert_tokenizer(tmp_path / name / "c")).save_pretrained(tmp_path / name / "c")
    part, checks = exported(tmp_path / "dino", "detector", picture=size(128, 128), grids=[size(160, 96)])
    assert (part.boxes, part.grids[0].model) == (8, "detector/model-160x96.onnx")
    assert all(check.passed for check in checks), checks
    assert len(checks) == 4
    with pytest.raises(ExportError, match=r"roles\.detector\.grids: OWLv2 has one size of its own"):
        exported(tmp_path / "owl", "detector", grids=[size(56, 56)])
