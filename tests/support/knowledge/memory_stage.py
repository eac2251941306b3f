"""A server on a real socket with a real visual memory, behind models that know a picture by its colour."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from quizglass_bundle.tuning import Tuning, Views
from quizglass_client import Answer, AsyncClient
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.turns import RGB, Picture, Vector
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from tests.support.knowledge.fakes import FakeTextEncoder
from tests.support.rpc_fakes import Stage, png, serve_stage
from tests.support.turn_fakes import Knowledge, Models


class Eyes:
    """Pictures by their mean colour: red, green and blue are at right angles."""

    def __init__(self, fingerprint: str = "eyes-1") -> None:
        self.fingerprint, self.dimension, self.batches = fingerprint, 3, list[int]()

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        self.batches.append(len(pictures))
        means = [picture.pixels.reshape(-1, 3).mean(axis=0) + 1e-3 for picture in pictures]
        return [(mean / np.linalg.norm(mean)).astype(np.float32) for mean in means]


def frame(pixels: RGB) -> Picture:
    """A picture of these pixels, named by them."""
    return Picture(hashlib.sha256(pixels.tobytes()).digest(), pixels)


class MemoryStage(Stage):
    """A server whose turns run on dummies and whose memory is a directory."""

    def __init__(self, folder: Path, memory: SightingMemory | None, eyes: Eyes) -> None:
        super().__init__(folder)
        self.dummies, self.store = Models(), Knowledge()
        self.dummies[IMAGE_ENCODER], self.dummies[TEXT_ENCODER] = eyes, FakeTextEncoder()  # type: ignore[assignment]
        tuning = Tuning(image_accept=0.6, views=Views(unplaced=(1.0, 0.5)))
        resources = Resources(self.dummies, self.store, tuning, memory)  # type: ignore[arg-type]
        self.memory = memory
        self.use(Assistant(resources, "none"), memory)

    async def settled(self) -> None:
        """Wait until what was to be remembered is."""
        assert self.memory is not None
        await self.memory.settle()


@asynccontextmanager
async def remembering(
    folder: Path, *, on: bool = True, eyes: Eyes | None = None, **options: Any
) -> AsyncIterator[tuple[MemoryStage, AsyncClient]]:
    """A server with a memory in `folder`, unless it is off, and a client of it."""
    eyes = eyes or Eyes()
    memory = None
    if on:
        given = MemoryOptions(**options)
        memory = await SightingMemory.open(folder / "memory", given, text_encoder=FakeTextEncoder(), image_encoder=eyes)
    try:
        async with serve_stage(MemoryStage(folder, memory, eyes)) as stage, AsyncClient(stage.target) as client:
            yield stage, client
    finally:
        if memory is not None:
            await memory.close()


def shot(colour: str, side: int = 64) -> bytes:
    """A picture of one colour."""
    return png(side, side, colour)


async def saw(client: AsyncClient, colour: str, question: str = "What is this?", **more: Any) -> Answer:
    """Ask about a picture, to be remembered."""
    return await client.answer(question, shot(colour), remember=True, **more)
