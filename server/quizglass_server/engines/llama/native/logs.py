"""llama.cpp's log as Python logging."""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

import llama_cpp.llama_cpp as llama
import llama_cpp.mtmd_cpp as mtmd

_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.DEBUG, 4: logging.ERROR}
"""ggml's levels: debug, info, warning, error. Its warnings are advice on settings that a bundle's author has chosen."""
_CONTINUED = 5
_KEPT = 8

logger = logging.getLogger(__name__)


class LlamaLog:
    """Receives llama.cpp's log and remembers the last errors, to explain failures."""

    def __init__(self) -> None:
        self._recent: deque[str] = deque(maxlen=_KEPT)
        self._line = ""
        self._level = logging.DEBUG
        # llama.cpp keeps the pointer: the callback must live as long as the process.
        self._callback = llama.llama_log_callback(self._receive)

    def attach(self) -> None:
        """Make this the log of llama.cpp and mtmd in this process."""
        llama.llama_log_set(self._callback, None)
        mtmd.mtmd_log_set(self._callback, None)
        mtmd.mtmd_helper_log_set(self._callback, None)

    def begin(self) -> None:
        """Forget what was, so that `first` tells of what begins now."""
        self._recent.clear()

    def first(self) -> str:
        """The first error, one line: of what fails as a whole it is the reason, and the others are what follows."""
        return self._recent[0] if self._recent else "no reason was logged"

    def last(self) -> str:
        """The last error, one line; says so when there was none."""
        return self._recent[-1] if self._recent else "no reason was logged"

    def _receive(self, level: int, text: bytes, _data: Any) -> None:
        if level != _CONTINUED:
            self._level = _LEVELS.get(level, logging.DEBUG)
        self._line += text.decode("utf-8", "replace")
        if not self._line.endswith("\n"):
            return
        line, self._line = self._line.strip(), ""
        if self._level >= logging.WARNING:
            self._recent.append(line)
        if line:
            logger.log(self._level, "%s", line)
