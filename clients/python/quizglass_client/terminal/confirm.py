"""Asks before something that a person may not have meant: on a terminal; elsewhere `--yes` is the answer."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from quizglass.text import plain


def can_ask() -> bool:
    """Whether a person is there to answer: neither input nor errors are redirected."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def confirmed(question: str) -> bool:
    """Ask on the terminal; anything but yes, an end of the input too, is a no."""
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble((plain(question), "bold"), " [y/N] "), end="", soft_wrap=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        console.print()
    return answer.strip().casefold() in ("y", "yes")
