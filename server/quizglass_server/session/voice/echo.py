"""Removes an answer's own sound from the microphone's, so that it is not taken for the wearer.

A block from the microphone is explained by what the device played then (Wiener filter), with whatever delay
and room lie between, and what is left of it is heard. Devices that cancel echoes themselves leave less to do here.
"""

from __future__ import annotations

import re
from collections import deque
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from quizglass.session import Playing
from quizglass_server.decoding.resampling import Resampler, Samples, mono
from quizglass_server.domain.sound import Sound
from quizglass_server.session.output.spoken import spoken
from quizglass_server.session.voice.barge_in import Beside
from quizglass_server.session.voice.intake import HEARD

_RATE = HEARD.rate_hz
_MOST_S = 30.0
"""Seconds of answers that are remembered while a microphone is open."""
_BLOCK = 3 * _RATE // 4
"""Samples of the microphone that a filter is fitted to."""
_TAPS = 1024
"""Samples of the room's answer: 64 ms."""
_EARLY, _LATE = _RATE // 10, 2 * _RATE // 5
"""Samples by which sound is heard before or after the client says that it is played."""
_BEFORE_PEAK = 64
_FIT_EVERY = _RATE // 6
"""Samples after which the filter is fitted anew: it takes some milliseconds."""
_LEFT, _DECAY = 0.2, 0.95
"""Share of the energy of a window, or of one before it less so much for each since, that has to be left; less is what
no linear filter of that length explains, such as the room's later answer, and is silenced."""
_WINDOW = 256
_HEARD = 0.01
"""Share of the energy of the windows before a pause that a wearer who speaks in it has at least."""
_LEARNS = 3 * _RATE // 5
"""Samples of an answer's beginning of which nothing is heard: the filter has to be found first."""
_FADES = _RATE // 20
"""Samples for which a room goes on after what the filter explains."""
_OWN_SHARE = 0.75
"""Share of the words of an answer, in its order, from which what was heard is taken for it."""
_WORD = re.compile(r"[^\W_]+")
_TINY = 1e-9
_MOST_STEPS, _EXACT = 60, 1e-8
"""Of conjugate gradients."""
_JUMP_S = 0.25
"""Difference between two pieces beyond which the device has paused, or plays something else."""
_LOUD = 50.0
"""Root mean square below which nothing is played."""

Signal = NDArray[np.float64]


class PlayedSound:
    """The sound of answers that the device may be playing: the last of it, at 16,000 samples a second."""

    def __init__(self) -> None:
        self._ask_id = ""
        self._pieces: deque[Samples] = deque()
        self._first = 0
        self._count = 0
        self._rate = 0
        self._resampler: Resampler | None = None

    def add(self, ask_id: str, sound: Sound, *, keep: bool) -> None:
        """More of an answer is sent; it is counted, and kept where a microphone may hear it."""
        if ask_id != self._ask_id:
            self.forget()
            self._ask_id = ask_id
        if self._resampler is None or self._rate != sound.format.rate_hz:
            self._rate = sound.format.rate_hz
            self._resampler = Resampler(self._rate, _RATE)
        piece = self._resampler.take(mono(sound.samples, sound.format.channels))
        self._pieces.append(piece)
        self._count += len(piece)
        while self._pieces and (not keep or self._count > _MOST_S * _RATE):
            gone = len(self._pieces.popleft())
            self._first += gone
            self._count -= gone

    def forget(self) -> None:
        """Forget all of it."""
        self._pieces.clear()
        self._ask_id, self._first, self._count, self._resampler = "", 0, 0, None

    def between(self, ask_id: str, begin: int, end: int) -> Signal:
        """Its samples from one number to another; zeros where there are none."""
        found = np.zeros(max(0, end - begin))
        at = self._first
        for piece in self._pieces if ask_id == self._ask_id else ():
            low, high = max(begin, at), min(end, at + len(piece))
            if low < high:
                found[low - begin : high - begin] = piece[low - at : high - at]
            at += len(piece)
        return found


class EchoCanceller:
    """Of one speech.

    Args:
        played: what was sent to be played.
    """

    def __init__(self, played: PlayedSound) -> None:
        self._played = played
        self._ask_id = ""
        self._at = 0
        self._heard: Signal = np.zeros(0)
        self._taps: Signal = np.zeros(0)
        self._learnt = False
        """Whether they were found in enough sound."""
        self._lag = 0
        """From a sample that is heard to the newest one that was played by then, as the filter sees it."""
        self._doubtful_lag = 0
        """Another one, which was found once."""
        self._since = 0
        self._level = 0.0
        """Energy of a recent window from the microphone."""
        self._paused_at: int | None = None
        """Where the answer is paused; None: it is played."""
        self._pause = 0
        """Samples since then."""
        self._plays_from = 0
        """What was played before has been heard before a pause."""
        self._left = 1.0

    @property
    def beside(self) -> Beside:
        """What the last piece has beside the wearer's voice."""
        return Beside(self._paused_at is None, not self._gone, self._left)

    @property
    def _gone(self) -> bool:
        """Whether the answer is paused, and its echo has gone."""
        latest = _TAPS - self._lag if len(self._taps) else _LATE
        return self._paused_at is not None and self._pause > latest + _FADES

    def take(self, sound: bytes, playing: Playing) -> bytes:
        """What a piece has besides what was played.

        Args:
            sound: 16-bit PCM, as recognisers take it.
            playing: what was being played when the piece began.
        """
        piece = np.frombuffer(sound, "<i2").astype(float)
        self._follow(playing)
        self._at += len(piece)
        if self._paused_at is None:
            self._heard = np.concatenate([self._heard, piece])[-_BLOCK:]
            self._since += len(piece)
            if not len(self._taps) or self._since >= _FIT_EVERY:
                self._fit()
        else:
            self._pause += len(piece)
            if self._gone:
                self._left = float((piece**2).mean() * _WINDOW > _HEARD * self._level)
                return sound
        left = self._without_rest(piece - self._echo(len(piece)), piece)
        self._left = min(1.0, float((left**2).sum() / max(1.0, (piece**2).sum())))
        return bytes(np.clip(left, -32_768, 32_767).astype("<i2").tobytes())

    def _follow(self, playing: Playing) -> None:
        """The device plays on, pauses, or plays something else."""
        at = round(playing.at * _RATE)
        if playing.ask_id == self._ask_id and playing.paused:
            if self._paused_at is None:
                self._paused_at, self._pause = max(at, self._at), 0
        elif playing.ask_id == self._ask_id and self._paused_at is not None:
            self._at, self._heard, self._paused_at, self._plays_from = at, np.zeros(0), None, at
        elif playing.ask_id != self._ask_id or abs(at - self._at) > _JUMP_S * _RATE:
            self._ask_id, self._at, self._heard = playing.ask_id, at, np.zeros(0)
            self._taps, self._learnt, self._paused_at, self._plays_from = np.zeros(0), False, None, 0

    def _source(self, begin: int, end: int) -> Signal:
        """What was played from one sample to another, without what is not heard any more, or not yet."""
        source = self._played.between(self._ask_id, begin, end)
        source[: max(0, self._plays_from - begin)] = 0.0
        if self._paused_at is not None:
            source[max(0, self._paused_at - begin) :] = 0.0
        return source

    def _without_rest(self, left: Signal, piece: Signal) -> Signal:
        """What is left of a piece, but where that is so little that it is a rest of the echo.

        Where more would be left than there was, it is no echo that the filter explains, and nothing is removed.
        """
        if not len(self._taps):
            return left
        for at in range(0, len(piece), _WINDOW):
            window = slice(at, at + _WINDOW)
            if (left[window] ** 2).sum() > (piece[window] ** 2).sum():
                left[window] = piece[window]
            self._level = max(float((piece[window] ** 2).sum()), _DECAY * self._level)
            if not self._learnt or (left[window] ** 2).sum() < _LEFT * self._level:
                left[window] = 0.0
        return left

    def _fit(self) -> None:
        """Find the delay and the filter that turn the played sound into the recent sound from the microphone."""
        heard = self._heard
        if self._learnt and len(heard) < _LEARNS:
            return  # it plays on after a pause, in the same room
        before, self._since, self._taps = self._taps, 0, np.zeros(0)
        played = self._source(self._at - len(heard) - _LATE - _TAPS, self._at + _EARLY)
        if not len(heard) or np.sqrt((played**2).mean()) < _LOUD:
            return
        # played[place:][: len(heard)] lies beside what is heard; where does it fit best?
        similar = _correlated(heard, played, whitened=True)
        peak = int(np.abs(similar[_TAPS:]).argmax()) + _TAPS
        end = min(peak + _BEFORE_PEAK, len(played) - len(heard))
        lag = end - _LATE - _TAPS
        if self._learnt and len(before) and min(abs(lag - self._lag), abs(lag - self._doubtful_lag)) > _BEFORE_PEAK:
            self._taps, self._doubtful_lag = before, lag  # once it may be by chance
            return
        self._taps = _filter(played[end - _TAPS + 1 : end + len(heard)], heard)
        self._lag, self._learnt = lag, len(heard) >= _LEARNS

    def _echo(self, size: int) -> Signal:
        """The part of the last samples that was played."""
        if not len(self._taps):
            return np.zeros(size)
        end = self._at + self._lag
        return np.convolve(self._source(end - size - _TAPS + 1, end), self._taps, "valid")


def _correlated(short: Signal, long: Signal, *, whitened: bool = False) -> Signal:
    """The products of a signal with another, longer one, at each place of that.

    Whitened (by phase alone, GCC-PHAT), the pitch of a voice does not pass for a delay.
    """
    size = 1 << (len(long) + len(short)).bit_length()
    spectrum = np.fft.rfft(long, size) * np.conj(np.fft.rfft(short, size))
    if whitened:
        spectrum /= np.abs(spectrum) + _TINY
    return np.fft.irfft(spectrum, size)[: len(long) - len(short) + 1]


def _filter(source: Signal, heard: Signal) -> Signal:
    """The taps that make of a source, longer by all taps but one, what comes nearest to what was heard."""
    size = 1 << (len(source) + len(heard)).bit_length()
    spectrum = np.fft.rfft(source, size)
    own = np.fft.irfft(np.abs(spectrum) ** 2, size)[:_TAPS]
    # heard[n] is about the sum of taps[k] * source[n + _TAPS - 1 - k].
    shared = _correlated(heard, source)[::-1]
    own[0] *= 1.001
    return _solved(own, shared)


def _solved(own: Signal, shared: Signal) -> Signal:
    """The taps that a Toeplitz matrix, given by its first column, takes to `shared`: by conjugate gradients.

    LAPACK would do it on all cores, which belong to turns.
    """
    size = 2 * len(own)
    spectrum = np.fft.rfft(np.concatenate([own, [0.0], own[:0:-1]]))
    taps, rest = np.zeros(len(own)), shared.copy()
    way, energy = rest, float((rest * rest).sum())
    enough = energy * _EXACT
    for _ in range(_MOST_STEPS):
        if energy <= enough:
            break
        moved = np.fft.irfft(np.fft.rfft(way, size) * spectrum, size)[: len(own)]
        if (along := float((way * moved).sum())) <= 0:
            break
        step = energy / along
        taps, rest = taps + step * way, rest - step * moved
        energy, before = float((rest * rest).sum()), energy
        way = rest + energy / before * way
    return taps


def is_echo(heard: str, said: str) -> bool:
    """Whether words that were heard while an answer was played are the answer's own."""
    words, answer = _words(heard), _words(said)
    if not words or not answer:
        return False
    matching = SequenceMatcher(None, words, answer, autojunk=False).get_matching_blocks()
    return sum(block.size for block in matching) >= _OWN_SHARE * len(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(spoken(text).casefold())
