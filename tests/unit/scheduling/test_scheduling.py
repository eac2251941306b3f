"""Budgets, usual costs and admission."""

import asyncio
from types import SimpleNamespace

import pytest

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling import admission as admissions
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.clients import Client, asked_by
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.scheduling.time_left import Budget


def test_a_budget_counts_down_from_when_it_was_made() -> None:
    now = 100.0
    budget = Budget(2.0, now=lambda: now)
    assert budget.total_s == 2.0
    assert budget.fits(2.0)
    now = 101.5
    assert budget.left_s == 0.5
    assert budget.fits(0.5)
    assert not budget.fits(0.6)
    now = 102.0
    assert not budget.fits(0.0)


def test_a_budget_below_nothing_is_spent() -> None:
    assert Budget(-1.0, now=lambda: 5.0).left_s == 0.0


def test_costs_follow_what_steps_take() -> None:
    costs = StepCosts()
    assert costs.usual("plan") == 0.0
    costs.took("plan", 1.0)
    assert costs.usual("plan") == 1.0
    for _ in range(40):
        costs.took("plan", 0.1)
    assert costs.usual("plan") == pytest.approx(0.1, abs=0.01)
    costs.was_cut("plan", 3.0)
    assert costs.usual("plan") == 3.0
    costs.was_cut("plan", 1.0)
    assert costs.usual("plan") == 3.0


def test_of_one_size_only_a_cost_is_taken_to_grow_with_the_size() -> None:
    costs = StepCosts()
    costs.took("rerank", 0.08, size=8)
    assert costs.usual("rerank") == costs.usual("rerank", 8) == pytest.approx(0.08)
    assert costs.usual("rerank", 20) == pytest.approx(0.2)
    assert costs.usual("rerank", 0) == 0.0


def test_sizes_that_differ_tell_what_each_costs_apart_from_what_beginning_costs() -> None:
    costs = StepCosts()
    for size in (2, 10, 4, 8, 6, 12, 3, 9):
        costs.took("rerank", 0.05 + 0.01 * size, size)
    assert costs.usual("rerank", 20) == pytest.approx(0.25, abs=0.001)
    assert costs.usual("rerank", 1) == pytest.approx(0.06, abs=0.001)


def test_a_cost_never_falls_with_the_size_and_is_never_below_nothing() -> None:
    costs = StepCosts()
    for size, seconds in ((10, 0.1), (2, 0.4), (10, 0.1), (2, 0.4)):
        costs.took("rerank", seconds, size)
    assert costs.usual("rerank", 1) == pytest.approx(costs.usual("rerank", 50))
    costs = StepCosts()
    for size in (9, 10, 9, 10):
        costs.took("rerank", 10.0 * (size - 8), size)
    assert costs.usual("rerank", 0) >= 0.0


def test_a_run_that_was_cut_takes_at_least_that_at_its_size() -> None:
    costs = StepCosts()
    costs.took("rerank", 0.1, size=10)
    costs.was_cut("rerank", 0.5, size=20)
    assert costs.usual("rerank", 20) >= 0.5
    before = costs.usual("rerank", 20)
    costs.was_cut("rerank", 0.1, size=20)
    assert costs.usual("rerank", 20) == before


def test_a_step_that_is_always_skipped_is_tried_again_in_the_end() -> None:
    costs = StepCosts()
    costs.took("read", 100.0)
    for _ in range(100):
        costs.was_skipped("read")
    assert costs.usual("read") < 0.01


class Held:
    """A turn that holds its permit until told."""

    def __init__(self, admission: Admission, address: str = "", connection: str = "") -> None:
        self.inside, self.leave = asyncio.Event(), asyncio.Event()
        with asked_by(Client(address, connection)):
            self.task = asyncio.create_task(self._run(admission))

    async def _run(self, admission: Admission) -> None:
        async with admission.admit():
            self.inside.set()
            await self.leave.wait()


async def test_an_idle_hour_does_not_change_the_retry_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(admissions, "time", SimpleNamespace(monotonic=lambda: now))
    admission = Admission(limit=1, queue=0)
    for _ in range(20):
        async with admission.admit():
            now += 0.2
        now += 3600.0
    async with admission.admit():
        with pytest.raises(Overloaded) as refused:
            admission.check_room()
    assert refused.value.retry_after_s == pytest.approx(0.2, abs=0.01)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_turns_beyond_the_limit_wait_in_order_and_beyond_the_queue_are_refused() -> None:
    admission = Admission(limit=1, queue=2)
    first, second, third = Held(admission), Held(admission), Held(admission)
    await settle()
    assert (admission.running, admission.waiting) == (1, 2)
    with pytest.raises(Overloaded) as refused:
        async with admission.admit():
            pass
    assert refused.value.retry_after_s > 0
    first.leave.set()
    await second.inside.wait()
    assert not third.inside.is_set()
    second.leave.set()
    third.leave.set()
    await asyncio.gather(first.task, second.task, third.task)
    assert (admission.running, admission.waiting) == (0, 0)


async def test_the_next_turn_is_of_the_client_that_has_fewest_running() -> None:
    admission = Admission(limit=2, queue=8)
    greedy = [Held(admission, "greedy") for _ in range(5)]
    modest = [Held(admission, "modest") for _ in range(2)]
    await settle()
    order = [*greedy[:2], modest[0], greedy[2], modest[1], greedy[3], greedy[4]]
    for number, turn in enumerate(order):
        await turn.inside.wait()
        assert not any(later.inside.is_set() for later in order[number + 2 :])
        turn.leave.set()
        await turn.task
    assert (admission.running, admission.waiting) == (0, 0)


async def test_in_a_full_queue_the_latest_of_who_has_most_gives_way_to_who_has_fewer() -> None:
    admission = Admission(limit=1, queue=2)
    greedy = [Held(admission, "greedy") for _ in range(3)]
    await settle()
    with asked_by(Client("modest")):
        admission.check_room()
    modest = Held(admission, "modest")
    await settle()
    with pytest.raises(Overloaded):
        await greedy[2].task
    assert (admission.running, admission.waiting) == (1, 2)
    with asked_by(Client("greedy")), pytest.raises(Overloaded):
        admission.check_room()
    equal = Held(admission, "modest")
    with pytest.raises(Overloaded):
        await equal.task
    for turn in (greedy[0], greedy[1], modest):
        await turn.inside.wait()
        turn.leave.set()
    await asyncio.gather(greedy[0].task, greedy[1].task, modest.task)
    assert (admission.running, admission.waiting) == (0, 0)


async def test_a_waiter_that_is_cancelled_as_it_gives_way_takes_no_permit_with_it() -> None:
    admission = Admission(limit=1, queue=1)
    first, second = Held(admission, "greedy"), Held(admission, "greedy")
    await settle()
    third = Held(admission, "modest")
    await asyncio.sleep(0)
    second.task.cancel()
    first.leave.set()
    await third.inside.wait()
    assert (admission.running, admission.waiting) == (1, 0)
    third.leave.set()
    await asyncio.gather(first.task, second.task, third.task, return_exceptions=True)
    assert admission.running == 0


async def test_a_cancelled_waiter_leaves_the_queue_and_blocks_no_other() -> None:
    admission = Admission(limit=1, queue=2)
    first, second, third = Held(admission), Held(admission), Held(admission)
    await settle()
    second.task.cancel()
    await settle()
    assert admission.waiting == 1
    first.leave.set()
    await third.inside.wait()
    third.leave.set()
    await asyncio.gather(first.task, second.task, third.task, return_exceptions=True)
    assert admission.running == 0


async def test_a_permit_handed_to_a_waiter_cancelled_in_that_moment_is_passed_on() -> None:
    admission = Admission(limit=1, queue=2)
    first, second, third = Held(admission), Held(admission), Held(admission)
    await settle()
    first.leave.set()
    for _ in range(5):
        if admission.waiting == 2:
            await asyncio.sleep(0)
    assert not second.inside.is_set()
    second.task.cancel()
    await third.inside.wait()
    third.leave.set()
    await asyncio.gather(first.task, second.task, third.task, return_exceptions=True)
    assert admission.running == 0


async def test_a_failing_turn_gives_its_permit_back() -> None:
    admission = Admission(limit=1, queue=0)
    with pytest.raises(ZeroDivisionError):
        async with admission.admit():
            raise ZeroDivisionError
    async with admission.admit():
        assert admission.running == 1


def test_admission_refuses_senseless_limits() -> None:
    with pytest.raises(ValueError, match="limit"):
        Admission(limit=0, queue=1)


async def test_whoever_waits_until_nothing_runs_is_not_woken_into_a_turn() -> None:
    admission = Admission(1, 4)
    async with admission.admit():
        waiting = asyncio.create_task(admission.idle())
        await asyncio.sleep(0)
    async with admission.admit():  # in the moment in which the other has left
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
