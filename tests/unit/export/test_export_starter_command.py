import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from quizglass_export import cli, starter_command
from quizglass_export.starter.train import STAGES


def test_the_command_knows_every_stage_of_the_base_models_recipe() -> None:
    assert starter_command.BASE_STAGES == STAGES


@pytest.mark.parametrize("minutes", [30.0, 170.0])
def test_budgets_leave_room_for_what_is_not_timed(minutes: float) -> None:
    found = starter_command.budgets(minutes)
    assert sum(found.values()) == pytest.approx(minutes - starter_command.UNTIMED_MINUTES)
    assert min(found.values()) > 0


def test_too_little_time_is_refused_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["starter", "--minutes", "5", "--workdir", str(tmp_path / "work")]) == 2
    assert f"--minutes must be above {starter_command.UNTIMED_MINUTES:g}" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_thresholds_join_the_settings_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quizglass_export.retrieval import evaluate, picture_search

    images = {"accept": {"threshold": 0.5, "kept": 1.0}, "all": {"recall@5": 0.9}, "accepted": {"recall@5": 0.8}}
    monkeypatch.setattr(picture_search, "evaluate_images", lambda *place: images)
    monkeypatch.setattr(evaluate, "evaluate_reranking", lambda *place: {"accept": {"threshold": 0.7}})
    given = {
        "version": "3",
        "thresholds": {"image_accept": 0.1, "coarse_accept": 0.2},
        "evidence": {"seen": 2, "kind_bonus": 0.0},
    }
    (tmp_path / "settings.json").write_text(json.dumps(given))
    starter_command.write_thresholds(tmp_path)
    assert json.loads((tmp_path / "settings.json").read_text()) == {
        "version": "3",
        "thresholds": {"image_accept": 0.5, "coarse_accept": 0.2, "rerank_accept": 0.7},
        "evidence": {"seen": 2, "kind_bonus": 0.0, "views": picture_search.EVIDENCE["views"]},
    }
    done = json.loads((tmp_path / "thresholds" / "done.json").read_text())
    assert (done["image_accept"]["kept"], done["image_accept"]["accepted"]["recall@5"]) == (1.0, 0.8)
