"""The kept inputs of every entry, and thousands drawn from them by seed, are taken or refused: a short fuzz.

`python -m tests.fuzz` looks further, for ten minutes an entry, and bounds the time of each input.
"""

from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.drawn import changed, enlarged

CORPUS = Path(__file__).parent / "corpus"
ENTRIES = sorted(folder.name for folder in CORPUS.iterdir())
DRAWN = {"chat": 40_000, "connect": 8_000, "requests": 60_000, "schemas": 8_000, "sessions": 6_000}
LARGE = {"chat": 200, "connect": 150, "requests": 1000, "schemas": 1000, "sessions": 400}
"""Inputs of each entry: together some 40 s of one core."""
LARGE_BYTES = dict.fromkeys(ENTRIES, 1 << 20) | {"sessions": 1 << 14}
"""Most bytes of an input. One for sessions is many messages, up to a third as many as it has bytes."""


@pytest.mark.parametrize("name", ENTRIES)
def test_kept_inputs_and_those_drawn_from_them_are_taken_or_refused(name: str) -> None:
    entry = import_module(f"tests.fuzz.{name}")
    kept = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    for data in kept:
        entry.enter(data)
    random = Random(name)
    for _ in range(DRAWN[name]):
        entry.enter(changed(random.choice(kept), random))
    for _ in range(LARGE[name]):
        entry.enter(enlarged(random.choice(kept), random, LARGE_BYTES[name]))
    getattr(entry, "close", lambda: None)()


def test_large_inputs_are_of_all_sizes_up_to_the_largest() -> None:
    sizes = [len(enlarged(b'{"question": "?"}', Random(seed), 1 << 20)) for seed in range(40)]
    assert max(sizes) > 1 << 19
    assert min(sizes) < 1 << 15
