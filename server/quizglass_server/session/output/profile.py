"""What an output profile may ask for, and how pieces of an answer are shaped by it."""

from __future__ import annotations

from collections.abc import Iterator

from quizglass.session import Markup, OutputProfile, Speech
from quizglass_server.domain import checks
from quizglass_server.errors import InvalidInput
from quizglass_server.session.output.pages import pages
from quizglass_server.session.output.plain import clean, without_markup
from quizglass_server.session.output.spoken import spoken

DEFAULT_CHARS = 240
LEAD_IN = "Let me look that up."
_LEAD_IN_CHARS = 80
_LEAD_IN_S = 0.1, 30.0
_RANGES = {"max_segment_chars": (20, 2000), "max_words": (5, 500), "max_lines": (1, 100), "max_columns": (8, 500)}


def check(profile: OutputProfile, field: str) -> None:
    """Refuse a profile that cannot be met.

    Raises:
        InvalidInput: a field of it is wrong; it is named below `field`.
    """
    for name, (least, most) in _RANGES.items():
        if number := getattr(profile, name):
            checks.within(number, least, most, f"{field}.{name}")
    if profile.max_lines and not profile.max_columns:
        raise InvalidInput(f"{field}.max_columns", "is missing; lines are counted on a display of so many columns")
    checks.text(profile.lead_in, f"{field}.lead_in", longest=_LEAD_IN_CHARS, required=False)
    least_s, most_s = _LEAD_IN_S
    if profile.lead_in_after and not least_s <= profile.lead_in_after <= most_s:
        least_us, most_us, us = (round(each * 1e6) for each in (least_s, most_s, profile.lead_in_after))
        raise InvalidInput(f"{field}.lead_in_after_us", f"{us} is not between {least_us} and {most_us}")


class Shape:
    """Puts pieces of an answer as a profile wants them.

    Args:
        profile: a sound one.
    """

    def __init__(self, profile: OutputProfile) -> None:
        self._profile = profile
        self.longest = profile.max_segment_chars or DEFAULT_CHARS
        """Code points of a segment."""

    def text(self, piece: str) -> str:
        """A piece as it is said or shown, with the space before it; empty when nothing is left of it."""
        said = clean(without_markup(piece) if self._profile.markup is Markup.NONE else piece)
        if self._profile.speech is Speech.ENGLISH:
            said = spoken(said)
        if not said.strip():
            return ""
        return f" {said}" if piece[:1].isspace() and not said[0].isspace() else said

    def segments(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """A shaped text in pieces that are short enough, each with its lines; none where there is no display."""
        for part in self._parts(text):
            if columns := self._profile.max_columns:
                yield from pages(part, self._profile.max_lines, columns)
            else:
                yield part, ()

    def _parts(self, text: str) -> Iterator[str]:
        """Saying a number takes more room than writing it: cut what has become too long between words."""
        while len(text) > self.longest:
            begin = len(text) - len(text.lstrip())
            space = text.rfind(" ", begin + 1, self.longest + 1)
            end = space if space > begin else self.longest
            yield text[:end]
            text = text[end:]
        if text:
            yield text
