"""Four imports at once of Markdown and HTML made to be dear to convert, and what the turns beside them take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

from bench.hostile.sections import Setup
from bench.hostile.stage import Victim, repeated, victim
from bench.sections import Part
from quizglass_client import AsyncClient, ClientError, Entry, NotFound

CHARACTERS = 180_000
_AT_ONCE = 4
_TIMEOUT_S = 120.0

FORMS: dict[str, tuple[str, str]] = {
    "Markdown, links that never end": ("markdown", "[[a]("),
    "Markdown, pictures that never end": ("markdown", "![a]("),
    "Markdown, quotations": ("markdown", ">a\n"),
    "Markdown, a paragraph a letter": ("markdown", "a\n\n"),
    "HTML, elements that never end": ("html", "<div>"),
    "HTML, tables in tables": ("html", "<table><tr><td>a"),
    "HTML, attributes": ("html", "<b a=1><p>x"),
    "plain text": ("", "A sentence of ordinary words. "),
}
"""Format, and what a text repeats; the last is what an import of the same size takes that means no harm."""


async def run(setup: Setup) -> Part:
    """Every form in turn against one server."""
    part = Part()
    async with victim(setup) as served:
        for name, (text_format, piece) in FORMS.items():
            setup.say(f"{_AT_ONCE} imports at once: {name}")
            sent = Imports(text_format, piece)
            found = await served.under(f"{_AT_ONCE} imports at once, {name}", sent.attack())
            await sent.clear(served.target)
            part.rows += found.rows()
            part.data[name] = found.record() | {"imports": dict(sent.became)}
    return part


class Imports:
    """Entries with one text over and over, each time a little different, so that nothing knows it already."""

    def __init__(self, text_format: str, piece: str) -> None:
        self.became: Counter[str] = Counter()
        """By what was answered."""
        self._format = text_format
        self._piece = piece

    def attack(self) -> Callable[[Victim], Awaitable[None]]:
        """So many imports at once, again and again."""
        numbers = count()

        async def attack(served: Victim) -> None:
            async with AsyncClient(served.target, timeout=_TIMEOUT_S) as client:
                await repeated(lambda: self._add(client, next(numbers)), _AT_ONCE)

        return attack

    async def clear(self, target: str) -> None:
        """Leave the store as it was."""
        async with AsyncClient(target, timeout=_TIMEOUT_S) as client:
            for number in range(_AT_ONCE):
                with suppress(NotFound):
                    await client.delete_entry(f"hostile/{number}")

    async def _add(self, client: AsyncClient, number: int) -> None:
        name = f"hostile/{number % _AT_ONCE}"
        try:
            report = await client.add_entries([Entry(name, name, text=self.text(number), text_format=self._format)])
        except ClientError as error:
            self.became[error.reason] += 1
        else:
            self.became["added" if report.added else "refused"] += 1

    def text(self, number: int) -> str:
        """One of the texts."""
        return (f"{number}\n\n" + self._piece * (CHARACTERS // len(self._piece)))[:CHARACTERS]
