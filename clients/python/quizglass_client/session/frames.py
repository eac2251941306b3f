"""Pictures that are shown in a session: encoded as the server can use them, and sharper where it asks for more.

Knows no gRPC.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from quizglass.session import FrameNeed, Role
from quizglass.values import Region
from quizglass_client.errors import Cancelled, InvalidRequest
from quizglass_client.pictures import cut_out, encode_on_thread
from quizglass_client.session.outgoing import OutgoingMessages
from quizglass_client.types import PictureLike

_MOST_FULL = 4
"""Pictures that are kept in full behind the thumbnails that were sent of them."""


class ShownFrames:
    """The pictures of one session.

    Args:
        outgoing: takes what is to be sent of them.
    """

    def __init__(self, outgoing: OutgoingMessages) -> None:
        self._outgoing = outgoing
        self._full: OrderedDict[bytes, bytes] = OrderedDict()
        self._cutting: dict[asyncio.Task[None], bytes] = {}
        """What is being cut out, and of which picture."""
        self._forgotten = 0
        """How often all were forgotten."""

    async def show(self, picture: PictureLike, *, pinned: bool, thumbnail: int, side: int) -> bytes:
        """Have a picture sent; its name.

        Args:
            picture: what is shown.
            pinned: whether it stays until it is dropped.
            thumbnail: longer side, in pixels, of the picture that is sent at first; 0: the picture itself is.
            side: the longest side that a picture is sent with; 0: any.

        Raises:
            InvalidRequest: it is no picture, or `thumbnail` is below 0.
            Cancelled: all were forgotten while it was made ready.
        """
        if thumbnail < 0:
            raise InvalidRequest.of("thumbnail", f"{thumbnail} is no number of pixels; give 0 for the usual size")
        forgotten = self._forgotten
        full = await encode_on_thread(picture, 0 if thumbnail else side)
        small = await encode_on_thread(full, thumbnail) if thumbnail else full
        if self._forgotten != forgotten:
            told = "the session forgot its pictures while this one was made ready"
            raise Cancelled(told, status="CANCELLED", reason="FORGOTTEN")
        if small == full:
            return self._outgoing.show(full, pinned=pinned)
        name = self._outgoing.show(small, pinned=pinned, role=Role.THUMBNAIL)
        self._full[name] = full
        while len(self._full) > _MOST_FULL:
            self._full.popitem(last=False)
        return name

    def drop(self, name: bytes) -> None:
        """Have a picture forgotten; no part of it is sent any more."""
        self._full.pop(name, None)
        for cutting in [task for task, of in self._cutting.items() if of == name]:
            cutting.cancel()
        self._outgoing.drop(name)

    def forget(self) -> None:
        """Have all forgotten, those that are being made ready too."""
        self._forgotten += 1
        self.close()

    def close(self) -> None:
        """Keep nothing in full, and send no part of it, any more."""
        self._full.clear()
        for cutting in self._cutting:
            cutting.cancel()

    def need(self, need: FrameNeed) -> None:
        """A question waits for a picture, or for a part of one that is sharper than its thumbnail."""
        self._outgoing.need(need)
        if need.region is not None and (full := self._full.get(need.sha256)) is not None:
            task = asyncio.create_task(self._show_part(full, need, need.region))
            self._cutting[task] = need.sha256
            task.add_done_callback(self._cutting.pop)

    async def _show_part(self, full: bytes, need: FrameNeed, region: Region) -> None:
        """Send the part of a picture that the server wants to see sharper, no sharper; the whole where that is less."""
        part = await asyncio.to_thread(cut_out, full, region, need.least_side)
        if len(part) < len(full):
            self._outgoing.show(part, role=Role.CROP, parent=need.sha256, region=region)
        else:
            self._outgoing.show(full, role=Role.FULL, parent=need.sha256)
