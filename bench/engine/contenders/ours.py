"""Our side: the generator process as the server runs it, supervised, over its socket."""

from __future__ import annotations

import io
import re
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.busy import session_niceness, set_session_niceness
from bench.engine.contenders.contender import SYSTEM, Ask, Timed
from bench.engine.contenders.shapes import Shape
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.engines.generator.prompt import Part, PicturePart, Piece, TextPart

_BEFORE = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n"
_AFTER = "<|im_end|>\n<|im_start|>assistant\n"
"""ChatML, as the peers' chat template has it: the same tokens for all."""
_MARKER = re.compile(r"(<\|im_(?:start|end)\|>)")


@dataclass(slots=True)
class Ours:
    """A generator process with one model."""

    process: GeneratorProcess
    name: str = "quizglass"

    @classmethod
    async def start(cls, shape: Shape, threads: int, context: int, **more: Any) -> Ours:
        """Start it and wait until it serves; what `more` does not say is as the server's defaults have it."""
        options = ProcessOptions(
            model=shape.model,
            projector=shape.projector,
            context=context,
            stop=(shape.stop,),
            threads=threads,
            **more,
        )
        process = GeneratorProcess(options)
        await process.start()
        if process.pid is not None:
            # It began a session of its own; peers have this one's priority by themselves.
            set_session_niceness(session_niceness(), process.pid)
        return cls(process)

    async def complete(self, ask: Ask, timed: Timed) -> None:
        """Complete greedily."""
        async with aclosing((await self.process.client()).generate(parts(ask), ask.tokens)) as stream:
            async for item in stream:
                if isinstance(item, Piece):
                    timed.add(item.text)

    async def forget(self) -> None:
        """Have it keep nothing of earlier requests."""
        await (await self.process.client()).forget()

    async def close(self) -> None:
        """End the process."""
        await self.process.close()


def parts(ask: Ask) -> list[Part]:
    """A request as the generator takes it, with the same tokens as the peers get.

    As in a turn, markers are the template's, whose tokens the client keeps; all else is data, sent as text.
    """
    if ask.picture is None:
        pieces = filter(None, _MARKER.split(ask.text))
        return [TextPart(piece, trusted=_MARKER.fullmatch(piece) is not None) for piece in pieces]
    pixels = np.asarray(Image.open(io.BytesIO(ask.picture)).convert("RGB"))
    rgb = pixels.tobytes()
    picture = PicturePart(sha256(rgb).digest(), pixels.shape[1], pixels.shape[0], rgb)
    return [TextPart(_BEFORE, trusted=True), picture, TextPart(ask.text + _AFTER, trusted=True)]


def new_picture(side: int, seed: int) -> bytes:
    """A new picture, as PNG: soft blobs of colour, so that its size is a photograph's and not noise's."""
    random = np.random.default_rng(seed)
    small: NDArray[np.uint8] = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(small).resize((side, side), Image.Resampling.BICUBIC).save(out, "PNG", compress_level=1)
    return out.getvalue()
