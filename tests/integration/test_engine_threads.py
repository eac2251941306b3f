"""The engine beside other work: it computes with fewer threads, and says the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import process_time_ns, thread_time_ns

import numpy as np
import pytest

from quizglass_server.engines.llama.engine import Engine
from quizglass_server.engines.llama.native import NativeModel
from tests.support.engine_runs import SMALL_PIECES, picture
from tests.support.starter_engine import ASKED, ask, said_alone, starter_model


@pytest.fixture(scope="module")
def model() -> Iterator[NativeModel]:
    """The starter's, with two threads for everything."""
    made = starter_model(threads=2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def alone(model: NativeModel) -> list[list[str]]:
    """What is said with one thread, to one question at a time."""
    model.use_threads(1)
    return said_alone(model)


@pytest.mark.parametrize("counts", [[1], [2], [1, 2]])
def test_answers_are_the_same_with_any_number_of_threads(
    model: NativeModel, alone: list[list[str]], counts: list[int]
) -> None:
    engine = Engine(model, [], SMALL_PIECES)
    asked = [ask(engine, parts)[0] for parts in ASKED]
    steps = 0
    while engine.pending:
        model.use_threads(counts[steps % len(counts)])
        engine.step()
        steps += 1
    engine.close()
    assert [given.texts for given in asked] == alone


def test_threads_that_share_a_core_become_fewer(model: NativeModel, alone: list[list[str]]) -> None:
    # One core for two threads is what two cores are beside busy processes, whatever else this machine does.
    def run() -> tuple[set[int], list[list[str]]]:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # of this thread and of those that it starts
        model.use_threads(2)
        engine = Engine(model, [], SMALL_PIECES)
        counts = set()
        said = []
        for parts in ASKED:
            given, _ = ask(engine, parts)
            while engine.pending:
                engine.step()
                counts.add(engine.threads)
            said.append(given.texts)
        engine.close()
        return counts, said

    with ThreadPoolExecutor(1) as thread:
        counts, said = thread.submit(run).result()
    assert 1 in counts
    assert said == alone


def test_a_picture_can_be_encoded_without_helpers(model: NativeModel) -> None:
    shown = picture(1).rgb

    def helped(single: bool) -> tuple[float, np.ndarray]:
        """Time of other threads for each second of the calling one."""
        embedding = model.encode(shown, single=single)
        own, all_ = thread_time_ns(), process_time_ns()
        for _ in range(10):
            model.encode(shown, single=single)
        own, all_ = thread_time_ns() - own, process_time_ns() - all_
        return all_ / own - 1, embedding

    with ThreadPoolExecutor(1) as thread:
        alone, of_one = thread.submit(helped, True).result()
        together, of_two = thread.submit(helped, False).result()
    assert alone < 0.2 < together
    assert np.allclose(of_one, of_two, atol=1e-5)
