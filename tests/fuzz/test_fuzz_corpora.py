"""The kept inputs of every entry, and each of them changed at random, are taken or refused."""

from importlib import import_module
from pathlib import Path
from random import Random

import pytest

CORPUS = Path(__file__).parent / "corpus"
ENTRIES = sorted(folder.name for folder in CORPUS.iterdir())
CHANGES = 40


def changed(data: bytes, random: Random) -> bytes:
    """A few bytes taken out, put in, doubled or made others."""
    kept = bytearray(data)
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(kept) + 1)
        end = min(len(kept), start + random.randint(0, 9))
        kept[start:end] = random.choice(
            [b"", kept[start:end] * 3, random.randbytes(end - start), b'"', b"{", b"[", b"9"]
        )
    return bytes(kept)


@pytest.mark.parametrize("name", ENTRIES)
def test_kept_inputs_and_their_like_are_taken_or_refused(name: str) -> None:
    entry = import_module(f"tests.fuzz.{name}")
    for number, path in enumerate(sorted((CORPUS / name).iterdir())):
        data = path.read_bytes()
        entry.enter(data)
        random = Random(number)
        for _ in range(CHANGES):
            entry.enter(changed(data, random))
    getattr(entry, "close", lambda: None)()
