"""One request of the engine: what it wants in memory, how far that is, and who waits for it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.engine.sampling import Row
from quizglass_server.engines.llama.link.prompt import PicturePart, Urgency, Usage
from quizglass_server.engines.llama.prefixes.cache import Lease
from quizglass_server.engines.llama.prefixes.prompt_units import PICTURE, PromptUnits


class Sink(Protocol):
    """Takes results; called by the engine thread."""

    def put(self, item: object, *, urgent: bool) -> None:
        """Hand over a piece, a result or an exception; an urgent one must not wait for others."""
        ...


class LastGiven(Sink):
    """A sink for requests that are made for their effect alone."""

    def __init__(self) -> None:
        self.item: object = None

    def put(self, item: object, *, urgent: bool) -> None:
        """Keep the last thing that was given."""
        self.item = item


class RequestKind(Protocol):
    """What a request is for."""

    spare: int
    """Cells that it needs besides those of its units."""
    wants_logits: bool
    """Whether it is given the logits after its last unit, whenever that is read."""

    def take(self, request: Request, row: Row) -> str | None:
        """Receive logits; why the request has ended, None when it goes on.

        Raises:
            RequestRefused: it cannot go on.
        """
        ...

    def result(self, reason: str, usage: Usage) -> object | None:
        """What the caller gets at the end; None when a request cut short for this reason has no result."""
        ...

    def expected_tokens(self, usual: float) -> float:
        """Decode steps that it will take besides its prompt, where answers are usually `usual` tokens."""
        ...


@dataclass(eq=False, slots=True)
class Request:
    """A prompt on its way through the engine."""

    units: PromptUnits
    """The prompt, with room for what the answer adds."""
    length: int
    """Units known so far: the prompt's, then those of the answer."""
    kind: RequestKind
    urgency: Urgency
    sink: Sink
    pictures: tuple[PicturePart, ...] = ()
    """Pictures of the prompt, in its order."""
    order: tuple[float, ...] = ()
    """Sorts requests: turns before background work, then by deadline, then by arrival."""
    lease: Lease | None = None
    """Its sequence, once it has one."""
    picture_rows: int = 0
    """Rows in memory of the picture that is next."""
    embeddings: dict[bytes, NDArray[np.float32]] = field(default_factory=dict)
    """Embeddings of the pictures that it has been given so far, by content hash."""
    awaited: bytes | None = None
    """Content hash of the picture that it waits for."""
    cancelled: bool = False
    """Set by any thread; looked at between steps."""
    ended: bool = False
    prompt_tokens: int = field(init=False)
    reused_tokens: int = 0
    generated_tokens: int = 0
    encoded_picture: bool = False
    last: int = 0
    """Token that the answer ends with so far."""
    begun: bool = False
    """Work on it has begun."""
    awaiting_since: int = 0
    """When it began to wait for its picture, of `perf_counter_ns`."""
    _engine_ns: int = field(default=0, repr=False)
    _since: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        """Count the prompt while nothing else is there."""
        self.prompt_tokens = self.units.cells(self.length)

    @property
    def done(self) -> int:
        """Units in memory."""
        return self.lease.length if self.lease else 0

    @property
    def awaits_picture(self) -> bool:
        """Whether it waits for a picture to be encoded."""
        return self.awaited is not None

    def picture(self, done: int) -> PicturePart | None:
        """The first picture behind the first `done` units; None where there is none."""
        place = bisect_left(self.units.at, done)
        return self.pictures[place] if place < len(self.pictures) else None

    @property
    def embedding(self) -> NDArray[np.float32] | None:
        """Embedding of the next picture, if it is encoded."""
        picture = self.picture(self.done)
        return None if picture is None else self.embeddings.get(picture.sha256)

    @property
    def todo(self) -> int:
        """Units not in memory yet: more than one while the prompt is read, one for each step of the answer."""
        return self.length - self.done

    @property
    def reserve(self) -> int:
        """Cells that it may need in all."""
        return self.units.cells(len(self.units.ids)) + self.kind.spare

    @property
    def shareable(self) -> int:
        """Units that may be taken over from elsewhere: all but the one whose logits are needed."""
        return self.length - self.kind.wants_logits

    def gives_logits(self, count: int) -> bool:
        """Whether reading `count` more units gives logits that it wants."""
        return self.kind.wants_logits and self.done + count == self.length

    @property
    def writing(self) -> bool:
        """Whether it is past its prompt: one token a step."""
        return self.lease is not None and self.generated_tokens > 0 and self.todo == 1

    @property
    def at_picture(self) -> bool:
        """Whether the next unit is a picture."""
        return self.todo > 0 and int(self.units.ids[self.done]) == PICTURE

    @property
    def todo_cells(self) -> int:
        """Cells of what is not in memory yet."""
        return self.units.cells(self.length) - self.units.cells(self.done) - self.picture_rows

    def next_tokens(self, most: int) -> int:
        """How many token units come next, up to a picture, `most` at most."""
        start, end = self.done, min(self.length, self.done + most)
        return min([end, *(index for index in self.units.at if index >= start)]) - start

    def append(self, token: int) -> None:
        """The answer goes on with a token."""
        self.units.ids[self.length] = self.last = token
        self.length += 1

    def begin(self, reused: int) -> None:
        """Work on it begins; `reused` units need none."""
        if not self.begun:
            self.begun = True
            self.reused_tokens = self.units.cells(reused)

    def takes_part(self, now: int | None) -> None:
        """The engine works for it from `now` on, of `perf_counter_ns`; None: no longer."""
        if self._since:
            self._engine_ns += perf_counter_ns() - self._since
        self._since = now or 0

    def picture_encoded(self, began: int, ended: int) -> None:
        """Its picture was encoded between these times of `perf_counter_ns`; what it waited of that is work for it."""
        self.awaited = None
        self._engine_ns += max(0, ended - max(began, self.awaiting_since))

    def usage(self) -> Usage:
        """What it has cost."""
        self.takes_part(None)
        spent = self._engine_ns // 1000
        return Usage(self.prompt_tokens, self.reused_tokens, self.generated_tokens, spent, self.encoded_picture)
