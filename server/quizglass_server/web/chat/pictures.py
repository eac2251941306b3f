"""Pictures as chats have them: the bytes themselves in a data URI. Nothing is ever fetched."""

from __future__ import annotations

import binascii
import re

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, InvalidPicture

_DATA = re.compile(
    r"\s*data:(?:image/[a-z0-9.+-]+|application/octet-stream)?(?:;[^;,]{0,100}){0,8}?;base64,", re.IGNORECASE
)
"""How a data URI begins that has base64; parameters may stand before the word."""
_WANTED = "send the picture itself: data:image/jpeg;base64,..."
_URL_SAFE = (b"-", b"_")
"""What the alphabet for URLs has instead of + and /."""
_SPACE = (b" ", b"\t", b"\r", b"\n", b"\f")
_PIECE = 1 << 20
"""Characters that are decoded at once; four of them are three bytes."""
_ESCAPED = re.compile(rb"%([0-9a-fA-F]{2})")


def check_picture_url(url: str, place: str) -> None:
    """Check that a URL is a data URI with base64.

    Args:
        url: what a client gave as the picture's URL.
        place: where it was given, for errors.

    Raises:
        InvalidInput: it is an address of something elsewhere, or no address at all.
    """
    if _DATA.match(url) is None:
        scheme, colon, _ = url[:40].strip().partition(":")
        if scheme.lower() == "data":
            raise InvalidInput(place, f"a data URI that is no picture in base64; {_WANTED}")
        if not colon:
            raise InvalidInput(place, f"no data URI, and pictures are never fetched from elsewhere; {_WANTED}")
        raise InvalidInput(place, f"pictures are never fetched from elsewhere ({scheme[:12]}:...); {_WANTED}")


def encoded_picture(url: str, place: str) -> bytes:
    """The encoded picture of a data URI, which is not looked at here.

    Base64 is taken as programs write it: in lines, without padding, in the alphabet for URLs, or with characters
    escaped as in URLs.

    Args:
        url: a data URI that `check_picture_url` takes.
        place: where it was given, for errors.

    Raises:
        InvalidPicture: it is not base64.
    """
    prefix = _DATA.match(url)
    if prefix is None:
        raise InvalidInput(place, f"a data URI that is no picture in base64; {_WANTED}")
    try:
        return _decoded(url[prefix.end() :].encode("ascii"))
    except (binascii.Error, ValueError):
        raise InvalidPicture(place, "what follows base64, is not base64") from None


def _decoded(written: bytes) -> bytes:
    """The bytes that base64 stands for; piece by piece, since other threads wait meanwhile.

    Raises:
        binascii.Error: it is none.
    """
    if b"%" in written:
        written = _ESCAPED.sub(lambda escape: bytes([int(escape[1], 16)]), written)
    if any(each in written for each in (*_SPACE, *_URL_SAFE)):
        written = written.translate(bytes.maketrans(b"".join(_URL_SAFE), b"+/"), b"".join(_SPACE))
    written = written.rstrip(b"=")
    pieces: list[bytes] = []
    for start in range(0, len(written), _PIECE):
        piece = written[start : start + _PIECE]
        pieces.append(binascii.a2b_base64(piece + b"=" * (-len(piece) % 4), strict_mode=True))
    return b"".join(pieces)


class ChatPicture:
    """The picture of a chat, held until it is decoded.

    Args:
        encoded: its bytes.
        place: where it was given, for errors.
        pictures: decodes.
    """

    def __init__(self, encoded: bytes, place: str, pictures: PictureCache) -> None:
        self._encoded = [encoded]
        self._place = place
        self.size = len(encoded)
        self._pictures = pictures

    def is_slow(self) -> bool:
        """Whether it takes long to decode. Raises InvalidPicture."""
        return self._pictures.is_slow(self._encoded[0], self._place)

    async def picture(self) -> Picture:
        """The decoded picture, once. Raises InvalidPicture."""
        picture = await self._pictures.decode(self._encoded[0], self._place)
        self._encoded.clear()
        return picture
