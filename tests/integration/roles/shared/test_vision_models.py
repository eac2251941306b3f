"""Vision-language models of every family that people have: about a picture they say what llama.cpp alone makes of them,
its server and its program for pictures, `llama-mtmd-cli`.

The checkpoints are tiny and random, made and converted when the tests run; `make models-test` runs them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import jinja2
import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS, SegmentKind, filled, load_template
from quizglass_server.config.settings import GivenOptions
from quizglass_server.domain.turns import RGB, Picture, Token
from quizglass_server.engines.generator.prompt import Part, PicturePart, TextPart
from quizglass_server.engines.generator.remote.messages import PictureUrls, messages_of
from quizglass_server.roles.generator import GenerationRequest, LlamaGenerator
from quizglass_server.roles.given import completed, given_files
from quizglass_server.roles.shared.fitting import PictureFitter
from tests.support.engines.plain_server import plain_server
from tests.support.vision_models import mtmd_cli
from tests.support.vision_models.converter import Conversion, convert
from tests.support.vision_models.families import FAMILIES, Family

pytestmark = pytest.mark.models
QUESTIONS = ("What is this?", "How many legs has it?")
TOKENS = 16


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


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """llama.cpp's own `llama-mtmd-cli`."""
    return mtmd_cli.compiled(tmp_path_factory.mktemp("mtmd"))


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


def prompt_of(question: str, pixels: RGB) -> list[Part]:
    """The prompt of a question, as a bundle without a template of its own has it."""
    parts: list[Part] = []
    for segment in load_template(GENERAL_PROMPTS / "answer.jinja", sees=True).render(
        pictures=1, **filled({"question": question})
    ):
        if segment.kind is SegmentKind.IMAGE:
            parts.append(PicturePart(b"shown", pixels.shape[1], pixels.shape[0], pixels.tobytes()))
        else:
            parts.append(TextPart(segment.text, trusted=segment.kind is SegmentKind.TEXT))
    return parts


def asked(address: str, question: str, pixels: RGB) -> str:
    """What plain llama-server answers a chat that says the same."""
    body: dict[str, Any] = {
        "messages": messages_of(prompt_of(question, pixels), PictureUrls()),
        **{"max_tokens": TOKENS, "temperature": 0, "chat_template_kwargs": {"enable_thinking": False}},
    }
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), headers), timeout=60) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def written(program: Path, family: Family, models: GivenOptions, question: str, file: Path, pixels: RGB) -> bytes:
    """What `llama-mtmd-cli` writes, by the checkpoint's own chat template; special tokens are left out."""
    messages = [
        {"role": each["role"], "content": "".join(piece.get("text", mtmd_cli.MARKER) for piece in _pieces(each))}
        for each in messages_of(prompt_of(question, pixels), PictureUrls())
    ]
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False).from_string(family.template)
    prompt = template.render(messages=messages, add_generation_prompt=True, bos_token=family.specials[0])
    assert models.generator is not None
    assert models.projector is not None
    found = mtmd_cli.answered(program, models.generator, models.projector, file, prompt, TOKENS)
    for special in family.specials:
        found = found.replace(special.encode(), b"")
    return found.removeprefix(b"\n\n").removesuffix(b"\n\n")


def _pieces(message: Mapping[str, Any]) -> Sequence[Mapping[str, str]]:
    content = message["content"]
    return [{"text": content}] if isinstance(content, str) else content


def streamed(written: bytes) -> bytes:
    """As much of a text as llama-server streams: it holds back what seems to end in the middle of a character."""
    return next(written[:end] for end in range(len(written), -1, -1) if not _is_held_back(written[:end]))


def _is_held_back(text: bytes) -> bool:
    """As `validate_utf8` of llama.cpp sees it: a first byte with too few behind it, whatever these are."""
    lengths = [(0xE0, 0xC0, 2), (0xF0, 0xE0, 3), (0xF8, 0xF0, 4)]
    return any(
        byte & mask == first and behind < length
        for behind, byte in enumerate(reversed(text[-4:]), 1)
        for mask, first, length in lengths
    )


def plain(text: str | bytes) -> str:
    """Without halves of characters and null bytes, which random models write and programs print in their own ways."""
    whole = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return whole.replace("\ufffd", "").replace("\0", "").strip()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
async def test_a_family_is_answered_with_as_by_llama_cpp_itself(
    family: Family, files: dict[str, GivenOptions], program: Path, tmp_path: Path
) -> None:
    models = files[family.name]
    asks = [(question, shown) for question in QUESTIONS for shown in PICTURES]
    async with served(models) as generator:
        assert generator.sees_pictures
        ours = [await answered(generator, *ask) for ask in asks]
    with plain_server(models.generator, models.projector) as address:
        theirs = [asked(address, *ask) for ask in asks]
    alone = []
    for number, (question, shown) in enumerate(asks):
        Image.fromarray(shown).save(file := tmp_path / f"{number}.png")
        alone.append(written(program, family, models, question, file, shown))
    assert [plain(text) for text in theirs] == [plain(text) for text in alone]
    assert [plain(text) for text in ours] == [plain(streamed(text)) for text in alone]
    assert len({text[: TOKENS // 2] for text in ours if len(text) >= TOKENS // 2}) > 1  # pictures make a difference
