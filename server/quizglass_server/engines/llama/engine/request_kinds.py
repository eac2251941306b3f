"""What a request is for: to write an answer, to choose, or to read a prompt ahead of time."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable
from math import exp

import numpy as np

from quizglass_server.engines.llama.engine.constraint import GrammarFollower
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.engine.sampling import Row
from quizglass_server.engines.llama.link.prompt import Finished, Piece, Usage
from quizglass_server.engines.llama.native.errors import DecodeFailed

Ends = Callable[[int], bool]


class Generation:
    """Writes an answer greedily, within a constraint if there is one."""

    spare = 0
    wants_logits = True

    def __init__(
        self, room: int, ends: Ends, piece: Callable[[int], bytes], constraint: GrammarFollower | None
    ) -> None:
        """Make one.

        Args:
            room: most tokens.
            ends: whether a token ends an answer.
            piece: UTF-8 bytes of a token.
            constraint: follows this answer.
        """
        self._room = room
        self._ends = ends
        self._piece = piece
        self._constraint = constraint
        self._text = getincrementaldecoder("utf-8")("replace")
        self._written = 0

    def take(self, request: Request, row: Row) -> str | None:
        """Sample one token and hand it over."""
        token = self._next(row)
        if token is None:
            return "stop"
        if self._constraint is not None:
            self._constraint.accept(token)
        probability = min(1.0, exp(row.log_probability(token)))
        self._written += 1
        request.generated_tokens += 1
        request.sink.put(
            Piece(self._text.decode(self._piece(token)), probability), urgent=request.generated_tokens == 1
        )
        if request.generated_tokens == self._room:
            return "length"
        request.append(token)
        return None

    def _next(self, row: Row) -> int | None:
        """The token that the answer goes on with; None when it ends."""
        if self._constraint is None:
            return None if self._ends(row.best) else row.best
        # A text that ends answers, such as a newline, may be needed in the middle of what is asked for.
        if self._ends(row.best) and self._constraint.complete():
            return None
        return self._constraint.pick(row)

    def result(self, reason: str, usage: Usage) -> Finished:
        """See `RequestKind`."""
        return Finished(reason, usage)

    def expected_tokens(self, usual: float) -> float:
        """See `RequestKind`."""
        return min(usual, self._room - self._written)


class Choice:
    """Chooses among labels by the probability of all their tokens."""

    wants_logits = True

    def __init__(self, labels: list[list[int]]) -> None:
        """Make one; `labels` are token ids."""
        self.labels = labels
        self.scores = [0.0] * len(labels)
        """Logarithms of the labels' probabilities, as far as they are known."""
        self.spare = sum(len(label) - 1 for label in labels)

    def take(self, request: Request, row: Row) -> str | None:
        """Score the first tokens; those of longer labels are for the engine to fork."""
        self.scores = [row.log_probability(label[0]) for label in self.labels]
        return "stop"

    def result(self, reason: str, usage: Usage) -> tuple[list[float], Usage] | None:
        """See `RequestKind`."""
        if reason != "stop":
            return None
        scores = np.array(self.scores)
        weights = np.exp(scores - scores.max())
        return (weights / weights.sum()).tolist(), usage

    def expected_tokens(self, usual: float) -> float:
        """See `RequestKind`."""
        return 1.0 if self.spare else 0.0


class Prefill:
    """Leaves a prompt in memory for a request that is expected."""

    spare = 0
    wants_logits = False

    def take(self, request: Request, row: Row) -> str | None:
        """See `RequestKind`."""
        raise DecodeFailed("logits for a request that wants none")

    def result(self, reason: str, usage: Usage) -> Usage | None:
        """See `RequestKind`."""
        return usage if reason == "stop" else None

    def expected_tokens(self, usual: float) -> float:
        """See `RequestKind`."""
        return 0.0
