"""Reads the questions: lines below `[tag] name`, of which `{a|b}` stands for one of several parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

OTHER = Path(__file__).with_name("questions.txt")
ENGLISH = Path(__file__).with_name("english.txt")
UNSEEN = Path(__file__).with_name("unseen.txt")
_HEAD = re.compile(r"\[([\w ]+)\]")
_PARTS = re.compile(r"(\{[^}]*\})")


def read(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Questions by what stands in brackets above them, each once."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if head := _HEAD.match(line):
            found[head[1]] = []
        elif line and not line.startswith("#"):
            list(found.values())[-1].extend(_joined(line))
    return {name: tuple(dict.fromkeys(questions)) for name, questions in found.items()}


def _joined(line: str) -> list[str]:
    """All texts that a line stands for."""
    parts = [part[1:-1].split("|") if part.startswith("{") else [part] for part in _PARTS.split(line)]
    return ["".join(chosen) for chosen in product(*parts)]
