"""Cuts the parts that a turn tells of out of the user's own picture."""

from __future__ import annotations

import io
from base64 import b64encode
from math import ceil

from PIL import Image

from quizglass.values import Region
from quizglass_client.pictures import encode, pixels
from quizglass_client.types import PictureLike

SIDE, CROP_SIDE = 640, 160
"""Longest sides on a page, in pixels."""
MOST_CROPS = 64
"""Most crops that are cut for one page."""


class Crops:
    """A picture and its parts as data URIs.

    Args:
        picture: as it was asked about; None, or one that cannot be read, has no parts.
    """

    def __init__(self, picture: PictureLike | None) -> None:
        self._image = None if picture is None else _opened(picture)
        self._cut: dict[Region, str] = {}

    @property
    def whole(self) -> str:
        """The whole picture; empty without one."""
        return "" if self._image is None else _uri(self._image, SIDE)

    def crop(self, region: Region) -> str:
        """A part of it; empty without a picture, or when there were too many."""
        if self._image is None or (region not in self._cut and len(self._cut) >= MOST_CROPS):
            return ""
        if region not in self._cut:
            self._cut[region] = _uri(self._image.crop(_box(region, *self._image.size)), CROP_SIDE)
        return self._cut[region]


def _opened(picture: PictureLike) -> Image.Image | None:
    try:
        return pixels(encode(picture, 2 * SIDE), 2 * SIDE)
    except Exception:  # parsers of damaged files raise anything
        return None


def _box(region: Region, width: int, height: int) -> tuple[int, int, int, int]:
    """Pixels, at least one, within the picture, whatever the region says."""
    left, top = (min(max(int(side * size), 0), size - 1) for side, size in ((region.left, width), (region.top, height)))
    right, bottom = min(max(ceil(region.right * width), left + 1), width), min(ceil(region.bottom * height), height)
    return left, top, right, max(bottom, top + 1)


def _uri(image: Image.Image, side: int) -> str:
    small = image.copy()
    small.thumbnail((side, side))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(out.getvalue()).decode()}"
