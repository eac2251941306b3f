"""Budgets of training: whose time counts, and what goes on after an interruption."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from quizglass_lab.starter.loop import schedule as schedules  # noqa: E402
from quizglass_lab.starter.loop.schedule import Schedule, optimiser, resume, save_progress  # noqa: E402
from tests.support.clock import Clock  # noqa: E402


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, Clock]:
    """The thread's processor time, as `cpu`, and the time on the clock, as `cuda`."""
    made = {"cpu": Clock(), "cuda": Clock()}
    monkeypatch.setattr(schedules.time, "thread_time", made["cpu"])
    monkeypatch.setattr(schedules.time, "monotonic", made["cuda"])
    return made


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_budget_is_spent_by_the_clock_of_where_the_model_learns(clocks: dict[str, Clock], device: str) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = optimiser(model, 0.1)
    budget = Schedule(1.0, 0.1, torch.device(device), warm_up=0.05)
    other = next(clock for name, clock in clocks.items() if name != device)
    other.now += 1000.0
    assert budget.step(optimizer)
    assert (budget.spent, budget.part()) == (0.0, 0.0)
    clocks[device].now += 30.0
    assert budget.step(optimizer)
    assert budget.part() == 0.5
    clocks[device].now += 30.0
    assert not budget.step(optimizer)
    assert budget.steps == 2


def test_what_was_spent_before_an_interruption_counts(clocks: dict[str, Clock], tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = optimiser(model, 0.1)
    before = Schedule(1.0, 0.1, torch.device("cpu"), warm_up=0.05)
    clocks["cpu"].now += 45.0
    assert before.step(optimizer)
    save_progress(tmp_path, model, optimizer, before, {"loss": 0.5})
    after = Schedule(1.0, 0.1, torch.device("cpu"), warm_up=0.05)
    assert resume(tmp_path, model, optimizer, after) == {"loss": 0.5}
    assert (after.spent, after.steps) == (45.0, 1)
    clocks["cpu"].now += 15.0
    assert not after.step(optimizer)
