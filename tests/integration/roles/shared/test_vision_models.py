"""Vision-language models of every family that people have: what is answered about a picture is what llama-server says.

The checkpoints are tiny and random, made and converted when the tests run; `make models-test` runs them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS, SegmentKind, filled, load_template
from quizglass_server.config.options import GivenOptions
from quizglass_server.domain.turns import RGB, Picture, Token
from quizglass_server.engines.generator.prompt import Part, PicturePart, TextPart
from quizglass_server.engines.generator.remote.messages import PictureUrls, messages_of
from quizglass_server.roles.generator import GenerationRequest, LlamaGenerator
from quizglass_server.roles.given import completed, given_files
from quizglass_server.roles.shared.fitting import PictureFitter
from tests.support.engines.plain_server import plain_server
from tests.support.vision_models.converter import Conversion, convert
from tests.support.vision_models.families import FAMILIES

pytestmark = pytest.mark.models
QUESTIONS = ("What is this?", "How many legs has it?")
TOKENS = 16
_CUT = 8
"""Characters that the last two tokens may have."""


def picture(seed: int, down: int, across: int) -> RGB:
    """Squares of 40 pixels in random colours."""
    colours = np.random.default_rng(seed).integers(0, 256, (down, across, 3), dtype=np.uint8)
    return np.kron(colours, np.ones((40, 40, 1), np.uint8))


PICTURES = (picture(1, 3, 4), picture(2, 5, 3))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GivenOptions]:
    """The model and projector of each family, by its name."""
    folder = tmp_path_factory.mktemp("models")
    conversions = []
    for family in FAMILIES:
        checkpoint = folder / family.name
        checkpoint.mkdir()
        family.make(checkpoint)
        files = folder / f"{family.name}.gguf", folder / f"{family.name}-mmproj.gguf"
        conversions.append(Conversion(checkpoint, *files, family.splitting, family.flags))
    convert(conversions)
    return {
        family.name: GivenOptions(generator=each.model, projector=each.projector)
        for family, each in zip(FAMILIES, conversions, strict=True)
    }


@asynccontextmanager
async def served(options: GivenOptions) -> AsyncIterator[LlamaGenerator]:
    """The model as a server without a bundle runs it."""
    given = given_files(options)
    assert given is not None
    generator = LlamaGenerator(given.part, completed(None, given), PictureFitter(), threads=1)
    try:
        await generator.start()
        yield generator
    finally:
        await generator.close()


async def answered(generator: LlamaGenerator, question: str, pixels: RGB) -> str:
    """What it writes about a picture."""
    shown = Picture(pixels.tobytes()[:32], pixels)
    request = GenerationRequest("answer", {"question": question}, (shown,), TOKENS)
    async with aclosing(generator.generate(request)) as stream:
        return "".join([item.text async for item in stream if isinstance(item, Token)])


def asked(address: str, question: str, pixels: RGB) -> str:
    """What plain llama-server answers a chat that says the same."""
    parts: list[Part] = []
    for segment in load_template(GENERAL_PROMPTS / "answer.jinja", sees=True).render(
        pictures=1, **filled({"question": question})
    ):
        if segment.kind is SegmentKind.IMAGE:
            parts.append(PicturePart(b"shown", pixels.shape[1], pixels.shape[0], pixels.tobytes()))
        else:
            parts.append(TextPart(segment.text, trusted=segment.kind is SegmentKind.TEXT))
    body: dict[str, Any] = {
        "messages": messages_of(parts, PictureUrls()),
        **{"max_tokens": TOKENS, "temperature": 0, "chat_template_kwargs": {"enable_thinking": False}},
    }
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), headers), timeout=60) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def alike(ours: str, theirs: str) -> bool:
    """Whether two texts are the same but for halves of characters, which random models write and servers tell in
    different ways, and for where a limit of tokens cut off what has them."""
    first, second = (text.replace("\ufffd", "").strip() for text in (ours, theirs))
    return abs(len(first) - len(second)) <= _CUT and (first.startswith(second) or second.startswith(first))


@pytest.mark.parametrize("name", [family.name for family in FAMILIES])
async def test_a_family_is_answered_with_as_by_llama_server_alone(name: str, files: dict[str, GivenOptions]) -> None:
    models = files[name].generator, files[name].projector
    async with served(files[name]) as generator:
        assert generator.sees_pictures
        ours = [await answered(generator, question, shown) for question in QUESTIONS for shown in PICTURES]
    with plain_server(*models) as address:
        theirs = [asked(address, question, shown) for question in QUESTIONS for shown in PICTURES]
    assert all(alike(*pair) for pair in zip(ours, theirs, strict=True)), (ours, theirs)
    assert len({text[: TOKENS // 2] for text in ours if len(text) >= TOKENS // 2}) > 1  # pictures make a difference
