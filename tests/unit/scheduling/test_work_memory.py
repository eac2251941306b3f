"""Memory under way: admitted up to a total, smallest first, and refused with a delay where the wait is in vain."""

import asyncio
import gc
import threading
from collections.abc import Callable

import pytest

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.memory import ELBOW_BYTES, Reservation, WorkMemory

TOTAL = 320
LARGE = TOTAL - TOTAL // 8
"""What is left to sizes that are not small."""


class Turn:
    """Refers to itself, as a turn that has ended does, and gives back what it held when Python finds out."""

    def __init__(self, release: Callable[[], None]) -> None:
        self.me, self.release = self, release

    def __del__(self) -> None:
        self.release()


@pytest.fixture
def work() -> WorkMemory:
    return WorkMemory(TOTAL, headroom=lambda: None)


async def test_sizes_are_held_for_the_block(work: WorkMemory) -> None:
    async with work.admit(100), work.admit(50):
        assert work.used == 150
    assert work.used == 0


async def test_what_does_not_fit_waits_until_others_have_ended(work: WorkMemory) -> None:
    first = await work.reserve(200)
    waiting = asyncio.create_task(work.reserve(200))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.release()
    second = await waiting
    assert work.used == 200
    second.release()
    second.release()
    assert work.used == 0


async def test_what_is_given_back_early_lets_others_in(work: WorkMemory) -> None:
    first = await work.reserve(200)
    waiting = asyncio.create_task(work.reserve(200))
    await asyncio.sleep(0)
    first.shrink(50)
    assert (await waiting).size == 200
    assert work.used == 250


async def test_small_sizes_do_not_wait_for_large_ones(work: WorkMemory) -> None:
    large = await work.reserve(LARGE)
    waiting = asyncio.create_task(work.reserve(LARGE))
    await asyncio.sleep(0)
    async with work.admit(10), work.admit(10):
        assert not waiting.done()
    large.release()
    (await waiting).release()


async def test_the_smallest_waiter_comes_first(work: WorkMemory) -> None:
    held = await work.reserve(LARGE)
    order: list[int] = []

    async def take(size: int) -> None:
        async with work.admit(size):
            order.append(size)

    tasks = [asyncio.create_task(take(size)) for size in (LARGE, 100, LARGE - 1)]
    await asyncio.sleep(0)
    held.release()
    await asyncio.gather(*tasks)
    assert order == [100, LARGE - 1, LARGE]


async def test_a_wait_ends_with_the_deadline(work: WorkMemory) -> None:
    async with work.admit(LARGE):
        with due_within(0.01), pytest.raises(Overloaded) as refused:
            await work.reserve(LARGE)
    assert refused.value.retry_after_s > 0
    assert work.used == 0


async def test_who_leaves_while_waiting_takes_nothing(work: WorkMemory) -> None:
    held = await work.reserve(LARGE)
    waiting = asyncio.create_task(work.reserve(LARGE))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    held.release()
    assert work.used == 0
    second = await work.reserve(LARGE)
    late = asyncio.create_task(work.reserve(LARGE))
    await asyncio.sleep(0)
    second.release()
    await asyncio.sleep(0)  # it is admitted in this moment, and cancelled in the next
    late.cancel()
    (outcome,) = await asyncio.gather(late, return_exceptions=True)
    if isinstance(outcome, Reservation):
        outcome.release()
    assert work.used == 0


@pytest.mark.parametrize("size", [LARGE + 1, TOTAL + 1])
async def test_more_than_is_ever_admitted_is_refused_without_a_wait(work: WorkMemory, size: int) -> None:
    with pytest.raises(Overloaded, match="work_memory_bytes admits") as refused:
        await work.reserve(size)
    assert refused.value.retry_after_s is None, "it would be refused again"


@pytest.mark.parametrize(("left", "admitted"), [(ELBOW_BYTES + 10, True), (ELBOW_BYTES + 9, False)])
async def test_the_systems_limit_counts_too(left: int, admitted: bool) -> None:
    work = WorkMemory(TOTAL, headroom=lambda: left)
    if admitted:
        (await work.reserve(10)).release()
        return
    with pytest.raises(Overloaded, match="memory limit"):
        await work.reserve(10)


async def test_what_is_only_kept_makes_room(work: WorkMemory) -> None:
    kept = await work.reserve(LARGE)
    asked: list[int] = []

    def reclaim(size: int) -> None:
        asked.append(size)
        kept.release()

    work.keepers.append(reclaim)
    async with work.admit(200):
        assert asked == [200]


async def test_ended_turns_hold_no_memory(work: WorkMemory) -> None:
    Turn((await work.reserve(LARGE)).release)
    with due_within(1.0):
        (await work.reserve(LARGE)).release()


async def test_who_waits_gets_what_turns_leave_that_end_meanwhile(work: WorkMemory) -> None:
    turn, kept = Turn((await work.reserve(100)).release), await work.reserve(100)
    waiting = asyncio.create_task(work.reserve(LARGE))
    await asyncio.sleep(0)
    del turn
    work.keepers.append(lambda _: kept.release())
    (await waiting).release()


async def test_it_is_given_back_from_other_threads_and_by_the_collector(work: WorkMemory) -> None:
    held = await work.reserve(LARGE)
    waiting = asyncio.create_task(work.reserve(LARGE))
    await asyncio.sleep(0)
    await asyncio.to_thread(held.release)
    (await waiting).release()

    Turn((await work.reserve(LARGE)).release)
    gc.collect()
    assert work.used == 0


class CollectedMeanwhile(WorkMemory):
    """A collector's run comes in the middle of an admission, as Python may do at any call."""

    @property
    def largest(self) -> int:
        gc.collect()
        return super().largest


def test_memory_freed_by_the_collector_during_an_admission_does_not_deadlock() -> None:
    work = CollectedMeanwhile(TOTAL, headroom=lambda: None)
    assert work._take(100)
    Turn(Reservation(work, 100).release)
    admitting = threading.Thread(target=lambda: work._take(LARGE), daemon=True)
    admitting.start()
    admitting.join(60)
    assert not admitting.is_alive()
    assert work.used == 0


async def test_what_another_thread_gives_back_before_the_first_wait_begins_is_not_missed(work: WorkMemory) -> None:
    held = await work.reserve(LARGE)
    take, refusals = work._take, iter((lambda: None, held.release))

    def taken(size: int) -> bool:
        if take(size):
            return True
        next(refusals)()  # the second comes between the last look and the wait
        return False

    work._take = taken  # type: ignore[method-assign]
    with due_within(120.0):
        (await work.reserve(LARGE)).release()


async def test_of_what_is_held_already_only_a_quarter_waits(work: WorkMemory) -> None:
    first = await work.reserve(LARGE)
    waiting = [asyncio.create_task(work.reserve(TOTAL // 8, held=True)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded) as refused:
        await work.reserve(TOTAL // 8, held=True)
    assert refused.value.retry_after_s
    other = asyncio.create_task(work.reserve(TOTAL // 8))  # nothing is held for it yet
    await asyncio.sleep(0)
    first.release()
    for each in [*waiting, other]:
        (await each).release()
    (await work.reserve(TOTAL // 8, held=True)).release()


async def test_what_is_larger_than_a_quarter_may_wait_alone(work: WorkMemory) -> None:
    first = await work.reserve(LARGE)
    waiting = asyncio.create_task(work.reserve(TOTAL // 2, held=True))
    await asyncio.sleep(0)
    first.release()
    (await waiting).release()
