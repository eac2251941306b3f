"""Reads the words printed in a picture."""

from __future__ import annotations

from quizglass_server.domain import Picture
from quizglass_server.models.faces import Reader
from quizglass_server.models.prompts import clean

MAX_WORDS_CHARS = 400
"""Longer readings (a whole page in view) are cut at a word, so that they leave the prompt room for evidence."""


async def read_words(reader: Reader, picture: Picture) -> str:
    """The picture's words in reading order, lines joined by spaces; empty when there are none."""
    text = clean(" ".join(await reader.read(picture)))
    if len(text) <= MAX_WORDS_CHARS:
        return text
    return text[:MAX_WORDS_CHARS].rpartition(" ")[0] or text[:MAX_WORDS_CHARS]
