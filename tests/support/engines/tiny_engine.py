"""The generator's engine on a tiny random model, with small limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gguf

from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.costs.cost_model import Costs
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.link.prompt import (
    Finished,
    Part,
    Piece,
    Urgency,
)
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.model import NativeModel, start_backend
from quizglass_server.engines.llama.native.options import LoadOptions
from tests.support.bundles.tiny_models import HEIGHT, WIDTH, vocabulary, write_generator
from tests.support.engines.engine_runs import SMALL_PIECES

CONTEXT = 512
LOG = LlamaLog()
start_backend(LOG)


def tiny_load_options(directory: Path) -> LoadOptions:
    """Of a tiny model, which is written: three prompts kept, three that may wait."""
    made = write_generator(directory)
    return LoadOptions(made.model, made.projector, WIDTH, HEIGHT, CONTEXT, sequences=3, threads=1, generator_queue=3)


async def working(model: NativeModel, costs: Costs = SMALL_PIECES) -> EngineWorker:
    """A worker whose engine is loaded."""
    return await EngineWorker.start(lambda: Engine(model, [], costs))


async def collected(worker: EngineWorker, parts: list[Part], tokens: int, urgency: Urgency) -> tuple[str, Finished]:
    """A whole answer and how it ended."""
    text, end = "", None
    async for items in worker.generate(parts, tokens, urgency):
        for item in items:
            if isinstance(item, Piece):
                text += item.text
            else:
                end = item
    assert end is not None
    return text, end


def spoiled(options: LoadOptions, token: str, directory: Path) -> LoadOptions:
    """The same model, but what it makes of one token is not numbers: a norm of nothing."""
    path = directory / "spoiled.gguf"
    path.write_bytes(options.model.read_bytes())
    reader = gguf.GGUFReader(path, "r+")
    (embedding,) = (tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    embedding.data[vocabulary().index(token)] = 0
    reader.data.flush()
    return replace(options, model=path, generator_queue=16)
