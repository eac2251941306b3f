"""This machine's microphone and loudspeaker, by `sounddevice`, an extra (`microphone`)."""

from __future__ import annotations

import queue
import threading
from array import array
from collections.abc import Iterator
from typing import Any

from quizglass.session import AnswerAudio
from quizglass_client.errors import ClientError, InvalidRequest

_PIECE_S = 0.032
"""A window of the server's detector of voices."""
_MOST_PIECES = 250
"""Ten seconds of unread sound; older sound is dropped."""
_PATIENCE_S = 5.0
_LOST = (
    "the microphone was lost while it recorded: it was unplugged, or the system took it away; "
    "connect it, or choose another one, and open a new Microphone"
)


def _sounddevice() -> Any:
    try:
        import sounddevice
    except (ImportError, OSError) as error:  # the package, or PortAudio below it
        told = f"{error}; in the clone: pip install '.[microphone]', and PortAudio (Debian: libportaudio2)"
        raise InvalidRequest.of("audio", told) from None
    return sounddevice


class Microphone:
    """Pieces of the recording, from entering it until it is left; `rate_hz` samples a second, one channel.

    Args:
        rate_hz: samples a second.
        device: name or number of it; None: the system's own.
        patience: seconds without a piece after which the device counts as lost. Silence has pieces, too.

    Raises:
        InvalidRequest: there is none, or `sounddevice` is not installed.
    """

    def __init__(
        self, rate_hz: int = 16_000, device: str | int | None = None, *, patience: float = _PATIENCE_S
    ) -> None:
        self.rate_hz = rate_hz
        self._patience = patience
        self._pieces: queue.Queue[bytes | None] = queue.Queue()
        self._lock = threading.Lock()
        self._stopped = False
        library = _sounddevice()
        try:
            self._stream = library.RawInputStream(
                samplerate=rate_hz,
                blocksize=round(_PIECE_S * rate_hz),
                device=device,
                channels=1,
                dtype="int16",
                callback=self._came,
                finished_callback=self._ended,
            )
        except (library.PortAudioError, ValueError) as error:
            raise InvalidRequest.of("audio", f"no microphone can be opened: {error}") from None

    def _came(self, data: Any, *_: object) -> None:
        if self._pieces.qsize() >= _MOST_PIECES:
            self._pieces.get_nowait()
        self._pieces.put_nowait(bytes(data))

    def _ended(self) -> None:
        """The recording has ended, by `stop` or with its device; PortAudio forbids to close it here."""
        self._pieces.put_nowait(None)

    def __enter__(self) -> Microphone:
        self._stream.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Record no more: the pieces end. Twice does no harm."""
        self._let_go()
        self._pieces.put_nowait(None)

    def __iter__(self) -> Iterator[bytes]:
        """The pieces, as they are recorded.

        Raises:
            ClientError: the device was lost; reason DEVICE_LOST. It has been let go.
        """
        while (piece := self._next()) is not None:
            yield piece
        if self._let_go():
            raise ClientError(_LOST, reason="DEVICE_LOST")

    def _next(self) -> bytes | None:
        """The next piece; None: there are no more, or the device gives none."""
        try:
            return self._pieces.get(timeout=self._patience)
        except queue.Empty:  # some systems do not say that a device is gone
            return None

    def _let_go(self) -> bool:
        """Release the device; returns whether that was not done before."""
        with self._lock:
            first, self._stopped = not self._stopped, True
        if first:
            self._stream.abort()  # `stop` waits for a device that may be gone
            self._stream.close()
        return first


class Loudspeaker:
    """Plays the sound of answers, one at a time.

    Raises:
        InvalidRequest: `sounddevice` is not installed.
    """

    def __init__(self, device: str | int | None = None) -> None:
        self._library = _sounddevice()
        self._device = device
        self._lock = threading.Lock()
        self._waiting = b""
        self._played = 0
        self._stream: Any = None
        self._kind = (0, 0)
        self.volume = 1.0
        """Times what the sound is."""
        self.paused = False
        """Whether it is quiet, and keeps what is to be played."""

    def play(self, audio: AnswerAudio) -> None:
        """Play more of the answer.

        Raises:
            InvalidRequest: there is no loudspeaker.
        """
        if not audio.data:
            return
        if self._kind != (audio.rate_hz, audio.channels):
            self._open(audio.rate_hz, audio.channels)
        with self._lock:
            self._waiting += audio.data

    @property
    def seconds(self) -> float | None:
        """Of the answer that were played; None: nothing of it is left to be played."""
        rate, channels = self._kind
        with self._lock:
            return self._played / (2 * rate * channels) if self._waiting and rate else None

    def stop(self) -> None:
        """Be quiet at once, and begin anew with the next sound."""
        with self._lock:
            self._waiting, self._played, self.paused = b"", 0, False

    def close(self) -> None:
        """Let go of the device."""
        if self._stream is not None:
            self._stream.stop()
            self._stream.close()

    def _open(self, rate_hz: int, channels: int) -> None:
        self.close()
        self._kind = rate_hz, channels
        try:
            self._stream = self._library.RawOutputStream(
                samplerate=rate_hz, device=self._device, channels=channels, dtype="int16", callback=self._wanted
            )
            self._stream.start()
        except (self._library.PortAudioError, ValueError) as error:
            raise InvalidRequest.of("audio", f"no loudspeaker can be opened: {error}") from None

    def _wanted(self, out: Any, *_: object) -> None:
        size = len(out)
        with self._lock:
            size_now = 0 if self.paused else size
            data, self._waiting = self._waiting[:size_now], self._waiting[size_now:]
            self._played += len(data)
        out[:] = louder(data, self.volume).ljust(size, b"\0")


def louder(data: bytes, times: float) -> bytes:
    """16-bit PCM at another volume, of this machine's byte order."""
    if times == 1.0:
        return data
    return array("h", (max(-32_768, min(32_767, round(each * times))) for each in array("h", data))).tobytes()
