"""Cuts an answer, as it is written, into pieces that can be said or shown, and keeps what must not reach a display out.

A piece is a sentence, or a part of one that is too long. Once confirmed it does not change any more.
"""

from __future__ import annotations

import re
from dataclasses import replace

from quizglass.session import Segment, SegmentState
from quizglass.values import AnswerDelta, Citation, Confirmed, Done, Provisional, TurnEvent, Withdrawn

DEFAULT_CHARS = 240
_SENTENCE = re.compile(r"[.!?…。！？]+[\"')\]”’»]*(?=\s)")
_BREAK = re.compile(r"[,;:–—](?=\s)")
_SPACES = dict.fromkeys((*range(9, 14), *range(28, 32), 0x85), " ")
"""Control characters that part words."""
_CONTROLS: dict[int, str | None] = dict.fromkeys((*range(32), *range(127, 160)))
_DIRECTIONS: dict[int, str | None] = dict.fromkeys(
    (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
)
"""Marks of writing direction (Unicode UAX #9), and the byte order mark."""
_UNWANTED = _CONTROLS | _DIRECTIONS | _SPACES


def clean(text: str) -> str:
    """The text without control characters and marks of writing direction."""
    return text.translate(_UNWANTED)


def cleaned(event: TurnEvent) -> TurnEvent:
    """An event of a turn whose answer can be said and shown as it is; citations keep pointing at their words."""
    if isinstance(event, AnswerDelta | Provisional):
        text = clean(event.text)
        return event if text == event.text else replace(event, text=text)
    if isinstance(event, Done) and clean(event.answer) != event.answer:
        moved = tuple(_moved(citation, event.answer) for citation in event.citations)
        return replace(event, answer=clean(event.answer), citations=moved)
    return event


def _moved(citation: Citation, answer: str) -> Citation:
    return replace(citation, start=len(clean(answer[: citation.start])), end=len(clean(answer[: citation.end])))


class Segmenter:
    """The segments of one turn's answer.

    Args:
        longest: code points of a segment.
    """

    def __init__(self, longest: int = DEFAULT_CHARS) -> None:
        self._longest = longest
        self._rest = ""
        self._drafts: list[Segment] = []
        self._count = 0
        self._whole = False
        """Whether the confirmed segments are the answer already."""
        self.confirmed: list[Segment] = []
        """Those that do not change any more, in order."""

    def take(self, event: TurnEvent) -> tuple[Segment, ...]:
        """The segments that an event, already `cleaned`, brings or changes."""
        match event:
            case AnswerDelta(text=text):
                self._rest += text if self._rest or self.confirmed else text.lstrip()
                # The answer comes while it is not yet said whether a draft of it holds.
                return () if self._drafts else self._confirm(self._complete())
            case Provisional(text=text):
                self._drafts = [self._segment(SegmentState.DRAFT, each) for each in self._pieces(text.strip())]
                return tuple(self._drafts)
            case Confirmed():
                self._rest, self._whole = "", True
                return self._settle(SegmentState.CONFIRMED)
            case Withdrawn():
                return (*self._settle(SegmentState.RETRACTED), *self._confirm(self._complete()))
            case Done(answer=answer):
                return self._end(answer)
        return ()

    @property
    def unconfirmed(self) -> str:
        """What was written and is in no confirmed segment."""
        return self._rest

    def _settle(self, state: SegmentState) -> tuple[Segment, ...]:
        drafts, self._drafts = self._drafts, []
        if state is SegmentState.CONFIRMED:
            self.confirmed += [replace(each, state=state) for each in drafts]
        return tuple(replace(each, state=state, text="") for each in drafts)

    def _end(self, answer: str) -> tuple[Segment, ...]:
        """What is left of the answer; all of it where it is another one than was written."""
        said = "".join(each.text for each in self.confirmed)
        self._rest = ""
        if self._whole or said.strip() == answer:
            return ()
        return self._confirm(self._pieces(answer[len(said) :] if answer.startswith(said) else f" {answer}"))

    def _confirm(self, texts: list[str]) -> tuple[Segment, ...]:
        segments = tuple(self._segment(SegmentState.CONFIRMED, text) for text in texts)
        self.confirmed += segments
        return segments

    def _segment(self, state: SegmentState, text: str) -> Segment:
        self._count += 1
        return Segment(self._count - 1, state, text)

    def _pieces(self, text: str) -> list[str]:
        """All of a text in pieces."""
        self._rest = text
        texts, rest, self._rest = self._complete(), self._rest.rstrip(), ""
        return [*texts, rest] if rest else texts

    def _complete(self) -> list[str]:
        """The pieces that are complete, taken from what is written."""
        texts = []
        while (end := self._next_end()) is not None:
            texts.append(self._rest[:end])
            self._rest = self._rest[end:]
        return texts

    def _next_end(self) -> int | None:
        begin = len(self._rest) - len(self._rest.lstrip())
        sentence = _SENTENCE.search(self._rest, begin)
        if sentence is not None and sentence.end() <= self._longest:
            return sentence.end()
        if len(self._rest) <= self._longest:
            return None
        head = self._rest[: self._longest]
        breaks = [match.end() for match in _BREAK.finditer(head, begin)]
        space = head.rfind(" ", begin)
        return breaks[-1] if breaks else space if space > begin else self._longest
