"""Gives things other names, the same throughout a group of examples: then a name can only be copied.

Asked for epochs about a few thousand things, a base learns their names by heart from their looks, and looks at what a
search brought no more.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from quizglass_bundle.inputs.prompts import Value
from quizglass_lab.pocketworld.names import core_thing_names, stray_words
from quizglass_lab.starter.data.examples import Example, Request
from quizglass_lab.starter.data.library import Library

_WORD = re.compile(r"\b[A-Z][a-z]+\b")


class Renaming:
    """Renames the things of one library that are not taught by heart."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self._own = frozenset(thing.name for thing in library.world.things if not thing.recognised)
        self._fresh = _unused(core_thing_names() | {thing.name for thing in library.world.things}, rng)

    def renamed(self, examples: Sequence[Example]) -> list[Example]:
        """The same examples about things of other names; as they are where a picture has such a name printed on it."""
        if any(self._own & set(_WORD.findall(example.request.words or "")) for example in examples):
            return list(examples)
        names: dict[str, str] = {}

        def other(found: re.Match[str]) -> str:
            name = found[0]
            return names.setdefault(name, next(self._fresh)) if name in self._own else name

        def told(text: str) -> str:
            return _WORD.sub(other, text)

        return [
            replace(example, request=_request(example.request, told), answer=told(example.answer))
            for example in examples
        ]


def _unused(taken: Set[str], rng: random.Random) -> Iterator[str]:
    return (name for name in stray_words(rng) if name not in taken)


def _request(request: Request, told: Callable[[str], str]) -> Request:
    return replace(
        request,
        question=told(request.question),
        history=tuple((told(question), told(answer)) for question, answer in request.history),
        seen=tuple(map(told, request.seen)),
        found=tuple(map(told, request.found)),
        query=None if request.query is None else told(request.query),
        values={name: _value(value, told) for name, value in request.values.items()},
    )


def _value(value: Value, told: Callable[[str], str]) -> Value:
    if value is None or isinstance(value, float | int):
        return value
    if isinstance(value, str):
        return told(value)
    return [_row(each, told) for each in value]  # type: ignore[return-value]


def _row(row: str | Mapping[str, str], told: Callable[[str], str]) -> str | Mapping[str, str]:
    return told(row) if isinstance(row, str) else {key: told(text) for key, text in row.items()}
