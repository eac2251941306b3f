"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of a line of names and the rows below it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def cell(text: str) -> str:
    """A text on one line, whose bars part no cells."""
    return " ".join(text.split()).replace("|", "\\|")
