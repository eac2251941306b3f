"""What of an input arrived, what the import said of the rest, and what is lost without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.imports.drawing import Drawn, Seen, words_in
from bench.imports.running import Ran
from quizglass_client import Client, Entry

_TOLD = ("passed_over", "cut", "guessed")
_ENDS = ("nothing after it", "cannot be read further", "cannot be read:")
"""What a refusal says that stands for all that follows."""


@dataclass(frozen=True)
class Arrived:
    """What the server has after an import."""

    words: frozenset[str]
    """Of all fields."""
    found: frozenset[str]
    """Those that a search finds, or that name an entry, its kind or its attributes."""
    pictures: int


def arrived(client: Client, seen: Sequence[Seen]) -> Arrived:
    """Look at all entries, search for the words that were seen, and delete everything again."""
    entries = list(client.list_entries())
    told = {word for entry in entries for word in words_in(_told_in_passages(entry))}
    named = {word for entry in entries for word in words_in(f"{entry.title} {entry.kind} {' '.join(entry.attributes)}")}
    found = {each.word for each in seen if each.word in named or (each.word in told and _finds(client, each.word))}
    pictures = sum(len(entry.picture_sha256) for entry in entries)
    for entry in entries:
        client.delete_entry(entry.id)
    return Arrived(frozenset(told | named), frozenset(found), pictures)


def losses(drawn: Drawn, ran: Ran, has: Arrived) -> list[str]:
    """What a plain reader sees, and is neither found nor told of."""
    if ran.status == 2:
        return [] if drawn.path.name in ran.errors else [f"the message does not name {drawn.path.name}"]
    lost = [each for each in drawn.seen if each.word not in has.found]
    said = [
        f"{each.word} of {sorted(each.names)}" + (", stored and not found" if each.word in has.words else "")
        for each in lost
        if not _is_told(each, ran.report)
    ]
    told = sum(_is_named(name, ran.report) for name in drawn.pictures)
    if len(drawn.pictures) > has.pictures + told:
        said.append(f"{len(drawn.pictures)} pictures, {has.pictures} stored, {told} told of: {list(drawn.pictures)}")
    if (untrue := _untrue_status(ran)) is not None:
        said.append(untrue)
    return said


def _told_in_passages(entry: Entry) -> str:
    return " ".join((entry.text, entry.caption, *entry.attributes.values()))


def _finds(client: Client, word: str) -> bool:
    hits = client.search(word, limit=5, mode="keywords")
    return any(word in f"{hit.title} {hit.text}" for hit in hits)


def _is_told(each: Seen, report: Mapping[str, Any]) -> bool:
    for item in report.get("refused", ()):
        message = item["message"]
        if each.line is not None and (
            item["line"] == each.line or (item["line"] <= each.line and _is_the_end(message))
        ):
            return True
        if any(name in message for name in each.names):
            return True
    return any(_is_named(name, report) for name in each.names)


def _is_the_end(message: str) -> bool:
    return any(words in message for words in _ENDS)


def _is_named(name: str, report: Mapping[str, Any]) -> bool:
    return any(name in text for text in _told(report))


def _told(report: Mapping[str, Any]) -> Iterator[str]:
    """Names and messages of all entries that a report says did not arrive unchanged."""
    for item in report.get("refused", ()):
        yield item["message"]
    for kind in _TOLD:
        for note in report.get(kind, ()):
            yield f"{note['name']} {note['message']}"


def _untrue_status(ran: Ran) -> str | None:
    """What is wrong about the exit status, which says whether everything arrived as it stands."""
    if not ran.report:
        return None
    incomplete = any(ran.report.get(kind) for kind in ("refused", *_TOLD))
    return None if bool(ran.status) == incomplete else f"status {ran.status} for a report with {sorted(ran.report)}"
