"""Kept prefixes on disk, so that a session survives a restart.

One file a prefix: a magic line, a line of JSON (`key`, `length`, `at`, `pictures`), the token ids, llama.cpp's state of
the sequence, and a SHA-256 of all that. `key` names the model files by content, and everything else that decides how a
state reads; a file that is damaged or has another key is skipped, never half used. What a file claims is checked
before llama.cpp sees its state, which it would trust.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread, get_native_id
from typing import Any

import llama_cpp
import numpy as np

from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.prefixes.cache import Lease, OffloadedPrefix, Prefixes
from quizglass_server.engines.llama.prefixes.prompt_units import PICTURE, PromptUnits
from quizglass_server.hashes import file_sha256

_MAGIC = b"quizglass prefix 1\n"
_SUFFIX = ".prefix"
_DIGEST = 32
_MOST_BYTES = 4 << 30
_IDLE = 19

EngineCalls = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs something in the engine's thread, between two steps: what it returns, or raises."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Saved:
    units: PromptUnits
    state: bytes


class PrefixFiles:
    """Saves and restores the kept prefixes of one model."""

    def __init__(self, model: NativeModel, prefixes: Prefixes, call: EngineCalls) -> None:
        """Make it; nothing is read yet."""
        self._model = model
        self._prefixes = prefixes
        self._call = call
        self._key = ""
        self._hashing = Lock()

    def get_ready(self) -> None:
        """Hash the model files in a thread of the lowest priority: saving may be in a hurry."""

        def work() -> None:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, get_native_id(), _IDLE)
            try:
                self._fingerprint()
            except OSError as error:
                logger.warning("the model files cannot be read again, prefixes will not be saved: %s", error)

        Thread(target=work, name="fingerprint", daemon=True).start()

    async def save(self, directory: Path) -> int:
        """Write every kept prefix, the newest first, to a directory that has none; how many.

        Raises:
            OSError: they cannot be written.
        """
        key = await asyncio.to_thread(self._fingerprint)
        kept: list[PromptUnits] = await self._call(self._newest_first)
        written = 0
        for units in kept:
            # One at a time: answers that are being written do not wait for all of them.
            saved: _Saved | None = await self._call(partial(self._copied, units))
            if saved is not None:
                await asyncio.to_thread(_write, directory / f"{written:04d}{_SUFFIX}", key, saved)
                written += 1
        return written

    async def restore(self, directory: Path) -> int:
        """Keep what the directory holds, the newest first, as long as there is room; how many prefixes."""
        key = await asyncio.to_thread(self._fingerprint)
        restored = 0
        for path in await asyncio.to_thread(_files, directory):
            saved = await asyncio.to_thread(self._read, path, key)
            if saved is None:
                continue
            if await self._call(partial(self._put, saved, restored + 1)):
                restored += 1
            else:
                logger.info("%s: no room, or it does not fit this model; left out", path.name)
        return restored

    def _newest_first(self) -> list[PromptUnits]:
        kept: list[Lease | OffloadedPrefix] = [*self._prefixes.kept, *self._prefixes.offloaded]
        return [each.units for each in sorted(kept, key=lambda each: -each.used)]

    def _copied(self, units: PromptUnits) -> _Saved | None:
        state = self._prefixes.state(units)
        return None if state is None else _Saved(units, state)

    def _put(self, saved: _Saved, age: int) -> bool:
        lease = self._prefixes.vacant(saved.units)
        if lease is None:
            return False
        if not self._model.load_sequence(lease.sequence, saved.state):
            self._prefixes.give_up(lease)
            return False
        self._prefixes.restore(lease, age)
        return True

    def _read(self, path: Path, key: str) -> _Saved | None:
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError("it is too large")
            return _parsed(path.read_bytes(), key, self._model)
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s: a saved prefix is left out: %s", path.name, error)
            return None

    def _fingerprint(self) -> str:
        """What decides whether a state may be read: computed once, since it reads the model files as a whole."""
        with self._hashing:
            if not self._key:
                options, slot = self._model.options, self._model.slot
                parts = [
                    llama_cpp.__version__,
                    self._model.executor,
                    *(file_sha256(path) for path in (options.model, options.projector) if path),
                    *(str(size) for size in (options.width, options.height, slot.tokens, slot.positions)),
                ]
                self._key = sha256("\n".join(parts).encode()).hexdigest()
            return self._key


def _write(path: Path, key: str, saved: _Saved) -> None:
    units = saved.units
    header = {
        "key": key,
        "length": len(units.ids),
        "at": list(units.at),
        "pictures": [picture.hex() for picture in units.pictures],
    }
    content = b"".join((_MAGIC, json.dumps(header).encode(), b"\n", units.ids.astype("<i4").tobytes(), saved.state))
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        file.write(sha256(content).digest())
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _parsed(content: bytes, key: str, model: NativeModel) -> _Saved:
    """A file's prefix.

    Raises:
        ValueError: it is damaged, or belongs to something else.
    """
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if not body.startswith(_MAGIC) or sha256(body).digest() != digest:
        raise ValueError("it is damaged or not a prefix")
    line, _, rest = body[len(_MAGIC) :].partition(b"\n")
    header = json.loads(line)
    if header["key"] != key:
        raise ValueError("it was saved with other model files, options or another llama.cpp")
    length = int(header["length"])
    ids = np.frombuffer(rest[: 4 * length], "<i4").astype(np.int32)
    at = tuple(int(index) for index in header["at"])
    pictures = tuple(bytes.fromhex(picture) for picture in header["pictures"])
    if len(ids) != length or not length or tuple(np.flatnonzero(ids == PICTURE)) != at or len(at) != len(pictures):
        raise ValueError("its pictures are not where it says")
    return _Saved(PromptUnits(ids, at, pictures, model.slot), rest[4 * length :])


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"*{_SUFFIX}"))
