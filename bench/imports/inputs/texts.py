"""Plain texts and reStructuredText: read back by their words."""

from __future__ import annotations

from pathlib import Path
from random import Random

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in

_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "cp1252", "cp437", "cp932")

_WIDE = ((b"\xff\xfe\0\0", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def draw(random: Random, folder: Path) -> Drawn:
    """A text of some paragraphs."""
    path = folder / random.choice(("note.txt", "Note.TEXT", "note.rst", "Untitled.txt", "2024-05-01.txt"))
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 4, 3, 1))[0]
    words = Words(random)
    if state == HOSTILE:
        path.write_bytes(random.choice((b"a" * 4_000_000, b"a b " * 49_000, b"\n" * 4_000_000, b"\0" * 3_000_000)))
        return Drawn(folder, state)
    end = random.choice(("\n", "\r\n", "\r")) if state != PLAIN else "\n"
    paragraphs = [
        " ".join(words.sentence() for _ in range(random.randrange(1, 30))) for _ in range(random.randrange(1, 6))
    ]
    if random.random() < 0.3:
        paragraphs.insert(0, f"{words()}\n{'=' * 9}")
    encoding = random.choice(_ENCODINGS) if state != PLAIN else "utf-8"
    raw = (end * 2).join(paragraphs).replace("\n", end).encode(encoding, "replace")
    if encoding == "utf-16-be":
        raw = b"\xfe\xff" + raw
    if state == DAMAGED:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    return Drawn(random.choice((folder, path)), state, tuple(seen(raw, path.name)), what=encoding)


def seen(raw: bytes, name: str) -> list[Seen]:
    """All of its words."""
    wide = next((name for mark, name in _WIDE if raw.startswith(mark)), "latin-1")
    return seen_in(raw.decode(wide, "replace"), [name])
