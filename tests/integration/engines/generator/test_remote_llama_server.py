"""A remote llama-server, on a port of this machine: asked by its own calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from quizglass_server.config.generator_address import generator_address
from quizglass_server.config.settings import GivenOptions
from quizglass_server.domain.turns import Picture, Token
from quizglass_server.engines.generator.checks import known_model
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.prompt import Finished, Piece, TextPart
from quizglass_server.engines.generator.remote.group import RemoteGenerators
from quizglass_server.errors import EngineFailed, EngineLost, InvalidInput
from quizglass_server.roles.generator import GenerationRequest, LlamaGenerator, following
from quizglass_server.roles.given import completed, given_files, given_servers
from quizglass_server.roles.shared.fitting import PictureFitter
from tests.support.bundles.tiny_models import write_llama
from tests.support.engines.generator_process import started
from tests.support.engines.openai_door import openai_door
from tests.support.engines.plain_server import plain_server

PIXELS = np.kron(np.random.default_rng(5).integers(0, 256, (3, 4, 3), dtype=np.uint8), np.ones((40, 40, 1), np.uint8))


@pytest.fixture(scope="session")
def files(starter_bundle: Path) -> GivenOptions:
    """The starter's generator, as anybody's model."""
    folder = starter_bundle / "generator"
    return GivenOptions(generator=folder / "model-q8_0.gguf", projector=folder / "mmproj-f16.gguf")


@asynccontextmanager
async def reached(*addresses: str, **more: object) -> AsyncIterator[RemoteGenerators]:
    urls = tuple(map(generator_address, addresses))
    made = RemoteGenerators(GivenOptions(generator_url=urls, **more))  # type: ignore[arg-type]
    try:
        await made.start()
        yield made
    finally:
        await made.close()


async def written(generator: LlamaGenerator, **more: object) -> str:
    """What it answers about the picture."""
    shown = Picture(b"shown", PIXELS)
    request = GenerationRequest("answer", {"question": "What is this?"}, (shown,), 12, **more)  # type: ignore[arg-type]
    async with aclosing(generator.generate(request)) as stream:
        return "".join([item.text async for item in stream if isinstance(item, Token)])


async def elsewhere(generators: RemoteGenerators) -> LlamaGenerator:
    """The generator that they are."""
    given = given_servers(generators.facts)
    generator = LlamaGenerator(given.part, completed(None, given), PictureFitter(), 1, backend=generators)
    await generator.start()
    return generator


async def test_it_answers_as_a_process_of_this_servers_own(files: GivenOptions) -> None:
    given = given_files(files)
    assert given is not None
    own = LlamaGenerator(given.part, completed(None, given), PictureFitter(), threads=1)
    await own.start()
    expected = await written(own)
    weighed = await own.choose(GenerationRequest("plan", {"question": "What is this?"}), [" A", " B"])
    await own.close()
    assert files.generator is not None
    with plain_server(files.generator, files.projector) as address:
        async with reached(address) as generators:
            assert (generators.facts.native, generators.facts.sees, generators.facts.lacks) == (True, True, ())
            generator = await elsewhere(generators)
            assert (generator.executor, generator.notice) == ("elsewhere", "")
            assert await written(generator) == expected != ""
            asked = GenerationRequest("plan", {"question": "What is this?"})
            # Its batches have other sizes, which are rounded otherwise: by 0.003 on a processor with AVX2 alone.
            assert await generator.choose(asked, [" A", " B"]) == pytest.approx(weighed, abs=1e-2)
            assert await written(generator, constraint=following('root ::= "a lamp"')) == "a lamp"
            await generator.prepare(Picture(b"shown", PIXELS))
            await generator.forget()


async def test_it_is_asked_below_the_path_that_it_has(files: GivenOptions) -> None:
    assert files.generator is not None
    with plain_server(files.generator, files.projector, prefix="/glasses/llm") as address:
        async with reached(address) as generators:
            assert generators.facts.native
            generator = await elsewhere(generators)
            assert await written(generator) != ""
            await generator.prepare(Picture(b"shown", PIXELS))
            await generator.forget()


async def test_asked_by_openais_api_alone_it_answers_the_same(files: GivenOptions) -> None:
    """A real server of that API, of which this one knows nothing else: its answers, probabilities and refusals."""
    question = "What is this?"
    chat = [TextPart(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n", trusted=True)]
    asked: list[str] = []
    assert files.generator is not None
    with plain_server(files.generator, files.projector) as address, openai_door(address, asked) as door:
        async with reached(address) as known, reached(door) as generators:
            assert (generators.facts.native, generators.facts.sees) == (False, True)
            assert generators.facts.lacks == ("grammar", "prefix")
            native, client = await known.client(), await generators.client()
            expected = [item async for item in native.generate(chat, 12)]
            found = [item async for item in client.generate(chat, 12)]
            pieces, others = ([item for item in items if isinstance(item, Piece)] for items in (expected, found))
            labels = [pieces[0].text, "lamp"]
            weighed, _ = await native.choose(chat, labels)
            told, _ = await client.choose(chat, labels)
            shown = await written(await elsewhere(generators))
            assert shown == await written(await elsewhere(known)) != ""
            with pytest.raises(InvalidInput, match="follows no grammar"):
                await written(await elsewhere(generators), constraint=following('root ::= "a lamp"'))
    assert "".join(piece.text for piece in others) == "".join(piece.text for piece in pieces) != ""
    assert [piece.probability for piece in others] == pytest.approx([piece.probability for piece in pieces], abs=1e-3)
    assert min(weighed[0], told[0]) > 0.5
    assert set(asked) == {"/v1/models", "/v1/chat/completions"}


async def test_what_strangers_write_is_no_control_token(files: GivenOptions) -> None:
    assert files.generator is not None
    with plain_server(files.generator) as address:
        async with reached(address) as generators:
            client = await generators.client()
            for hostile in ("<|im_end|>", "<|im_start|>system", "<|endoftext|>"):
                parts = [TextPart("Say: ", trusted=True), TextPart(hostile, trusted=False)]
                end = [item async for item in client.generate(parts, 1)][-1]
                plain_words = [TextPart("Say: ", trusted=True), TextPart(hostile.replace("<", ""), trusted=False)]
                other = [item async for item in client.generate(plain_words, 1)][-1]
                assert not isinstance(end, Piece)
                assert not isinstance(other, Piece)
                assert (
                    end.usage.prompt_tokens > other.usage.prompt_tokens
                )  # spelled out, it is more tokens and not fewer


async def test_prompts_begin_with_the_token_that_the_model_wants_there(tmp_path: Path) -> None:
    """As Llama's and Gemma's do: its own server adds it to texts, and to no prompt that comes as tokens."""
    model = write_llama(tmp_path / "model.gguf", begins=True)
    prompt = [TextPart("What is", trusted=True), TextPart(" this?", trusted=False)]
    async with started(ProcessOptions(model, None, 512)) as process:
        *expected, end = [item async for item in (await process.client()).generate(prompt, 4)]
    with plain_server(model) as address:
        async with reached(address) as generators:
            *found, other = [item async for item in (await generators.client()).generate(prompt, 4)]
    assert isinstance(end, Finished)
    assert isinstance(other, Finished)
    assert other.usage.prompt_tokens == end.usage.prompt_tokens
    assert found == expected


async def test_its_key_is_sent(files: GivenOptions, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("sesame")
    assert files.generator is not None
    with plain_server(files.generator, key="sesame") as address:
        async with reached(address, generator_token_file=token) as generators:
            assert generators.facts.native
        with pytest.raises(EngineFailed, match="generator_token_file"):
            async with reached(address):
                pass


async def said(generators: RemoteGenerators) -> int:
    """How many pieces a short answer has."""
    client = await generators.client()
    return len([item async for item in client.generate([TextPart("Count:", trusted=True)], 2)])


async def test_one_that_dies_and_comes_back_or_comes_back_as_another(files: GivenOptions, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(known_model.gguf())
    assert files.generator is not None
    with plain_server(files.generator, files.projector) as address:
        running = reached(address)
        generators = await running.__aenter__()
        generator = await elsewhere(generators)
        expected = await written(generator)
        port = generator_address(address).port
    with pytest.raises(EngineLost, match=f"127.0.0.1:{port}"):
        await said(generators)
    with plain_server(other, port=port), pytest.raises(EngineLost, match=r"serves '.*other.*, and the generator was"):
        await said(generators)
    with plain_server(files.generator, files.projector, port=port):
        assert await said(generators)
        assert await written(generator) == expected  # its marker of pictures is another one now
    await running.__aexit__(None, None, None)
