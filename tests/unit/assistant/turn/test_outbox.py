"""Events between the task that runs a turn and the one that tells of it."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import AnswerDelta, QueryRewritten, TurnEvent
from quizglass_server.assistant.turn import outbox as outbox_module
from quizglass_server.assistant.turn.outbox import Outbox

EVENTS = st.lists(
    st.one_of(
        st.builds(AnswerDelta, st.text(max_size=3)), st.builds(QueryRewritten, st.text(max_size=3), st.booleans())
    )
)


@given(st.lists(EVENTS, max_size=5))
def test_nothing_is_lost_or_reordered_and_pieces_that_wait_together_leave_together(
    bursts: list[list[TurnEvent]],
) -> None:
    async def follow() -> list[TurnEvent]:
        outbox = Outbox()

        async def run() -> None:
            for burst in bursts:
                for event in burst:
                    outbox.put(event)
                await asyncio.sleep(0)
            outbox.close()

        task = asyncio.create_task(run())
        events = [event async for event in outbox]
        await task
        return events

    given_events = [event for burst in bursts for event in burst]
    followed = asyncio.run(follow())
    assert _spelt(followed) == _spelt(given_events)
    assert len(followed) <= len(given_events)


async def test_pieces_are_joined_only_with_their_neighbours() -> None:
    outbox = Outbox()
    for event in (AnswerDelta("a"), AnswerDelta("b"), QueryRewritten("q", False), AnswerDelta("c")):
        outbox.put(event)
    outbox.close()
    assert [event async for event in outbox] == [AnswerDelta("ab"), QueryRewritten("q", False), AnswerDelta("c")]


async def test_a_follower_that_keeps_up_gets_every_piece_by_itself() -> None:
    outbox = Outbox()
    events = aiter(outbox)
    for word in ("a", "b"):
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        outbox.put(AnswerDelta(word))
        assert await waiting == AnswerDelta(word)


def _spelt(events: list[TurnEvent]) -> list[str]:
    """The events with the answer letter by letter, so that it does not count how it was cut."""
    return [part for e in events for part in (list(e.text) if isinstance(e, AnswerDelta) else [repr(e)])]


async def test_what_a_turn_starts_after_telling_begins_before_it_is_told() -> None:
    outbox, order = Outbox(), list[str]()

    async def follow() -> None:
        async for _ in outbox:
            order.append("told")

    async def work() -> None:
        order.append("begun")

    following = asyncio.create_task(follow())
    await asyncio.sleep(0)
    outbox.put(AnswerDelta("a"))
    await asyncio.create_task(work())
    outbox.close()
    await following
    assert order == ["begun", "told"]


async def test_a_note_leaves_with_the_piece_of_the_answer_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "PATIENCE_S", 3600.0)
    outbox, note, piece = Outbox(), QueryRewritten("q", False), AnswerDelta("a")
    events = aiter(outbox)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    outbox.put(note)
    for _ in range(9):
        await asyncio.sleep(0)
    assert not waiting.done()
    outbox.put(piece)
    assert [await waiting, await anext(events)] == [note, piece]


async def test_a_note_leaves_by_itself_and_at_the_end() -> None:
    outbox, note = Outbox(), QueryRewritten("q", False)
    events = aiter(outbox)
    for _ in range(2):
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        outbox.put(note)
        assert await waiting == note
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    outbox.put(note)
    outbox.close()
    assert await waiting == note
