"""Several things at the same time: results in order, one error for all, and nothing that runs on or is kept."""

import asyncio
import gc
import weakref

import pytest

from quizglass_server.scheduling.at_once import at_once
from tests.support.gate import Gate


class Kept:
    """Stands for a turn's picture."""


@pytest.fixture
def no_garbage_is_looked_for():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def value(of: int, after: int = 0) -> int:
    for _ in range(after):
        await asyncio.sleep(0)
    return of


async def failing(error: BaseException) -> int:
    raise error


async def until_cancelled(ended: list[str], breaths: int = 0) -> int:
    try:
        return await asyncio.Event().wait()
    finally:
        for _ in range(breaths):  # it takes a while to end
            await asyncio.sleep(0)
        ended.append("ended")


async def test_results_are_in_the_order_of_the_work() -> None:
    assert await at_once([value(1, after=3), value(2), value(3, after=1)]) == [1, 2, 3]
    assert await at_once([]) == []


async def test_the_error_of_one_is_raised_as_it_is_when_the_others_have_ended() -> None:
    ended: list[str] = []
    error = ValueError("no")
    with pytest.raises(ValueError, match="no") as raised:
        await at_once([until_cancelled(ended, 5), failing(error), until_cancelled(ended)])
    assert (raised.value, ended) == (error, ["ended", "ended"])


async def test_one_that_is_cancelled_from_elsewhere_cancels_the_whole() -> None:
    with pytest.raises(asyncio.CancelledError):
        await at_once([value(1, after=3), failing(asyncio.CancelledError())])


async def test_cancelled_it_ends_all_of_them_first_also_when_it_is_cancelled_again() -> None:
    ended: list[str] = []
    whole = asyncio.create_task(at_once([until_cancelled(ended, 20), until_cancelled(ended, 10)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for _ in range(3):
        whole.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert ended == ["ended", "ended"]


async def test_cancelled_before_it_begins_it_leaves_no_coroutine_that_was_never_awaited(
    recwarn: pytest.WarningsRecorder,
) -> None:
    whole = asyncio.create_task(at_once([value(1), value(2)]))
    await asyncio.sleep(0)
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert [str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)] == []


@pytest.mark.usefixtures("no_garbage_is_looked_for")
@pytest.mark.parametrize("fails", [False, True])
async def test_what_the_caller_holds_is_freed_with_the_error_that_ended_it(fails: bool) -> None:
    kept: list[weakref.ref[Kept]] = []
    gate = Gate()

    async def waiting() -> int:
        await gate()
        raise ValueError("no")

    async def caller() -> None:
        held = Kept()
        kept.append(weakref.ref(held))
        await at_once([waiting(), value(1, after=1000)])

    task = asyncio.create_task(caller())
    await gate.reached.wait()
    if fails:
        gate.open.set()
    else:
        task.cancel()
    await asyncio.wait({task})
    assert task.cancelled() != fails
    assert not fails or task.exception() is not None
    del task
    assert kept[0]() is None
