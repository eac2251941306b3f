"""What stands in front of Markdown as YAML, as sentences: the keys, values and lists that programs for notes write."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quizglass.note_marks import link_words
from quizglass_server.domain.facts import fact

_KEYED = re.compile(r"(?P<key>[^:]+):(?:\s(?P<value>.*))?")
_LISTED = re.compile(r"\[(?!\[)(?P<items>.*)\]")
_ITEM = "- "
_FOLDED = frozenset((">", "|", ">-", "|-"))
"""Say that lines of text follow."""


def front_facts(lines: Iterable[str]) -> list[str]:
    """A sentence for each key that has a value; what is no YAML stays as it is written."""
    told: dict[str, list[str]] = {}
    values = list[str]()
    for line in lines:
        said = " ".join(line.split())
        keyed = _KEYED.fullmatch(said)
        if keyed is not None and not line[0].isspace() and not said.startswith(_ITEM):
            values = told.setdefault(_bare(keyed["key"]), [])
            values += _values((keyed["value"] or "").strip())
        elif said.startswith(_ITEM) or keyed is not None or not values:
            values += _values(said.removeprefix(_ITEM))
        elif said:  # a text of several lines goes on
            values[-1] = f"{values[-1]} {said}"
    return [fact(key, ", ".join(values)) for key, values in told.items() if values]


def _values(said: str) -> list[str]:
    listed = _LISTED.fullmatch(said)
    items = listed["items"].split(",") if listed is not None else [said]
    return [words for item in items if (words := link_words(_bare(item))) and words not in _FOLDED]


def _bare(item: str) -> str:
    return item.strip().strip("\"'")
