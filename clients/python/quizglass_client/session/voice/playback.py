"""How far an answer was heard, from how long its sound was played."""

from __future__ import annotations

from dataclasses import dataclass, field

from quizglass.session import AnswerAudio, Segment


@dataclass(slots=True)
class AnswerSound:
    """The sound of one answer, as far as it came."""

    lengths: dict[int, float] = field(default_factory=dict)
    """Seconds of each segment, in the order in which they are said."""
    _whole: set[int] = field(default_factory=set)
    _texts: dict[int, str] = field(default_factory=dict)

    def written(self, segment: Segment) -> None:
        """A segment has a text."""
        if segment.text:
            self._texts[segment.index] = segment.text

    def take(self, audio: AnswerAudio) -> None:
        """More sound came."""
        seconds = len(audio.data) / (2 * audio.channels * audio.rate_hz) if audio.data else 0.0
        self.lengths[audio.segment] = self.lengths.get(audio.segment, 0.0) + seconds
        if audio.last:
            self._whole.add(audio.segment)

    @property
    def seconds(self) -> float:
        """How long all of it is, so far."""
        return sum(self.lengths.values())

    def at(self, seconds: float) -> tuple[int, int] | None:
        """Segment and code point that are said after so many seconds of the answer; None: nothing of it came.

        Within a segment, as much of its text counts as said as of its sound.
        """
        found = None
        for segment, length in self.lengths.items():
            text = self._texts.get(segment, "")
            share = min(1.0, max(0.0, seconds / length)) if length else 1.0
            if share == 1.0 and segment not in self._whole:
                share = 0.99  # there is more of it to come
            found = segment, int(share * len(text))
            seconds -= length
            if seconds < 0:
                break
        return found
