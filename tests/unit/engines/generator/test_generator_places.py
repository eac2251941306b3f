"""Who goes first at the generator, who is refused, and which slot a prompt gets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.generator.places import ServerPlaces, Slot, read_slots
from quizglass_server.engines.generator.prompt import BACKGROUND, TURN, Part, PicturePart, TextPart, Urgency
from quizglass_server.errors import BudgetExceeded, Overloaded
from quizglass_server.scheduling.clients import Client, asked_by

PROMPT = [TextPart("What is this?", trusted=True)]


def picture(number: int) -> PicturePart:
    return PicturePart(bytes([number]) * 32, 1, 1, b"rgb")


async def test_turns_go_before_guesses_those_ahead_first_and_then_the_nearest_deadline() -> None:
    places, order = ServerPlaces(1, 64), list[str]()
    now = monotonic()

    async def ask(name: str, urgency: Urgency) -> None:
        async with places.taken_by(PROMPT, urgency):
            order.append(name)

    async with places.taken_by(PROMPT, TURN):
        asked = {
            "guess": BACKGROUND,
            "turn": TURN,
            "later": Urgency(deadline=now + 900),
            "sooner": Urgency(deadline=now + 800),
            "ahead": Urgency(ahead=True),
        }
        waiting = [asyncio.create_task(ask(name, urgency)) for name, urgency in asked.items()]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == ["ahead", "sooner", "later", "turn", "guess"]


async def test_a_guess_waits_until_no_turn_is_served_though_there_is_room() -> None:
    places = ServerPlaces(4, 64)
    begun = asyncio.Event()

    async def guess() -> None:
        async with places.taken_by(PROMPT, BACKGROUND):
            begun.set()

    async with places.taken_by(PROMPT, TURN):
        guessing = asyncio.create_task(guess())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not begun.is_set()
    await guessing
    assert places.taken == 0


async def test_a_guess_for_a_turn_that_goes_ahead_waits_for_no_turn_of_others() -> None:
    places = ServerPlaces(2, 64)
    guess = Urgency(background=True, ahead=True)
    async with places.taken_by(PROMPT, TURN), asyncio.timeout(60), places.taken_by(PROMPT, guess):
        assert places.taken == 2


async def test_what_cannot_be_served_in_time_or_finds_the_queue_full_is_refused() -> None:
    places = ServerPlaces(1, 1)
    with pytest.raises(BudgetExceeded):
        async with places.taken_by(PROMPT, Urgency(deadline=monotonic() - 1)):
            pass
    async with places.taken_by(PROMPT, TURN):
        waiting = asyncio.create_task(_take(places, TURN))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="1 requests wait already") as refused:
            await _take(places, TURN)
        assert refused.value.retry_after_s is not None
        assert refused.value.retry_after_s > 0
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(Overloaded, match="no time before the deadline"):
            await _take(places, Urgency(deadline=monotonic() + 0.01))
    await _take(places, TURN)
    assert places.taken == 0


async def _take(places: ServerPlaces, urgency: Urgency) -> None:
    async with places.taken_by(PROMPT, urgency):
        pass


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=24))
def test_whatever_comes_and_leaves_no_slot_is_lost_and_none_is_given_twice(
    requests: list[tuple[int, bool, bool]],
) -> None:
    async def run() -> None:
        places, using = ServerPlaces(2, 64), set[int]()

        async def ask(turns: int, background: bool) -> None:
            async with places.taken_by(PROMPT, BACKGROUND if background else TURN) as slot:
                assert slot.number not in using
                using.add(slot.number)
                try:
                    for _ in range(turns):
                        await asyncio.sleep(0)
                finally:
                    using.discard(slot.number)

        tasks = [asyncio.create_task(ask(turns, background)) for turns, background, _ in requests]
        await asyncio.sleep(0)
        for task, (_, _, leaves) in zip(tasks, requests, strict=True):
            if leaves:
                task.cancel()
        async with asyncio.timeout(30):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert places.taken == 0

    asyncio.run(run())


async def test_a_prompt_gets_the_slot_that_holds_its_beginning_and_else_the_one_unused_longest() -> None:
    places = ServerPlaces(3, 8)

    async def slot(*prompt: Part) -> int:
        async with places.taken_by(prompt, TURN) as found:
            return found.number

    template = TextPart("<user>", trusted=True)
    first = await slot(template, picture(1), TextPart("What is it?", trusted=False))
    second = await slot(template, picture(2), TextPart("What is it?", trusted=False))
    assert first != second, "a few words in common are no reason to lose a picture"
    assert await slot(template, picture(1), TextPart("Who made it?" * 50, trusted=False)) == first
    assert await slot(template, picture(2), TextPart("Who made it?", trusted=False)) == second
    third = await slot(template, picture(3), TextPart("Who made it?", trusted=False))
    assert len({first, second, third}) == 3
    assert await slot(template, picture(4)) == first, "the one that was used least recently"
    places.forget()
    assert all(not each.holds for each in places.slots)


def test_a_slot_holds_the_beginning_of_a_longer_text() -> None:
    held = Slot(0, holds=[picture(1), TextPart("What is", trusted=True)])
    longer = [picture(1), TextPart("What is this?", trusted=True)]
    other = [picture(1), TextPart("Who made it?", trusted=True)]
    assert held.shared(longer) - held.shared([picture(1)]) == len("What is")
    assert held.shared(other) - held.shared([picture(1)]) == len("Wh")


async def test_what_slots_hold_is_written_and_read_back_without_pixels() -> None:
    places = ServerPlaces(2, 8)
    prompt: Sequence[Part] = [TextPart("é", trusted=True), picture(1), TextPart("?", trusted=False)]
    async with places.taken_by(prompt, TURN) as slot:
        number = slot.number
    assert places.slots[number].shared(prompt) > 1000
    (parts, sha256) = read_slots(places.written({number: "ab"}))[number]
    assert sha256 == "ab"
    assert parts == places.slots[number].holds
    for damaged in ("", "1", "[1]", '{"a": 1}', '[[0, "ab", [1, 2, 3]]]'):
        with pytest.raises(ValueError, match=r"."):
            read_slots(damaged)


async def test_a_turn_gets_the_slot_in_which_its_picture_is_being_read_for_a_guess() -> None:
    places, prompt = ServerPlaces(2, 64), [picture(1), *PROMPT]
    async with places.taken_by([picture(1)], BACKGROUND) as reading:
        asking = asyncio.ensure_future(_taken(places, prompt))
        async with asyncio.timeout(5), places.taken_by([picture(2), *PROMPT], TURN) as other:
            assert other.number != reading.number  # which has another picture, and waits for nothing
        await asyncio.sleep(0)
        assert not asking.done()
    assert await asking == reading.number


async def test_a_turn_waits_for_no_guess_about_another_picture_or_about_words_alone() -> None:
    for begun in ([picture(1)], PROMPT):
        places = ServerPlaces(2, 64)
        async with places.taken_by(begun, BACKGROUND) as reading, asyncio.timeout(5):
            assert await _taken(places, [picture(2), *PROMPT]) != reading.number


async def _taken(places: ServerPlaces, prompt: Sequence[Part]) -> int:
    """The number of the slot that a turn gets."""
    async with places.taken_by(prompt, TURN) as slot:
        return slot.number


def _of(tenant: str) -> AbstractContextManager[None]:
    return asked_by(Client("192.0.2.1", "", tenant))


async def test_what_a_slot_holds_is_found_by_its_tenant_alone_and_read_anew_for_another() -> None:
    places = ServerPlaces(2, 8)
    prompt = [TextPart("<user>", trusted=True), picture(1), TextPart("?" * 99, trusted=False)]
    with _of("anna"):
        async with places.taken_by(prompt, TURN) as slot:
            assert slot.fresh
            slot.fresh = False  # as the client says once the request has begun
            hers = slot.number
    with _of("bert"):
        assert await _taken(places, prompt) != hers, "hers is no better for him than any other"
        async with places.taken_by(prompt, TURN) as slot:
            assert slot.number != hers
            async with places.taken_by(prompt, TURN) as other:
                assert (other.number, other.fresh) == (hers, True)
    with _of("anna"):
        async with places.taken_by(prompt, TURN) as slot:
            assert slot.fresh, "all that he left is gone for her, too"


async def test_a_request_that_never_began_leaves_its_slot_unclean() -> None:
    places = ServerPlaces(1, 8)
    with _of("anna"):
        await _taken(places, PROMPT)
    with _of("bert"):
        await _taken(places, PROMPT)  # left before llama-server has begun: hers may still be in it
        async with places.taken_by(PROMPT, TURN) as slot:
            assert slot.fresh


async def test_one_tenant_forgets_what_is_its_own() -> None:
    places = ServerPlaces(2, 8)
    for tenant in ("anna", "bert"):
        with _of(tenant):
            await _taken(places, [picture(1), *PROMPT])
    with _of("anna"):
        forgotten = places.forget()
    assert [slot.tenant for slot in forgotten] == ["anna"]
    assert [bool(slot.holds) for slot in places.slots if slot.tenant == "bert"] == [True]


async def test_alone_nothing_is_read_anew() -> None:
    places = ServerPlaces(2, 8)
    for number in range(6):
        async with places.taken_by([picture(number), *PROMPT], TURN) as slot:
            assert not slot.fresh
