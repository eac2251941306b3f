"""Tells the wearer who speaks over an answer from the answer's own echo: at the first doubt the device pauses.

Then little but the wearer is left to be heard, and it takes less to be sure. For devices that do not pause it takes a
longer piece of voice in what the echo canceller leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_WINDOWS = 3
"""Windows of voice in a row that are a word, where nothing is played."""
_GUARDED_WINDOWS = 6
"""The same while an answer is played: what the echo canceller leaves comes in short pieces."""
_DOUBT_WINDOWS = 2
"""Windows of voice in a row from which the device pauses; one more after each time that it was not the wearer."""
_MOST_DOUBT_WINDOWS = 5
_LOUD_WINDOWS, _LOUD = 3, 0.65
"""How many more are a word where the echo does not explain them, and the share of the energy that is left of those."""
_SHORT_WORD = 4
"""So many of those in one pause are a word, too, in a row or not: "Stop." is over before the echo has faded, which
covers part of it. Of 300 drawn answers that played alone none had more than three."""
_DOUBTFUL = 0.1
"""Probability from which a window that the echo does not explain counts for that: soft voices and hisses begin so."""
_ECHO_WINDOWS = 10
"""Windows without a voice, a third of a second in all, after which a device that has paused plays on."""
_UNPAUSED_WINDOWS = 40
"""Windows after which it plays on without having paused: its link is slow."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What is heard beside the wearer."""

    playing: bool = False
    """Whether an answer is played, and not paused."""
    echo: bool = False
    """Whether its echo may be heard; also for a moment after it was paused."""
    left: float = 1.0
    """Share of the energy of a piece that the echo does not explain; 0 for one that is too quiet for a wearer."""


NOTHING = Beside()


class BargeIn:
    """Follows the windows of one speech until its first word.

    Args:
        pauses: whether the device pauses an answer when it is asked to.
        word: windows of voice in a row that are a word, where nothing is played.
    """

    def __init__(self, *, pauses: bool = False, word: int = WORD_WINDOWS) -> None:
        self._pauses, self._word = pauses, word
        self.pausing = False
        """Whether the device is to be quiet, as it may be the wearer."""
        self._doubt = _DOUBT_WINDOWS
        self._in_a_row = self._loud = self._alone = 0
        """Windows of voice in a row: of all, of those that are no echo, and of those beside which there was none."""
        self._doubtful = 0
        """Windows in a row that may be of the wearer."""
        self._unpaused = self._silent = 0
        self._loud_in_pause = 0
        """Windows of voice since then that are no echo, in a row or not."""

    def is_word(self, voice: bool, probability: float, beside: Beside) -> bool:
        """Whether the wearer has said a word.

        Args:
            voice: whether the next window has a voice in it.
            probability: that it has.
            beside: what can be heard in it beside the wearer.
        """
        loud = beside.left >= _LOUD
        self._in_a_row = self._in_a_row + 1 if voice else 0
        self._doubtful = self._doubtful + 1 if voice or (loud and probability >= _DOUBTFUL) else 0
        self._loud = self._loud + 1 if voice and loud else 0
        self._alone = self._alone + 1 if voice and loud and not beside.echo else 0
        if self._alone >= self._word or (not self._pauses and self._in_a_row >= _GUARDED_WINDOWS):
            return True
        if self._pauses and not self.pausing and beside.playing and self._doubtful >= self._doubt:
            self.pausing, self._unpaused, self._silent, self._loud_in_pause = True, 0, 0, int(voice and loud)
        elif self.pausing:
            self._loud_in_pause += voice and loud
            self._wait(voice, beside)
            return self._loud >= self._doubt + _LOUD_WINDOWS or self._loud_in_pause >= _SHORT_WORD
        return False

    def _wait(self, voice: bool, beside: Beside) -> None:
        self._unpaused += beside.playing
        self._silent += not voice and not beside.echo
        if self._silent >= _ECHO_WINDOWS or self._unpaused >= _UNPAUSED_WINDOWS:
            self.pausing, self._doubtful = False, 0
            self._doubt = min(self._doubt + 1, _MOST_DOUBT_WINDOWS)
