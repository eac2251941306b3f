"""Frames of a session as sources of the picture that a question is about; see `assistant.asking.FrameSource`."""

from __future__ import annotations

import asyncio
from hashlib import sha256

from quizglass.values import Region
from quizglass_server.assistant.asking import Asking
from quizglass_server.domain.turns import Picture
from quizglass_server.session.coaching.closer import sharpened
from quizglass_server.session.frames import HeldFrame

PICTURE_FIELD = "ask.request.frames[0]"
"""The frame's path in a message, for errors."""


class ShelfFrame:
    """A frame of a session, as the source of a picture."""

    size = 0
    """Its bytes are counted where frames are held."""

    def __init__(self, frame: HeldFrame, asking: Asking) -> None:
        self._frame = frame
        self._asking = asking

    def is_slow(self) -> bool:
        """Whether its picture takes long to decode. Raises InvalidPicture."""
        if self._asking.pictures.held(self._frame.begin.sha256) is not None:
            return False
        return self._asking.pictures.is_slow(bytes(self._frame.data), PICTURE_FIELD)

    async def picture(self) -> Picture:
        """Its picture. Raises InvalidPicture."""
        name = self._frame.begin.sha256
        return await self._asking.pictures.decode(bytes(self._frame.data), PICTURE_FIELD, sha256=name)


class SharpenedFrame:
    """A thumbnail with a sharper part in its place, as the source of a picture."""

    size = 0
    """Its bytes are counted where frames are held."""

    def __init__(self, thumbnail: ShelfFrame, part: ShelfFrame, region: Region) -> None:
        self._thumbnail = thumbnail
        self._part = part
        self._region = region

    def is_slow(self) -> bool:
        """Whether it takes long to decode. Raises InvalidPicture."""
        return self._thumbnail.is_slow() or self._part.is_slow()

    async def picture(self) -> Picture:
        """Both as one picture. Raises InvalidPicture."""
        whole, part = await self._thumbnail.picture(), await self._part.picture()
        pixels = await asyncio.to_thread(sharpened, whole.pixels, part.pixels, self._region)
        return Picture(sha256(whole.sha256 + part.sha256).digest(), pixels, whole.owner)
