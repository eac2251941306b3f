"""Admission between tenants, then tokens, then addresses."""

import asyncio
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.clients import Client, Holdings, asked_by
from quizglass_server.scheduling.priority import Priority, current_priority, let_others_pass

ANNA, BERT = Client("192.0.2.1", "1", "anna", "a"), Client("192.0.2.1", "1", "bert", "b")


class Turn:
    """One that runs until it is ended."""

    def __init__(self, admission, client):
        self.running, self._end = asyncio.Event(), asyncio.Event()
        self.step, self.stepped = asyncio.Event(), asyncio.Event()
        self.priority = None
        with asked_by(client):
            self.task = asyncio.create_task(self._run(admission))

    async def _run(self, admission):
        async with admission.admit():
            self.priority = current_priority()
            self.running.set()
            stepping = asyncio.create_task(self._step())
            await self._end.wait()
            stepping.cancel()

    async def _step(self):
        await self.step.wait()
        await let_others_pass(60)
        self.priority = current_priority()
        self.stepped.set()

    async def end(self):
        self._end.set()
        await self.task


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_tenant_runs_all_turns_however_many_tokens_and_addresses_it_has():
    admission = Admission(8, 16, tenants=True)
    many = [Client(f"192.0.2.{number}", "1", "anna", f"token-{number}") for number in range(12)]
    turns = [Turn(admission, client) for client in many]
    await settled()
    assert admission.running == 7
    quiet = Turn(admission, BERT)
    await settled()
    assert quiet.running.is_set()
    assert quiet.priority is Priority.AHEAD
    for turn in (*turns, quiet):
        turn.task.cancel()


async def test_turns_of_a_tenant_that_has_more_wait_before_their_steps_for_those_of_one_that_has_fewer():
    admission = Admission(8, 16, tenants=True)
    loud, quiet = [Turn(admission, ANNA) for _ in range(3)], Turn(admission, BERT)
    await settled()
    for turn in (loud[0], quiet):
        turn.step.set()
    await settled()
    assert quiet.stepped.is_set()
    assert not loud[0].stepped.is_set()
    await quiet.end()
    async with asyncio.timeout(60):
        await loud[0].stepped.wait()
    assert loud[0].priority is Priority.TURN, "no other runs any more"
    for turn in loud:
        await turn.end()


async def test_they_wait_for_a_moment_and_then_go_on_behind():
    admission = Admission(8, 16, tenants=True)
    loud, quiet = [Turn(admission, ANNA) for _ in range(3)], Turn(admission, BERT)
    await settled()
    loud[0].step.set()
    async with asyncio.timeout(60):
        await loud[0].stepped.wait()
    assert loud[0].priority is Priority.BEHIND
    for turn in (*loud, quiet):
        await turn.end()


async def test_two_turns_do_not_wait_for_one():
    admission = Admission(8, 16, tenants=True)
    two, one = [Turn(admission, ANNA) for _ in range(2)], Turn(admission, BERT)
    await settled()
    two[0].step.set()
    await settled()
    assert two[0].stepped.is_set()
    assert two[0].priority is Priority.TURN
    for turn in (*two, one):
        await turn.end()


async def test_alone_on_a_server_without_tenants_addresses_share_all_turns():
    admission = Admission(8, 16)
    turns = [Turn(admission, Client(f"192.0.2.{number}", "1")) for number in range(8)]
    await settled()
    assert admission.running == 8
    for turn in turns:
        turn.task.cancel()


@pytest.mark.parametrize(
    "other", [BERT, Client("192.0.2.1", "1", "anna", "other"), Client("192.0.2.9", "1", "anna", "a")]
)
async def test_the_next_turn_is_of_the_tenant_the_token_the_address_that_has_fewest(other):
    admission = Admission(2, 8)
    turns = [Turn(admission, ANNA) for _ in range(4)]
    await settled()
    last = Turn(admission, other)
    await settled()
    assert [turn.running.is_set() for turn in (*turns, last)] == [True, True, False, False, False]
    await turns[0].end()
    await settled()
    assert [turn.running.is_set() for turn in (*turns[1:], last)] == [True, False, False, True]
    for turn in (*turns[1:], last):
        turn.task.cancel()


async def test_one_whose_tenant_has_all_it_may_does_not_hold_up_those_behind_it():
    admission = Admission(8, 8, tenants=True)
    running = [Turn(admission, ANNA) for _ in range(7)]
    await settled()
    waiting = Turn(admission, Client("192.0.2.2", "1", "anna", "b"))
    others = [Turn(admission, BERT) for _ in range(2)]
    await settled()
    assert [turn.running.is_set() for turn in (waiting, *others)] == [False, True, False]
    await running[0].end()
    await settled()
    assert [turn.running.is_set() for turn in (waiting, *others)] == [False, True, True]
    for turn in (*running[1:], waiting, *others):
        turn.task.cancel()


async def test_in_a_full_queue_the_tenant_with_most_gives_way_whatever_its_tokens():
    admission = Admission(2, 2, tenants=True)
    running = [Turn(admission, ANNA) for _ in range(2)]
    await settled()
    waiting = [Turn(admission, Client("192.0.2.7", "1", "anna", name)) for name in ("b", "c")]
    await settled()
    quiet = Turn(admission, BERT)
    await settled()
    with pytest.raises(Overloaded):
        await waiting[1].task
    await running[0].end()
    await settled()
    assert quiet.running.is_set()
    for turn in (running[1], waiting[0], quiet):
        turn.task.cancel()


async def test_a_refusal_says_nothing_of_how_many_others_there_are():
    admission = Admission(1, 0)
    running = Turn(admission, ANNA)
    await settled()
    with pytest.raises(Overloaded) as refusal, asked_by(BERT):
        admission.check_room()
    assert not any(each.isdigit() for each in refusal.value.message)
    running.task.cancel()


CLIENTS = [Client(*each) for each in product("12", "xy", ("", "anna", "bert"), ("", "t", "u"))]


@given(st.lists(st.sampled_from(CLIENTS), min_size=1, max_size=40))
def test_holdings_count_at_every_level_what_they_are_given(held):
    holdings = Holdings()
    for client in held:
        holdings.add(client)
    for client in CLIENTS:
        same = [each for each in held if each.tenant == client.tenant]
        token = [each for each in same if each.token == client.token]
        address = [each for each in token if each.address == client.address]
        counts = (len(same), len(token), len(address), held.count(client))
        assert holdings.of(client) == counts
        assert holdings.of_tenant(client.tenant) == counts[0]
        assert holdings.of_share(client) == counts[2]
    assert sorted(holdings.clients(), key=str) == sorted(held, key=str)
    for client in held:
        holdings.remove(client)
    assert holdings.total == 0
    assert not holdings.by_address
    assert all(holdings.of(client) == (0, 0, 0, 0) for client in CLIENTS)


@given(st.lists(st.sampled_from(CLIENTS), max_size=40), st.sampled_from(CLIENTS), st.sampled_from(CLIENTS))
def test_who_has_more_by_two_gives_way_and_never_the_other_way_round(held, one, other):
    holdings = Holdings()
    for client in held:
        holdings.add(client)
    assert not (holdings.outweighs(one, other) and holdings.outweighs(other, one))
    assert not holdings.outweighs(one, one)
    assert holdings.lead(one, other) == -holdings.lead(other, one)
