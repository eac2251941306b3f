"""A tiny run of every stage, stopped and gone on with, and a run from checkpoints."""

import json
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from quizglass_export.checkpoints.files import DECISIONS, ROUTER  # noqa: E402
from quizglass_lab.starter import train as training  # noqa: E402
from quizglass_lab.starter.data import store  # noqa: E402
from quizglass_lab.starter.model.checkpoints import save_base  # noqa: E402
from quizglass_lab.starter.stages import annotate, drafting, joint, mixture, search_router, vision  # noqa: E402
from quizglass_lab.starter.stages.decider import DECISIONS as ROLES  # noqa: E402
from quizglass_lab.starter.train import STAGES, train  # noqa: E402
from quizglass_lab.starter.workplace import TRAINED_BEFORE, Sizes, Workplace  # noqa: E402

SIZES = Sizes(shard=40, slots=2, free=2, joint=1, decider=1, annotated=24, held_out=1, decider_minutes=0.01)
MINUTES = {"vision": 0.005, "language": 0.005, "grounding": 0.005, "joint": 0.01, "decider": 90.0}


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    for name, count in (("BLOCK", 96), ("_UNKNOWABLE", 8), ("_OF_LOOKUPS", 12), ("_OF_CONFLICTS", 8), ("_SESSIONS", 2)):
        monkeypatch.setattr(store, name, count)
    monkeypatch.setattr(store, "asked", partial(store.asked, own=24))
    monkeypatch.setattr(mixture, "_POOL", 12)
    monkeypatch.setattr(joint, "_SCALED_BY", 24)
    monkeypatch.setattr(joint, "_MEASURED", 4)
    monkeypatch.setattr(annotate, "HELD_OUT", 12)
    monkeypatch.setattr(drafting, "_THOUGHT_TOKENS", 8)
    monkeypatch.setattr(search_router, "MOST_QUESTIONS", 8)
    monkeypatch.setattr(training, "_SCENES_ASKED", 12)


def done(folder: Path, stage: str) -> dict[str, object]:
    record = json.loads((folder / stage / "done.json").read_text())
    assert isinstance(record, dict)
    return record


def test_every_stage_runs_and_notes_what_it_took(tmp_path: Path) -> None:
    train(STAGES, MINUTES, 1, tmp_path, SIZES)
    for stage in STAGES:
        record = done(tmp_path, stage)
        assert isinstance(record["minutes"], float)
        assert isinstance(record["peak_memory_mb"], float)
        assert ("steps" in record) == (stage in MINUTES)
    assert torch.load(tmp_path / "decider" / "progress.pt")["spent"] < 60  # the sizes allow less than the budget
    measured = done(tmp_path, "joint")
    assert any(task.startswith("rewrite-wrong-hit") for task in measured)
    assert set(done(tmp_path, "decider")) >= {"plan", "act", "tool", "select", "entity", "verifier", "confusion"}
    roles = json.loads((tmp_path / "planner" / DECISIONS).read_text())
    assert roles == {role: list(labels) for role, labels in ROLES.items()}
    router = json.loads((tmp_path / "planner" / ROUTER).read_text())
    assert len(router["weights"]) == len(router["labels"]) == len(router["bias"]) == 3
    assert all(len(row) == len(router["features"]) for row in router["weights"])


def test_a_stage_that_is_done_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Workplace(tmp_path)
    work.finish("vision", {"kind": 1.0})
    monkeypatch.setattr(vision, "train_vision", lambda *_: pytest.fail("trained again"))
    train(["vision"], {}, 1, tmp_path, SIZES)


def test_minutes_are_those_of_all_sittings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(Exception):
        pass

    def stopped(*_: object) -> dict[str, float]:
        raise Stopped

    work, clock = Workplace(tmp_path), iter((0.0, 60.0, 100.0, 280.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with pytest.raises(Stopped), work.sitting("vision"):
        stopped()
    with work.sitting("vision"):
        pass
    work.finish("vision", {})
    assert done(tmp_path, "vision")["minutes"] == 4.0


def test_a_sitting_that_was_killed_counts_by_the_progress_that_it_left(tmp_path: Path) -> None:
    work = Workplace(tmp_path)
    work.stage("joint").mkdir()
    torch.save({"steps": 7, "spent": 720.0}, work.stage("joint") / "progress.pt")
    with work.sitting("joint"):
        pass
    work.finish("joint", {})
    assert (done(tmp_path, "joint")["steps"], done(tmp_path, "joint")["minutes"]) == (7, 12.0)


def test_what_checkpoints_hold_counts_as_trained(tmp_path: Path) -> None:
    made = Workplace(tmp_path / "made")
    train(["tokenizer"], {}, 1, made.root, SIZES)
    model = made.new_model()
    save_base(model, made.tokenizer(), tmp_path / "checkpoints" / "base")
    (tmp_path / "checkpoints" / "settings.json").write_text('{"version": "7"}')
    work = Workplace(tmp_path / "work", sizes=SIZES)
    first = work.worlds
    work.begin_from(tmp_path / "checkpoints")
    assert work.continued
    assert work.worlds - first == 200_000  # others than it began with, the decider's 100,000 further included
    assert all(work.finished(stage) for stage in TRAINED_BEFORE)
    assert json.loads((work.root / "settings.json").read_text()) == {"version": "7"}
    begun = torch.load(work.start, weights_only=True)
    assert all(torch.equal(tensor, begun[name]) for name, tensor in model.state_dict().items())
    (work.root / "settings.json").write_text('{"version": "8"}')
    work.begin_from(tmp_path / "checkpoints")  # gone on with: nothing is taken over again
    assert json.loads((work.root / "settings.json").read_text()) == {"version": "8"}


def test_checkpoints_without_a_base_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="base"):
        Workplace(tmp_path / "work").begin_from(tmp_path)


def test_from_checkpoints_the_joint_stage_needs_neither_vision_nor_grounding(tmp_path: Path) -> None:
    work = Workplace(tmp_path, sizes=SIZES)
    train(["tokenizer"], {}, 1, tmp_path, SIZES)
    save_base(work.new_model(), work.tokenizer(), tmp_path / "checkpoints" / "base")
    work.begin_from(tmp_path / "checkpoints")
    train(["pictures", "joint"], MINUTES, 1, tmp_path, SIZES, kept=0.25)
    assert not work.finished("grounding")
    measured = done(tmp_path, "joint")
    assert any(task.startswith("free-") for task in measured)
    assert measured["kept"] == 0.25
    # a quarter of the way that training went is what is left of it
    begun, base = (torch.load(work.start, weights_only=True), work.trained_base().state_dict())
    trained = torch.load(work.stage("joint") / "progress.pt", weights_only=True)["module"]
    moved = [name for name in base if not torch.equal(trained[name], begun[name])]
    assert moved
    for name in moved:
        torch.testing.assert_close(base[name], 0.75 * begun[name] + 0.25 * trained[name])


@pytest.mark.parametrize(
    ("kept", "said"), [(0.0, "0 is not a share"), (1.5, "1.5 is not a share"), (0.5, "no earlier weights")]
)
def test_a_share_that_cannot_be_kept_is_refused_before_training(tmp_path: Path, kept: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        train(["joint"], MINUTES, 1, tmp_path, SIZES, kept=kept)
    assert not (tmp_path / "joint").exists()


def test_a_share_is_refused_where_the_stage_that_keeps_it_is_left_out(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "start.pt")
    with pytest.raises(ValueError, match=r"interpolate: .* stage joint"):
        train(["pictures", "decider"], MINUTES, 1, tmp_path, SIZES, kept=0.5)
    assert not (tmp_path / "pictures").exists()
