"""Products of many threads in a process that has no more memory left for any."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from quizglass_bundle.inputs.products import product

LIMITED = """
import resource, threading
from pathlib import Path
import numpy as np
from quizglass_bundle.inputs.products import product, take_memory

take_memory()
threading.stack_size(1 << 18)
barrier, right = threading.Barrier(8), []
one = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 4096
wanted = product(one, one)

def multiply():
    barrier.wait()
    right.extend(np.array_equal(product(one, one), wanted) for _ in range(50))

threads = [threading.Thread(target=multiply) for _ in range(7)]
for thread in threads:
    thread.start()
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + (4 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
multiply()
for thread in threads:
    thread.join()
print(len(right), all(right))
"""


def test_threads_that_multiply_at_once_need_no_more_memory_than_one() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.split(), done.stderr) == (["400", "True"], "")


def test_a_product_is_numpys() -> None:
    one, other = np.random.default_rng(0).random((2, 5, 5), np.float32)
    out = np.empty((5, 5), np.float32)
    assert product(one, other, out=out) is out
    assert np.array_equal(out, one @ other)
