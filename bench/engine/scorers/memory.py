"""Scores eight candidates a few times in a process of its own and says how much memory that took at most.

`python -m bench.engine.scorers.memory served|full MODEL BUNDLE THREADS`; prints `{"peak_mib": ...}`, which is
beyond what the process had with its libraries loaded and no model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.engine.scorers.scoring import candidates, served_scorer

ROUNDS = 3
"""ONNX Runtime's arena reaches its peak at the second run."""


def main() -> None:
    """Score and print."""
    which, model, bundle, threads = sys.argv[1:]
    # Libraries are not what is measured: neither side is charged with those that the other lacks.
    import onnxruntime  # noqa: F401

    import quizglass_server.roles.reranker  # noqa: F401

    idle = memory_kib("VmRSS")
    if which == "served":
        _served(Path(bundle), int(threads))
    else:
        _full(Path(model), int(threads))
    print(json.dumps({"peak_mib": (memory_kib("VmHWM") - idle) / 1024}))


def _served(bundle: Path, threads: int) -> None:
    score, close, _ = served_scorer(bundle, threads)
    for round_ in range(ROUNDS):
        score(*candidates(round_))
    close()


def _full(model: Path, threads: int) -> None:
    """Logits of all positions over the whole vocabulary, as an ordinary export gives them."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(0).integers(0, 1000, (8, 256))
    for _ in range(ROUNDS):
        session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})


def memory_kib(key: str, process: int | str = "self") -> int:
    """VmRSS (now) or VmHWM (at most) of one process; `getrusage` would count the parent that it was forked from.

    Raises:
        OSError: there is no such process.
        RuntimeError: this is not Linux.
    """
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/{process}/status has no {key}; this needs Linux")


if __name__ == "__main__":
    main()
