"""What every drawn input is made of: words that are found again wherever they went, and the damage that files take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

WORD = re.compile(r"(?<!\w)zq[a-z]{7}(?!\w)")
"""A word that is in no language, and that no parser takes apart."""
PLAIN, ODD, DAMAGED, HOSTILE = "plain", "odd", "damaged", "hostile"
"""What was done to an input: nothing, rare forms, bytes that went wrong, or something that means harm."""


@dataclass(frozen=True)
class Seen:
    """A word that a plain reader sees, and what a report that tells of its loss would name."""

    word: str
    names: frozenset[str] = frozenset()
    """Of its file, column, page."""
    line: int | None = None
    """Of its item, as refusals number them."""


@dataclass(frozen=True)
class Drawn:
    """One input."""

    path: Path
    """To import."""
    state: str
    seen: tuple[Seen, ...] = ()
    pictures: tuple[str, ...] = ()
    """Names of the files of pictures that a plain reader can decode, each of which is to be in an entry or told of."""
    what: str = ""
    """How it was drawn, for whoever looks into a loss."""


@dataclass
class Words:
    """Draws words, each once."""

    random: Random
    drawn: set[str] = field(default_factory=set)

    def __call__(self) -> str:
        """A word."""
        while (word := "zq" + "".join(self.random.choices("abdefgiklmnoprstuv", k=7))) in self.drawn:
            pass
        self.drawn.add(word)
        return word

    def sentence(self) -> str:
        """A sentence with one such word."""
        before, after = self.random.choice(_AROUND)
        return f"{before} {self()} {after}"


_AROUND = (
    ("The", "costs 45 crowns."),
    ("It was made in", "by two brothers."),
    ("Nobody knows what", "means, but it is heavy."),
    ("Ein Stück aus", "für Zürich."),
)


def words_in(text: str) -> list[str]:
    """The words that a text has, in order, each once."""
    return list(dict.fromkeys(WORD.findall(text)))


def seen_in(text: str, names: Iterable[str] = (), line: int | None = None) -> list[Seen]:
    """The words of a text that a reader sees whole."""
    return [Seen(word, frozenset(names), line) for word in words_in(text)]


def damaged(random: Random, raw: bytes) -> bytes:
    """A file as bad disks, lost connections and careless programs leave it."""
    return random.choice(_DAMAGE)(random, raw)


def _cut(random: Random, raw: bytes) -> bytes:
    return raw[: random.randrange(len(raw) + 1)]


def _flip(random: Random, raw: bytes) -> bytes:
    content = bytearray(raw)
    for _ in range(random.choice((1, 1, 3, 20))):
        if content:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(content)


def _zeros(random: Random, raw: bytes) -> bytes:
    at = random.randrange(len(raw) + 1)
    return raw[:at] + bytes(random.choice((1, 16, 512))) + raw[at + random.choice((0, 512)) :]


def _again(random: Random, raw: bytes) -> bytes:
    start, end = sorted(random.randrange(len(raw) + 1) for _ in range(2))
    return raw[:end] + raw[start:]


def _gone(random: Random, raw: bytes) -> bytes:
    start, end = sorted(random.randrange(len(raw) + 1) for _ in range(2))
    return raw[:start] + raw[end:]


def _behind(random: Random, raw: bytes) -> bytes:
    return raw + random.choice((b"\0" * 100, random.randbytes(200), b"\x1a", b"\r\n\r\n", raw[:50]))


_DAMAGE: tuple[Callable[[Random, bytes], bytes], ...] = (_cut, _flip, _flip, _zeros, _again, _gone, _behind)


def either_form(random: Random, name: str) -> str:
    """A name as one system or the other writes its accents."""
    return unicodedata.normalize(random.choice(("NFC", "NFD")), name)
