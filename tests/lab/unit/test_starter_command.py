import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from quizglass_lab import cli, starter_command
from quizglass_lab.starter import STAGES
from quizglass_lab.starter import train as training


def test_every_stage_of_the_base_model_can_be_run() -> None:
    assert tuple(training._RUN) == STAGES
    assert starter_command.STAGES[: len(STAGES)] == STAGES


@pytest.mark.parametrize("minutes", [30.0, 170.0])
@pytest.mark.parametrize(
    "stages", [starter_command.STAGES, starter_command.WHOLE_STAGES, starter_command.FURTHER_STAGES]
)
def test_budgets_leave_room_for_what_is_not_timed(minutes: float, stages: tuple[str, ...]) -> None:
    budgets = starter_command.budgets(minutes, stages)
    untimed = sum(starter_command.UNTIMED.get(stage, 0.0) for stage in stages)
    assert set(budgets) == {stage for stage in stages if stage in starter_command.SHARES}
    assert sum(budgets.values()) == pytest.approx(minutes - untimed)
    assert min(budgets.values()) > 0


def test_every_stage_has_a_share_or_takes_what_it_needs() -> None:
    assert set(starter_command.SHARES) | set(starter_command.UNTIMED) == set(starter_command.STAGES)
    assert set(starter_command.FURTHER_STAGES) <= set(starter_command.STAGES)


def test_a_whole_run_leaves_out_what_the_starter_does_not_ship() -> None:
    shipped = {path.name for path in (Path(__file__).parents[3] / "models" / "starter" / "checkpoints").iterdir()}
    assert shipped.isdisjoint(starter_command.OPTIONAL)
    assert {*starter_command.WHOLE_STAGES, *starter_command.OPTIONAL} == set(starter_command.STAGES)


def test_checkpoints_that_are_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["starter", "--from", str(tmp_path / "none"), "--workdir", str(tmp_path / "work")]) == 2
    assert f"{tmp_path / 'none' / 'base'}: no checkpoint" in capsys.readouterr().err


def test_too_little_time_is_refused_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["starter", "--minutes", "5", "--workdir", str(tmp_path / "work")]) == 2
    assert f"--minutes must be above {sum(starter_command.UNTIMED.values()):g}" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("stage", starter_command.ON_GPU)
def test_a_gpu_that_is_not_there_is_named_before_anything_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert cli.main(["starter", "--workdir", str(tmp_path), "--stages", stage, "--device", "cuda"]) == 2
    assert "device: cuda was asked for, but torch sees no GPU" in capsys.readouterr().err
    assert not (tmp_path / "image_pool").exists()


@pytest.mark.parametrize("stage", starter_command.RETRIEVAL_STAGES)
def test_a_retrieval_stage_that_is_done_keeps_its_record(tmp_path: Path, stage: str) -> None:
    done = tmp_path / stage / "done.json"
    done.parent.mkdir()
    done.write_text('{"hit": 0.9, "steps": 5}')
    least = sum(starter_command.UNTIMED.values()) + 0.01
    given = ["starter", "--workdir", str(tmp_path), "--threads", "1", "--minutes", str(least), "--stages", stage]
    assert cli.main(given) == 0
    assert json.loads(done.read_text()) == {"hit": 0.9, "steps": 5}


def test_thresholds_join_the_settings_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quizglass_lab.retrieval import evaluate, picture_search

    recalls = {name: {"recall@5": 0.9} for name in ("all", "accepted", "format 1", "format 2")}
    match = {"similarity": 9.0, "margin": 4.0, "offset": -7.0, "most": 0.8}
    images = {"accept": {"threshold": 0.5, "kept": 1.0}, "match": match, **recalls}
    monkeypatch.setattr(picture_search, "evaluate_images", lambda *place, regions: images)
    monkeypatch.setattr(evaluate, "evaluate_reranking", lambda *place: {"accept": {"threshold": 0.7}})
    given = {
        "version": "3",
        "thresholds": {"image_accept": 0.1, "coarse_accept": 0.2},
        "evidence": {"seen": 2, "kind_bonus": 0.0},
    }
    (tmp_path / "settings.json").write_text(json.dumps(given))
    measured = starter_command.write_thresholds(tmp_path)
    assert json.loads((tmp_path / "settings.json").read_text()) == {
        "version": "3",
        "thresholds": {"image_accept": 0.5, "coarse_accept": 0.2, "rerank_accept": 0.7, "support_match": match},
        "evidence": picture_search.EVIDENCE | starter_command.PLANNED | {"seen": 2, "kind_bonus": 0.0},
    }
    assert measured["rerank_accept"] == {"threshold": 0.7}
    assert measured["image_accept"] == {**images["accept"], **recalls}
