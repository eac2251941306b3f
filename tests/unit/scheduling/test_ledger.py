"""Which bytes went where: every byte is reported once, whichever code handed it over and on whatever thread."""

import asyncio
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.turn.outbox import followed
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.roles.shared.wordgate import WordGate
from quizglass_server.scheduling.ledger import ByteLedger, entered_in, handed
from quizglass_server.scheduling.time_left import Budget
from tests.support.turn_fakes import World, turn


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 99)), max_size=20))
def test_what_was_done_ahead_is_told_once_by_the_first_that_asks(handed_over):
    """Questions about frames: who is handed how much, for which frame, 0 being that of a question itself."""
    frames = [ByteLedger(), ByteLedger(), ByteLedger()]
    first, second = ByteLedger(), ByteLedger()
    for question in (first, second):
        for frame in frames:
            question.include(frame)
    for to, frame, size in handed_over:
        frames[frame].add(to, size)
    told = first.settle()
    assert +Counter(told) == +sum((Counter({to: size}) for to, _, size in handed_over), Counter())
    assert not +Counter(second.settle())


def test_nothing_is_counted_without_a_ledger():
    handed("reader", 7)
    ledger = ByteLedger()
    with entered_in(ledger):
        handed("reader", 5)
    handed("reader", 3)
    assert ledger.settle() == {"reader": 5}


def test_entries_say_what_is_kept_how_long_and_where():
    ledger = ByteLedger()
    for to in ("memory", "knowledge", "image_encoder", "planner", "text_encoder"):
        ledger.add(to, 10)
    ledger.add("reader", 0)
    entries = {each.to: each for each in ledger.entries(60.0, ("knowledge",))}
    assert list(entries) == ["image_encoder", "knowledge", "memory", "planner", "text_encoder"]
    assert (entries["memory"].kept, entries["memory"].kept_for) == ("sighting", 60.0)
    assert [each.to for each in entries.values() if each.elsewhere] == ["knowledge"]
    assert entries["knowledge"].kept == ""
    assert (entries["planner"].kept, entries["text_encoder"].kept) == ("pixels", "")


async def test_turns_that_share_a_run_are_each_told_their_part(pool):
    def run(rows):
        handed("reranker", 8 * len("".join(rows)))
        return rows

    batcher = Batcher[str, str](pool, run, len, BatchLimits(tokens=100, rows=8, padding=0.9))
    gate = pool.submit(asyncio.run_coroutine_threadsafe(asyncio.sleep(0.0), asyncio.get_running_loop()).result)
    ledgers = [ByteLedger(), ByteLedger()]

    async def ask(ledger, *rows):
        with entered_in(ledger):
            return await batcher.run(lambda: rows)

    answers = await asyncio.gather(ask(ledgers[0], "one", "two"), ask(ledgers[1], "three"))
    assert gate.done()
    assert answers == [["one", "two"], ["three"]]
    assert [each.settle() for each in ledgers] == [{"reranker": 48}, {"reranker": 40}]


async def test_an_engine_counts_the_bytes_of_its_tensors_also_on_a_thread(monkeypatch):
    gate, given_over = WordGate(), []
    inner = gate._session._session

    class Watched:
        def run(self, outputs, inputs):
            given_over.append(sum(value.nbytes for value in inputs.values()))
            return inner.run(outputs, inputs)

    monkeypatch.setattr(gate._session, "_session", Watched())
    ledger = ByteLedger()
    with entered_in(ledger):
        await asyncio.to_thread(gate.find, np.zeros((480, 640, 3), np.uint8))
    assert ledger.settle() == {"wordgate": sum(given_over)}
    assert given_over


async def test_searches_count_vectors_and_queries():
    world, ledger = World(), ByteLedger()
    with entered_in(ledger):
        await world.ask(turn(), "text")
    query, vector = "".join(world.models.query).strip().encode(), np.ones(4, np.float32)
    assert ledger.settle()["knowledge"] == len(query) + vector.nbytes


async def test_what_is_remembered_is_counted_before_the_end_is_told():
    world, ledger, seen = World(), ByteLedger(), []
    memory = SimpleNamespace(remember=seen.append)
    assistant, asked = Assistant(replace(world.resources, memory=memory)), replace(turn(), remember=True)
    with entered_in(ledger):
        async with followed(partial(assistant.run, asked, "none", Budget(60))) as events:
            told = [(event, "memory" in ledger.settle()) async for event in events]
    (each,) = seen
    texts = each.sighting.question + each.sighting.answer + "".join(each.sighting.recognised)
    assert ledger.settle()["memory"] == each.picture.pixels.nbytes + len(texts.encode())
    assert told[-1][1]
