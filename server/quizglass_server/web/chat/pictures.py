"""Pictures as chats have them: the bytes themselves in a data URI. Nothing is ever fetched."""

from __future__ import annotations

import base64
import binascii
import re

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, InvalidPicture

_DATA = re.compile(r"data:(image/[a-z0-9.+-]+);base64,", re.IGNORECASE)
_WANTED = "send the picture itself: data:image/jpeg;base64,..."


def encoded_picture(url: str, place: str) -> bytes:
    """The encoded picture of a data URI, which nobody has looked at yet.

    Args:
        url: what a client gave as the picture's URL.
        place: where it was given, for errors.

    Raises:
        InvalidInput: it is an address of something elsewhere, or no address at all.
        InvalidPicture: it is not base64.
    """
    prefix = _DATA.match(url)
    if prefix is None:
        scheme = url[:40].partition(":")[0]
        if scheme == "data":
            raise InvalidInput(place, f"a data URI that is no picture in base64; {_WANTED}")
        raise InvalidInput(place, f"pictures are never fetched from elsewhere ({scheme[:12]}:...); {_WANTED}")
    try:
        return base64.b64decode(url[prefix.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidPicture(place, "what follows base64, is not base64") from None


class ChatPicture:
    """The picture of a chat, held until it is decoded.

    Args:
        encoded: its bytes.
        place: where it was given, for errors.
        size: of the chat, in bytes.
        pictures: decodes.
    """

    def __init__(self, encoded: bytes, place: str, size: int, pictures: PictureCache) -> None:
        self._encoded = [encoded]
        self._place = place
        self.size = size
        self._pictures = pictures

    def is_slow(self) -> bool:
        """Whether it takes long to decode. Raises InvalidPicture."""
        return self._pictures.is_slow(self._encoded[0], self._place)

    async def picture(self) -> Picture:
        """The decoded picture, once. Raises InvalidPicture."""
        picture = await self._pictures.decode(self._encoded[0], self._place)
        self._encoded.clear()
        return picture
