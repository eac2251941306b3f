"""How large a picture is sent, and what making it smaller may cost. Needs no Pillow."""

from __future__ import annotations

from math import ceil

from quizglass.picture_files.errors import BadPicture
from quizglass.picture_files.header import Header
from quizglass.values import Region

MOST_SENT = 8 << 20
"""Bytes of a picture that is sent as it is: servers take no more by default."""
MOST_MEMORY = 900 << 20
"""Bytes that decoding one picture may take here."""
_MOST_SECONDS = 10.0
_SHORTEST = 8
"""Pixels. A picture so oblong that resizing would make its shorter side less than this is sent in its own size: the
server then refuses it for what it is, not for what the rounding of its sides made of it."""
_LONGEST_OF_JPEG = 65_500


def side(width: int, height: int, side: int) -> int:
    """The longest side that a picture gets; 0: its own."""
    oblong = _too_oblong(width, height, side) and max(width, height) <= _LONGEST_OF_JPEG
    return 0 if oblong or max(width, height) <= side else side


def side_of_whole(header: Header, size: int, region: Region, side: int) -> int:
    """How large a whole picture has to be for a part of it to have that side, as far as there is memory for it."""
    wide, high = region.right - region.left, region.bottom - region.top
    # Whether it lies on its side is not known yet.
    longest = min(
        max(wide * header.width, high * header.height), max(wide * header.height, high * header.width), header.longest
    )
    needed = min(ceil(side * header.longest / longest), header.longest) if side and longest > 0 else header.longest
    return needed if header.memory(size, needed) <= MOST_MEMORY else 0


def fits(header: Header, size: int, side: int) -> bool:
    """Whether a picture of so many bytes is sent as it is."""
    if not side:
        return True
    return size <= MOST_SENT and (header.longest <= side or _too_oblong(header.width, header.height, side))


def _too_oblong(width: int, height: int, side: int) -> bool:
    return min(width, height) * side < _SHORTEST * max(width, height)


def check_cost(width: int, height: int, memory: int, seconds: float) -> None:
    """Raises BadPicture where decoding takes too much."""
    if memory > MOST_MEMORY or seconds > _MOST_SECONDS:
        takes = f"{memory >> 20} MiB of memory" if memory > MOST_MEMORY else f"{seconds:.0f} s"
        raise BadPicture(f"{width} x {height} pixels of this format take {takes} to make smaller; save it smaller")
