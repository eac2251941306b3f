"""Notes, photographs' names and questions, as they are written in `things/*.toml`.

A thing has an `id`, a `title`, a `note`, the `picture` that is stored, and `seen`, what is asked about: another
photograph, or how the first is changed ("warp", "crop", "dim", "busy"). Without a note it is in no store; without a
picture it is a note alone, and asked about without one.

A question has a `kind`, its words `q`, and what a right answer says:

- `gold`: groups parted by "&", each of alternatives parted by "|". All groups are to be said. Without it nothing in the
  store answers, and "I don't know" is right.
- `whole`: more groups, without which an answer is incomplete: the qualifier of a fact.
- `says`: "yes" or "no", where one word answers too.
- `guess`: words of which a doubting answer ("It may be a ...") may have one, where nothing in the store answers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

THINGS = Path(__file__).with_name("things")
_FRESH = ("fresh", "fresh2", "fresh3")
"""Names of the files whose things are a split of their own."""
SPLITS = ("dev", "held", *_FRESH)
READ = SPLITS[:3]
"""What may be looked at while something is made better. The others are asked last, and not read."""
WAYS = ("warp", "crop", "dim", "busy")
"""How a photograph is changed where there is no second one."""
KINDS: Mapping[str, str] = {
    "identity": "what is it",
    "tell": "tell me about it",
    "fact": "one fact",
    "qualified": "a fact with its qualifier",
    "yesno": "yes or no",
    "who": "who, whom to call",
    "two": "two facts",
    "unsaid": "not in the note",
    "unstored": "thing in no note",
    "unpictured": "no picture",
}
Groups = tuple[tuple[str, ...], ...]
"""Of each group one alternative is to be said."""


@dataclass(frozen=True)
class Gold:
    """What a right answer says; no groups: that it is not known."""

    groups: Groups = ()
    whole: Groups = ()
    says: str = ""
    guess: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnQuestion:
    """A question about a thing."""

    id: str
    kind: str
    text: str
    gold: Gold

    @property
    def answerable(self) -> bool:
        """Whether a note says it."""
        return bool(self.gold.groups)


@dataclass(frozen=True)
class OwnThing:
    """A thing with its note and the questions about it."""

    id: str
    title: str
    note: str
    picture: str
    """Name of the photograph that is stored; empty: none."""
    seen: str
    """Name of the photograph that is asked about, or one of `WAYS`; empty: asked about without a picture."""
    questions: tuple[OwnQuestion, ...]
    split: str
    """One of `SPLITS`."""

    @property
    def stored(self) -> bool:
        """Whether there is a note."""
        return bool(self.note)

    @property
    def way(self) -> str:
        """How what is asked about differs from what is stored."""
        return self.seen if self.seen in WAYS or not self.seen else "second photograph"


@dataclass(frozen=True)
class Aside:
    """Words that are no English question to a note, with the picture of a thing."""

    id: str
    kind: str
    """language or talk."""
    about: str
    text: str
    split: str
    """One of `SPLITS`."""


def split_of(file: str, name: str) -> str:
    """Where a thing of a file belongs: by its name alone, so that one that is added changes no other's."""
    return file if file in _FRESH else SPLITS[sha256(name.encode()).digest()[0] % 2]


@cache
def all_things() -> tuple[OwnThing, ...]:
    """Every thing of every file, in one order.

    Raises:
        ValueError: a field is missing or unknown; names file and thing.
    """
    return tuple(_thing(path, each) for path in _files() for each in _tables(path, "thing"))


@cache
def all_asides() -> tuple[Aside, ...]:
    """Questions in other languages, and small talk."""
    return tuple(
        Aside(f"{path.stem}/{kind}/{number}", kind, each["about"], each["q"], split_of(path.stem, each["q"]))
        for kind in ("language", "talk")
        for path in _files()
        for number, each in enumerate(_tables(path, kind))
    )


def of_split(things: Iterable[OwnThing], split: str) -> list[OwnThing]:
    """The things of one of `SPLITS`."""
    return [thing for thing in things if thing.split == split]


def digest() -> str:
    """Names what is written in the files."""
    return sha256(b"".join(path.read_bytes() for path in _files())).hexdigest()[:12]


def groups(text: str) -> Groups:
    """Groups as a question writes them: "a | b & c" is (a or b) and c."""
    return tuple(alternatives(group) for group in text.split("&") if group.strip())


def alternatives(text: str) -> tuple[str, ...]:
    """One group's."""
    return tuple(each.strip() for each in text.split("|") if each.strip())


def _files() -> Sequence[Path]:
    return sorted(THINGS.glob("*.toml"))


def _tables(path: Path, name: str) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get(name, [])
    return tables


def _thing(path: Path, table: dict[str, Any]) -> OwnThing:
    name, file = table.get("id", "?"), path.name
    if surplus := set(table) - {"id", "title", "note", "picture", "seen", "ask"}:
        raise ValueError(f"{file}: {name}: unknown field {sorted(surplus)[0]!r}")
    picture = table.get("picture", "")
    questions = tuple(_question(f"{file}: {name}", number, each) for number, each in enumerate(table["ask"]))
    asked = tuple(OwnQuestion(f"{name}/{number}", *each) for number, each in enumerate(questions))
    return OwnThing(
        name,
        table.get("title", ""),
        table.get("note", "").strip(),
        picture,
        table.get("seen", "warp" if picture else ""),
        asked,
        split_of(path.stem, name),
    )


def _question(where: str, number: int, table: dict[str, Any]) -> tuple[str, str, Gold]:
    if surplus := set(table) - {"kind", "q", "gold", "whole", "says", "guess"}:
        raise ValueError(f"{where}: question {number}: unknown field {sorted(surplus)[0]!r}")
    if table["kind"] not in KINDS:
        raise ValueError(f"{where}: question {number}: no kind {table['kind']!r}; one of {', '.join(KINDS)}")
    gold = Gold(
        groups(table.get("gold", "")),
        groups(table.get("whole", "")),
        table.get("says", ""),
        alternatives(table.get("guess", "")),
    )
    return table["kind"], table["q"], gold
