"""What commands print: text of bundles, checkpoints and data sets steers no terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from quizglass.text import plain


def tell(*values: object, sep: str = " ", file: TextIO | None = None, flush: bool = False) -> None:
    """Print values as `print` does, as plain text."""
    print(plain(sep.join(map(str, values))), file=file, flush=flush)


class PlainConsole(Console):
    """A console whose colours and tables are its own, and whose texts are plain."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The printed segments."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)
