"""Prompts with their pictures as a model's tensors: the tokens and pixels that a server would give it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import read_header
from quizglass.picture_files.rgb import checked, decode_bytes
from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.inputs.prompts import Prompt, PromptTokenizer, SegmentKind, encode_within
from quizglass_bundle.inputs.resizing import RGB
from quizglass_export.errors import ExportError

MOST_PIXELS = 178_956_970
"""Most pixels of a picture; Pillow refuses more by itself, unless a server's decoder has run in the process."""


def read_picture(path: Path) -> RGB:
    """A picture file's pixels as a server decodes them, upright and with white behind what is transparent.

    Raises:
        ExportError: it is none, or damaged; names it.
    """
    try:
        encoded = path.read_bytes()
        width, height, pixels = checked(lambda: _decoded(encoded))
    except (OSError, BadPicture, OutOfMemory) as error:
        raise ExportError(f"{path}: not a readable picture: {error}") from error
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


def _decoded(encoded: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels; of formats that servers do not take those of the first frame, as clients send it."""
    try:
        header = read_header(encoded)
    except BadPicture:
        encoded = _first_frame(encoded)
        header = read_header(encoded)
    _check_size(header.width, header.height)
    return decode_bytes(encoded, header)


def _first_frame(encoded: bytes) -> bytes:
    """The first frame, as PNG."""
    png = io.BytesIO()
    with Image.open(io.BytesIO(encoded)) as image:
        _check_size(*image.size)
        image.convert("RGBA").save(png, "PNG")
    return png.getvalue()


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise BadPicture(f"{width} x {height} pixels are more than {MOST_PIXELS:,}; resize it")


@dataclass(frozen=True, slots=True)
class TokenRow:
    """Token ids of a prompt, perhaps with its answer, and the pictures that they show, in order."""

    ids: list[int]
    pictures: tuple[Path, ...] = ()
    answer: int = 0
    """How many of the tokens, the last ones, are the answer."""


@dataclass(frozen=True, slots=True)
class InputMaker:
    """Turns prompts into token ids, and rows of them into tensors.

    Attributes:
        tokenizer: the model's, as the server uses it.
        picture: how its pictures are; None: it reads text alone.
        image_token: the token that stands for a piece of a picture.
        pad: id that fills rows up; never attended to.
        max_tokens: longest prompt; the longest data of a longer one is cut.
    """

    tokenizer: PromptTokenizer
    picture: Patched | None
    image_token: str
    pad: int
    max_tokens: int

    def row(self, prompt: Prompt, pictures: Sequence[Path], answer: Sequence[int] = ()) -> TokenRow:
        """A prompt followed by its answer's tokens."""
        span = [] if self.picture is None else vision_inputs.image_span(self.tokenizer, self.image_token, self.picture)
        shown = tuple(pictures[each.picture] for each in prompt if each.kind is SegmentKind.IMAGE)
        limit = self.max_tokens + (max(len(shown) - 1, 0) * len(span))
        ids = encode_within(self.tokenizer, prompt, span, limit)
        return TokenRow([*ids, *answer], shown, len(answer))

    def batch(self, rows: Sequence[TokenRow], *, left: bool = False) -> dict[str, torch.Tensor]:
        """`input_ids` and `attention_mask` [B, S], padded right or left; with pictures also `pixel_values` [P, F] and
        `image_grid_thw` [pictures, 3].
        """
        longest = max(len(row.ids) for row in rows)
        ids = torch.full((len(rows), longest), self.pad)
        mask = torch.zeros((len(rows), longest), dtype=torch.int64)
        for index, row in enumerate(rows):
            place = slice(longest - len(row.ids), None) if left else slice(0, len(row.ids))
            ids[index, place] = torch.tensor(row.ids)
            mask[index, place] = 1
        return {"input_ids": ids, "attention_mask": mask, **self._pixels(rows)}

    def _pixels(self, rows: Sequence[TokenRow]) -> dict[str, torch.Tensor]:
        if self.picture is None or not any(row.pictures for row in rows):
            return {}
        spec = self.picture
        cut = [vision_inputs.patches(read_picture(path), spec) for row in rows for path in row.pictures]
        grid = torch.tensor([[1, *vision_inputs.patch_grid(spec)]] * len(cut))
        return {"pixel_values": torch.from_numpy(np.concatenate(cut)), "image_grid_thw": grid}
