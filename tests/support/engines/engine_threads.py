"""The starter's generator with two threads, in a process of its own: prints what came of it as JSON.

OpenMP's settings count only from the start of a process on, and with the usual ones two threads on a machine that is
busy with other tests take minutes.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from time import process_time_ns, thread_time_ns

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.native.model import NativeModel
from tests.support.engines.engine_runs import SMALL_PIECES, picture
from tests.support.engines.starter_engine import ASKED, ask, said_alone, starter_model

_PICTURES = 10


def main() -> None:
    """Run all of it."""
    model = starter_model(threads=2)
    model.use_threads(1)
    found: dict[str, object] = {"alone": said_alone(model)}
    for name, counts in (("one", [1]), ("two", [2]), ("in turn", [1, 2])):
        found[name] = _said(model, counts)
    with ThreadPoolExecutor(1) as thread:
        found["counts"], found["sharing"] = thread.submit(_sharing_a_core, model).result()
    with ThreadPoolExecutor(1) as thread:
        single, of_one = thread.submit(_helped, model, True).result()
        both, of_two = thread.submit(_helped, model, False).result()
    found |= {"helped": [single, both], "apart": float(np.abs(of_one - of_two).max())}
    print(json.dumps(found))


def _said(model: NativeModel, counts: list[int]) -> list[list[str]]:
    """To all questions together, with these numbers of threads in turn."""
    engine = Engine(model, [], SMALL_PIECES)
    asked = [ask(engine, parts)[0] for parts in ASKED]
    steps = 0
    while engine.pending:
        model.use_threads(counts[steps % len(counts)])
        engine.step()
        steps += 1
    engine.close()
    return [given.texts for given in asked]


def _sharing_a_core(model: NativeModel) -> tuple[list[int], list[list[str]]]:
    """To one question after the other, on one core: for two threads what two cores are beside busy processes."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # of this thread and of those that it starts
    model.use_threads(2)
    engine = Engine(model, [], SMALL_PIECES)
    counts: list[int] = []
    said: list[list[str]] = []
    for parts in ASKED:
        given, _ = ask(engine, parts)
        while engine.pending:
            engine.step()
            counts.append(engine.threads)
        said.append(given.texts)
    engine.close()
    return counts, said


def _helped(model: NativeModel, single: bool) -> tuple[float, NDArray[np.float32]]:
    """What other threads compute for each second of the one that encodes pictures, and a picture's embedding."""
    shown = picture(1).rgb
    embedding = model.encode(shown, single=single)
    own, all_ = thread_time_ns(), process_time_ns()
    for _ in range(_PICTURES):
        model.encode(shown, single=single)
    own, all_ = thread_time_ns() - own, process_time_ns() - all_
    return all_ / own - 1, embedding


if __name__ == "__main__":
    main()
