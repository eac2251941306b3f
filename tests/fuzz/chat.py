"""The body of a chat: POST /v1/chat/completions."""

from contextlib import suppress
from typing import cast

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.errors import InvalidInput
from quizglass_server.web.chat.request import read_chat

LONGEST_S = 0.25
WORDS = (
    '"messages"',
    '"role"',
    '"user"',
    '"content"',
    '"type"',
    '"text"',
    '"image_url"',
    '"url"',
    "data:image/png;base64,",
)
_MOST_HISTORY = 8


def enter(data: bytes) -> None:
    """Read a body."""
    with suppress(InvalidInput):
        read_chat(data, _MOST_HISTORY, cast(PictureCache, None))  # decodes later, if there is a picture
