"""Work that several processes share. Knows no models, so that those begin quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")


def in_processes(work: Callable[[Job], Made], jobs: Sequence[Job], workers: int) -> Iterator[Made]:
    """What `work` makes of every job, in order; in this process where there is nothing to share."""
    if workers < 2 or len(jobs) < 2:
        yield from map(work, jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:  # a fork would copy torch's threads
        yield from pool.map(work, jobs)
