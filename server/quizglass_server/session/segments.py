"""Cuts an answer, as it is written, into pieces that can be said or shown.

A piece is a sentence, or a part of one that is too long. Once confirmed it does not change any more.
"""

from __future__ import annotations

import re
from dataclasses import replace

from quizglass.session import Segment, SegmentState
from quizglass.values import AnswerDelta, Citation, Confirmed, Done, Provisional, TurnEvent, Verdict, Withdrawn
from quizglass_server.domain.doubts import doubt_of
from quizglass_server.session.output.plain import clean
from quizglass_server.session.output.profile import Shape

_SENTENCE = re.compile(r"[.!?…。！？]+[\"')\]”’»]*(?=\s)")
_BREAK = re.compile(r"[,;:–—](?=\s)")
_GOES_ON = ("e.g.", "i.e.", "approx.", "vs.", "Dr.", "Mr.", "Mrs.", "Prof.", "No.", "Nr.")
"""Abbreviations that end no sentence."""
_WORD = re.compile(r"\S+")


def cleaned(event: TurnEvent, *, lines: bool = False) -> TurnEvent:
    """An event of a turn whose answer can be said and shown as it is; citations keep pointing at their words.

    Args:
        event: as the turn has it.
        lines: whether line feeds are left in, for what finds marks of lists and headings by them.
    """
    if isinstance(event, AnswerDelta | Provisional):
        text = clean(event.text, lines=lines)
        return event if text == event.text else replace(event, text=text)
    if isinstance(event, Done) and clean(event.answer, lines=lines) != event.answer:
        moved = tuple(_moved(citation, event.answer) for citation in event.citations)
        return replace(event, answer=clean(event.answer, lines=lines), citations=moved)
    return event


def _moved(citation: Citation, answer: str) -> Citation:
    return replace(citation, start=len(clean(answer[: citation.start])), end=len(clean(answer[: citation.end])))


class Segmenter:
    """The segments of one turn's answer.

    Args:
        shape: how pieces are put.
        most_words: of the answer; 0: any number.
    """

    def __init__(self, shape: Shape, most_words: int = 0) -> None:
        self._shape = shape
        self._longest = shape.longest
        self._most_words = most_words
        self._rest = ""
        self._written = ""
        """What the confirmed segments were made of, with what was left out of them."""
        self._left_out = ""
        self._words = 0
        self._full = False
        """Whether there is no room for more words."""
        self._drafts: list[Segment] = []
        self._count = 0
        self._doubt = ""
        """What is said after the answer of how far it can be relied on."""
        self._whole = False
        """Whether the confirmed segments are the whole answer."""
        self.confirmed: list[Segment] = []
        """Segments that do not change any more, in order."""

    def lead_in(self, text: str) -> tuple[Segment, ...]:
        """The segment that is said before there is an answer; none where some of it is there."""
        if self._count:
            return ()
        shaped = self._shape.segments(self._shape.text(text))
        segments = tuple(
            Segment(at, SegmentState.CONFIRMED, said, lines, lead_in=True) for at, (said, lines) in enumerate(shaped)
        )
        self._count = len(segments)
        self.confirmed += segments
        return segments

    def take(self, event: TurnEvent) -> tuple[Segment, ...]:
        """The segments that are new or changed by an event, which is already `cleaned`."""
        match event:
            case AnswerDelta(text=text):
                self._rest += text if self._rest or self._written else text.lstrip()
                # The answer comes while it is not yet said whether a draft of it holds.
                return () if self._drafts else self._confirm(self._complete())
            case Provisional(text=text):
                self._drafts = self._shaped(SegmentState.DRAFT, self._pieces(text.strip()))
                return tuple(self._drafts)
            case Confirmed():
                self._rest, self._whole = "", True
                return self._settle(SegmentState.CONFIRMED)
            case Withdrawn():
                retracted = self._settle(SegmentState.RETRACTED)
                self._make_room()
                return (*retracted, *self._confirm(self._complete()))
            case Verdict():
                self._doubt = doubt_of(event)
            case Done(answer=answer):
                return (*self._end(answer), *self._doubted())
        return ()

    @property
    def unconfirmed(self) -> str:
        """What was written and is not in a confirmed segment."""
        return self._left_out + self._rest

    def _settle(self, state: SegmentState) -> tuple[Segment, ...]:
        drafts, self._drafts = self._drafts, []
        if state is SegmentState.CONFIRMED:
            self.confirmed += [replace(each, state=state) for each in drafts]
        return tuple(replace(each, state=state, text="", lines=()) for each in drafts)

    def _end(self, answer: str) -> tuple[Segment, ...]:
        """The rest of the answer; all of it where the final answer is another one than was written."""
        said = self._written
        self._rest = ""
        if self._whole or said.strip() == answer:
            return ()
        if answer.startswith(said):
            return self._confirm(self._pieces(answer[len(said) :]))
        self._make_room()  # it is another answer, whatever was said before
        return self._confirm(self._pieces(f" {answer}"))

    def _doubted(self) -> tuple[Segment, ...]:
        """The segment that says that the answer is doubtful, however many words that had room for."""
        if not self._doubt:
            return ()
        shaped = self._shape.segments(self._shape.text(f" {self._doubt}"))
        segments = tuple(
            Segment(self._count + at, SegmentState.CONFIRMED, said, lines, doubt=True)
            for at, (said, lines) in enumerate(shaped)
        )
        self._count += len(segments)
        self.confirmed += segments
        return segments

    def _make_room(self) -> None:
        self._words, self._full, self._left_out = 0, False, ""

    def _confirm(self, texts: list[str]) -> tuple[Segment, ...]:
        self._written += "".join(texts)
        segments = self._shaped(SegmentState.CONFIRMED, texts)
        self.confirmed += segments
        return tuple(segments)

    def _shaped(self, state: SegmentState, texts: list[str]) -> list[Segment]:
        """Segments made of pieces, as many as there is room for; the rest is left out."""
        segments = []
        for text in texts:
            for said, lines in self._shape.segments(self._fitting(text)):
                segments.append(Segment(self._count, state, said, lines))
                self._count += 1
        return segments

    def _fitting(self, piece: str) -> str:
        """A piece as it is said: all of it or nothing, but for a first one that is too long by itself."""
        text = self._shape.text(piece)
        words = list(_WORD.finditer(text))
        if self._full:
            self._left_out += piece
            return ""
        if not self._most_words or self._words + len(words) <= self._most_words:
            self._words += len(words)
            return text
        self._full = True
        if self._words:
            self._left_out += piece
            return ""
        end = words[self._most_words - 1].end()
        self._words, self._left_out = self._most_words, text[end:]
        return text[:end]

    def _pieces(self, text: str) -> list[str]:
        """A whole text in pieces."""
        self._rest = text
        texts, rest, self._rest = self._complete(), self._rest.rstrip(), ""
        return [*texts, rest] if rest else texts

    def _complete(self) -> list[str]:
        """The complete pieces of the text; they are removed from it."""
        texts = []
        while (end := self._next_end()) is not None:
            texts.append(self._rest[:end])
            self._rest = self._rest[end:]
        return texts

    def _next_end(self) -> int | None:
        begin = len(self._rest) - len(self._rest.lstrip())
        ends = (match.end() for match in _SENTENCE.finditer(self._rest, begin))
        end = next((end for end in ends if not self._rest[:end].endswith(_GOES_ON)), None)
        if end is not None and end <= self._longest:
            return end
        if len(self._rest) <= self._longest:
            return None
        head = self._rest[: self._longest]
        breaks = [match.end() for match in _BREAK.finditer(head, begin)]
        space = head.rfind(" ", begin)
        return breaks[-1] if breaks else space if space > begin else self._longest
