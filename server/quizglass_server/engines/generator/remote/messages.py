"""Prompts in ChatML as the messages of OpenAI's chat completions.

The other side writes the markers of its own model, so ours are taken out. It also parses special tokens wherever they
stand, and its vocabulary is not known here: whatever looks like one is broken up where it stands in data.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.generator.prompt import Part, PicturePart
from quizglass_server.engines.generator.remote.control import without_special

_MARKER = re.compile(r"<\|im_start\|>(system|user|assistant)\n|<\|im_end\|>\n?")
_ENCODED_BYTES = 16 << 20
Message = dict[str, Any]


class PictureUrls:
    """Pictures as data URLs of PNG files, each made once."""

    def __init__(self) -> None:
        self._made = BoundedCache[bytes, str](_ENCODED_BYTES, len)

    def url(self, picture: PicturePart) -> str:
        """The URL of a picture."""
        made = self._made.get(picture.sha256)
        if made is None:
            pixels = np.frombuffer(picture.rgb, np.uint8).reshape(picture.height, picture.width, 3)
            _, encoded = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
            made = f"data:image/png;base64,{base64.b64encode(encoded.tobytes()).decode()}"
            self._made.put(picture.sha256, made)
        return made


def messages_of(prompt: Sequence[Part], pictures: PictureUrls) -> list[Message]:
    """The messages that a prompt consists of; one without markers is a single one of the user.

    What the assistant's answer is to begin with ends the question instead, since a chat has no half messages.
    """
    turns: list[tuple[str, list[Message]]] = [("user", [])]
    for part in prompt:
        if isinstance(part, PicturePart):
            turns[-1][1].append({"type": "image_url", "image_url": {"url": pictures.url(part)}})
        elif part.trusted:
            _read(part.text, turns)
        else:
            _append(turns[-1][1], without_special(part.text))
    turns = [(role, content) for role, content in turns if _said(content)]
    if len(turns) > 1 and turns[-1][0] == "assistant":
        _, begun = turns.pop()
        _append(turns[-1][1], "\n" + "".join(piece["text"] for piece in begun))
    return [{"role": role, "content": _content(content)} for role, content in turns]


def _read(text: str, turns: list[tuple[str, list[Message]]]) -> None:
    done = 0
    for match in _MARKER.finditer(text):
        _append(turns[-1][1], text[done : match.start()])
        if match[1]:
            turns.append((match[1], []))
        done = match.end()
    _append(turns[-1][1], text[done:])


def _append(content: list[Message], text: str) -> None:
    if content and content[-1]["type"] == "text":
        content[-1]["text"] += text
    elif text:
        content.append({"type": "text", "text": text})


def _said(content: list[Message]) -> bool:
    return any(piece["type"] != "text" or piece["text"].strip() for piece in content)


def _content(content: list[Message]) -> str | list[Message]:
    """A text alone as such, which models without eyes ask for."""
    return str(content[0]["text"]) if len(content) == 1 and content[0]["type"] == "text" else content
