"""Answers of searches that may be asked again, good as long as nothing was written in between."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_ANSWERS = 256


class AnswerCache:
    """The answers asked for last. A key holds the content asked for and the number of the last change."""

    def __init__(self, most: int = _ANSWERS) -> None:
        """Keep so many."""
        self._most = most
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self.hits = 0

    def get(self, key: Hashable) -> Any:
        """The answer, or None."""
        with self._lock:
            if key not in self._answers:
                return None
            self._answers.move_to_end(key)
            self.hits += 1
            return self._answers[key]

    def put(self, key: Hashable, answer: Any) -> None:
        """Keep an answer."""
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
