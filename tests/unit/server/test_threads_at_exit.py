"""Threads in native code while the interpreter ends: one that comes back into it then would abort the process."""

import subprocess
import sys

import pytest

ENDING = """
import asyncio
import atexit
import sys
import threading

import hnswlib
import numpy as np

from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.knowledge.database.threads import Readers

vectors = np.random.default_rng(0).normal(size=(2000, 32)).astype(np.float32)
index = hnswlib.Index(space="cosine", dim=32)
index.init_index(len(vectors))
index.add_items(vectors, num_threads=1)
began, ending = threading.Event(), threading.Event()

def search(*_):
    began.set()
    while not ending.is_set():
        index.knn_query(vectors, k=50, num_threads=1)

async def read():
    asking = asyncio.create_task(Readers([None]).run(search))
    while not began.is_set():
        await asyncio.sleep(0)
    asking.cancel()

if sys.argv[1] == "readers":
    asyncio.run(read())
else:
    EnginePool(1).submit(search)
    began.wait()
atexit.register(ending.set)  # the last one registered is the first one called

class Last:
    # Goes when the interpreter is taken down, and waits then until the threads have come back.
    threads = [each for each in threading.enumerate() if each is not threading.main_thread()]

    def __del__(self):
        for thread in self.threads:
            thread.join(60)

sys.modules["last"] = Last()
"""


@pytest.mark.parametrize("whose", ["readers", "engines"])
def test_threads_that_were_not_closed_end_before_the_interpreter_does(whose: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENDING, whose], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
