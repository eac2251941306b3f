"""Prompts as units: token ids, and pictures by their content hash, never by their placeholder tokens.

The placeholders of every picture are the same: told apart by them, one user's picture would answer another's question.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.link.prompt import Part, PicturePart, RequestRefused, TextPart
from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.native.vision import PictureSlot

PICTURE = -1
"""Stands in `PromptUnits.ids` where a picture is."""


@dataclass(frozen=True, slots=True, eq=False)
class PromptUnits:
    """A run of units, with room for an answer behind it; who holds it knows how many are in use."""

    ids: NDArray[np.int32]
    """Token ids, `PICTURE` for a picture."""
    at: tuple[int, ...]
    """Where the pictures are in `ids`, ascending."""
    pictures: tuple[bytes, ...]
    """Their content hashes."""
    slot: PictureSlot

    def cells(self, count: int) -> int:
        """Cache cells of the first `count` units."""
        return count + self._before(count) * (self.slot.tokens - 1)

    def position(self, count: int) -> int:
        """Position (M-RoPE) after the first `count` units."""
        return count + self._before(count) * (self.slot.positions - 1)

    def head(self, count: int) -> PromptUnits:
        """A copy of the first `count` units without the room behind them."""
        pictures = self._before(count)
        return PromptUnits(self.ids[:count].copy(), self.at[:pictures], self.pictures[:pictures], self.slot)

    def common(self, count: int, other: PromptUnits, other_count: int) -> int:
        """Length of the beginning that the first `count` units share with the first `other_count` of another run."""
        length = min(count, other_count)
        if not length:
            return 0
        differs = self.ids[:length] != other.ids[:length]
        first = int(differs.argmax())
        if differs[first]:
            length = first
        for index, mine, theirs in zip(self.at, self.pictures, other.pictures, strict=False):
            if index >= length:
                break
            if mine != theirs:
                return index
        return length

    def _before(self, count: int) -> int:
        """Pictures among the first `count` units."""
        return bisect_left(self.at, count) if self.at else 0


def to_units(
    model: NativeModel, prompt: Sequence[Part], *, open_end: bool = False
) -> tuple[PromptUnits, tuple[PicturePart, ...]]:
    """A prompt's units, and its pictures in order.

    Args:
        model: tokenises, which is safe in any thread, and says how pictures sit in a prompt.
        prompt: parts in order.
        open_end: the prompt may end with a picture, since nothing is asked of it yet.

    Raises:
        RequestRefused: the prompt is empty, has a picture of another size or one that the model cannot read, or ends
            with a picture.
    """
    ids: list[int] = []
    at: list[int] = []
    pictures: list[PicturePart] = []
    slot = model.slot
    for part in prompt:
        if isinstance(part, TextPart):
            ids.extend(model.tokenise(part.text, special=part.trusted))
            continue
        _check(part, model.picture_size)
        ids.extend(slot.before)
        at.append(len(ids))
        ids.append(PICTURE)
        ids.extend(slot.after)
        pictures.append(part)
    if not ids or (ids[-1] == PICTURE and not open_end):
        raise RequestRefused("the prompt is empty or ends with a picture; it must end with text")
    units = PromptUnits(np.array(ids, np.int32), tuple(at), tuple(part.sha256 for part in pictures), slot)
    return units, tuple(pictures)


def with_room(units: PromptUnits, room: int) -> PromptUnits:
    """The same run with room for `room` more units."""
    ids = np.zeros(len(units.ids) + room, np.int32)
    ids[: len(units.ids)] = units.ids
    return PromptUnits(ids, units.at, units.pictures, units.slot)


def _check(part: PicturePart, size: tuple[int, int] | None) -> None:
    if size is None:
        raise RequestRefused("there is a picture in the prompt, and this model reads text alone; leave it out")
    width, height = size
    if (part.width, part.height) != size:
        raise RequestRefused(f"picture of {part.width} x {part.height}; this model takes {width} x {height}")
    if len(part.rgb) != width * height * 3:
        raise RequestRefused(f"picture of {len(part.rgb)} bytes, not width x height x 3")
