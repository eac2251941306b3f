"""How fast llama.cpp computes with each type that GGUF files come in: a prompt of 300 tokens, and the tokens after it.

The model is a Llama of random weights, 163 million parameters, whose rows suit every type; SmolLM2's of 576 numbers do
not, and llama.cpp puts other types in place of K types there. Time is a core's own (`process_time`), on one thread, so
that other programs on the machine count little. Types take turns, and each figure is a median over the turns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import gguf
import llama_cpp.llama_cpp as llama
import numpy as np

from bench.export.setup import Setup
from bench.results import Row, ratio
from bench.sections import Part
from quizglass_export.gguf.jobs import quantise
from quizglass_export.gguf.text import finish
from quizglass_export.gguf.worker import fill, load, new_context
from quizglass_server.engines.generator.checks.backends import load_backends

TYPES = (
    *("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k_m", "q4_k_m", "q5_k_m", "q6_k", "iq4_nl", "iq4_xs"),
    *("f16", "bf16"),
)
"""As llama.cpp's quantiser writes files of these names; K types hold several."""
PEER = "q8_0"
PROMPT, WRITTEN, TURNS = 300, 32, 5
_WIDTH, _FEED_FORWARD, _LAYERS, _HEADS, _KV_HEADS, _VOCABULARY = 768, 2048, 20, 12, 4, 49_152


def run(setup: Setup) -> Part:
    """Every type beside Q8_0."""
    load_backends()
    turns = 1 if setup.quick else TURNS
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.gguf"
        _write(plain, 2 if setup.quick else _LAYERS)
        models: dict[str, Any] = {}
        for name in TYPES:
            setup.say(f"GGUF types: writing {name}")
            file = plain.with_name(f"{name}.gguf")
            quantise(plain, file, name)
            models[name] = load(str(file), llama.llama_model_default_params())
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in TYPES}
        for turn in range(turns):
            for name, model in models.items():
                setup.say(f"GGUF types: {name}, turn {turn + 1} of {turns}")
                times[name].append(_timed(model))
        for model in models.values():
            llama.llama_model_free(model)
    return Part(rows(times), {"prompt": PROMPT, "written": WRITTEN, "seconds": times})


def rows(times: Mapping[str, list[tuple[float, float]]]) -> list[Row]:
    """Of each type, with the peer's first: seconds to the first token, and tokens a second after it."""
    first = {name: median(turn[0] for turn in turns) for name, turns in times.items()}
    speed = {name: WRITTEN / median(turn[1] for turn in turns) for name, turns in times.items()}
    table = []
    for name in times:
        peer = "" if name == PEER else PEER.upper()
        for title, unit, values in (
            (f"{name.upper()}: first token after {PROMPT}", "s", first),
            (f"{name.upper()}: tokens a second", "tokens/s", speed),
        ):
            value, other = values[name], values[PEER]
            table.append(Row(title, value, unit, peer, other, ratio(value, other)) if peer else Row(title, value, unit))
    return table


def _timed(model: Any) -> tuple[float, float]:
    """Seconds of a core until the first token after the prompt, and for the tokens after that."""
    context, batch = new_context(model, 512, 512), llama.llama_batch_init(512, 0, 1)
    try:
        ids = [int(each) for each in np.random.default_rng(0).integers(0, _VOCABULARY, PROMPT + WRITTEN)]
        began = process_time()
        _decode(context, batch, ids[:PROMPT], 0)
        read = process_time()
        for place in range(PROMPT, PROMPT + WRITTEN):
            _decode(context, batch, ids[place : place + 1], place)
        return read - began, process_time() - read
    finally:
        llama.llama_batch_free(batch)
        llama.llama_free(context)


def _decode(context: Any, batch: Any, ids: list[int], place: int) -> None:
    fill(batch, ids, place, every=False)
    if code := llama.llama_decode(context, batch):
        raise RuntimeError(f"llama.cpp cannot decode ({code})")
    llama.llama_synchronize(context)


def _write(path: Path, layers: int) -> None:
    """The model in float32; it has no words, since none are asked for."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KV_HEADS)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(_VOCABULARY)
    writer.add_tokenizer_model("no_vocab")
    random = np.random.default_rng(0)
    narrow = _KV_HEADS * _WIDTH // _HEADS
    shapes = {"attn_q": (_WIDTH, _WIDTH), "attn_k": (narrow, _WIDTH), "attn_v": (narrow, _WIDTH)}
    shapes |= {"attn_output": (_WIDTH, _WIDTH), "ffn_gate": (_FEED_FORWARD, _WIDTH), "ffn_up": (_FEED_FORWARD, _WIDTH)}
    shapes |= {"ffn_down": (_WIDTH, _FEED_FORWARD)}
    every = {f"blk.{layer}.{name}": shape for layer in range(layers) for name, shape in shapes.items()}
    for name, shape in {"token_embd": (_VOCABULARY, _WIDTH), **every}.items():
        writer.add_tensor(f"{name}.weight", random.standard_normal(shape, np.float32) * np.float32(0.03))
    norms = [f"blk.{layer}.{name}" for layer in range(layers) for name in ("attn_norm", "ffn_norm")]
    for name in ("output_norm", *norms):
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, np.float32))
    finish(writer)
