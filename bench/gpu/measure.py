"""A reranker of Qwen3-Reranker-0.6B's shape: the server's session on the card, beside PyTorch, run in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from bench.gpu import peers
from bench.gpu.models import QWEN3_06B, SMALL, Size, write_random
from bench.hostile.sections import Setup
from bench.results import Row, absent, against, spread
from bench.sections import Part
from quizglass_server.engines.onnx.providers import Ranges
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature
from quizglass_server.roles.shared.batching import prompt_ranges
from quizglass_server.roles.shared.packing import packed, packed_ranges

SHAPES = ((8, 256, 0.9, 0.0), (1, 256, 0.9, 0.0), (1, 64, 0.0, 1.5))
"""Rows, tokens, the bar against PyTorch compiled, and the bar in milliseconds; 0 for none."""
_LONGEST = 1024
_ALIKE = (8, 256, 128)
"""Rows, tokens, and how many of them all rows begin with: passages of one question."""
_MOST_OF_PLAIN = 1.0
_MOST_OF_FLOOR = 2.5
"""At the first shape, against the time that the card's measured rate of products would take."""


def run(setup: Setup) -> Part:
    """Time every shape; `--quick` takes a small model, wherever ONNX Runtime runs it."""
    part, size = Part(), SMALL if setup.quick else QWEN3_06B
    setup.say("writing a scorer with random weights")
    folder = setup.folder / "gpu"
    folder.mkdir(exist_ok=True)
    path, packed_path, provider = folder / "scorer.onnx", folder / "packed.onnx", "auto" if setup.quick else "cuda"
    write_random(size, path, packed=packed_path)
    session = _session(path, prompt_ranges(_LONGEST), provider)
    peer = peers.compiled(size)
    rate = peers.products_a_second()
    for rows, length, most, most_ms in SHAPES:
        setup.say(f"{rows} x {length} tokens")
        ours, theirs = _times(setup, session, peer, (rows, length))
        part.rows += rows_of(f"reranker {rows} x {length} tokens", ours, theirs, most, most_ms)
        part.data[f"{rows}x{length}_ms"] = {"ours": ours, "compiled": theirs}
        if rate and (rows, length) == SHAPES[0][:2]:
            part.rows.append(_beside_floor(size, rows * length, rate, ours))
    part.data["products_a_second"] = rate
    setup.say("prompts that begin alike")
    _beside_plain(setup, part, session, _session(packed_path, packed_ranges(_LONGEST), provider))
    return part


def _session(path: Path, ranges: Ranges, provider: str) -> OnnxSession:
    return OnnxSession(path, Signature("logits", ranges, stepped=True), OnnxOptions(provider=provider))


def _beside_plain(setup: Setup, part: Part, plain: OnnxSession, packing: OnnxSession) -> None:
    """The packed graph beside the plain one, which computes every prompt whole; packing the tokens counts."""
    rows, length, alike = _ALIKE
    ids = np.random.default_rng(1).integers(1, 400, (rows, length))
    ids[:, :alike] = ids[0, :alike]
    prompts, mask = ids.tolist(), np.ones_like(ids)
    ours, whole = in_turn(
        setup,
        lambda: packing.run(packed(prompts)),
        lambda: plain.run({"input_ids": ids, "attention_mask": mask}),
    )
    name = f"reranker {rows} x {length} tokens, the first {alike} alike, packed"
    part.rows.append(against(name, ours, "ms", "the plain graph", whole, _MOST_OF_PLAIN))
    part.data["packed_ms"] = {"packed": ours, "plain": whole}


def _times(
    setup: Setup, session: OnnxSession, peer: Callable[[np.ndarray], None] | None, shape: tuple[int, int]
) -> tuple[list[float], list[float]]:
    """Milliseconds of each run, ours and the peer's."""
    rng = np.random.default_rng(1)
    ids = rng.integers(1, 400, shape)
    mask = np.ones_like(ids)
    return in_turn(
        setup,
        lambda: session.run({"input_ids": ids, "attention_mask": mask}),
        None if peer is None else partial(peer, ids),
    )


def in_turn(
    setup: Setup, ours: Callable[[], object], theirs: Callable[[], object] | None
) -> tuple[list[float], list[float]]:
    """Milliseconds of each run, both in turn, after a warm-up that captures their graphs; none of a peer that is not
    there.
    """
    ways: list[tuple[Callable[[], object], list[float]]] = [(ours, [])]
    if theirs is not None:
        ways.append((theirs, []))
    for way, _ in ways:
        for _ in range(setup.count(10, 2)):
            way()
    for number in range(setup.count(60, 3)):
        for way, times in ways if number % 2 else reversed(ways):
            began = perf_counter()
            way()
            times.append((perf_counter() - began) * 1e3)
    return ways[0][1], ways[1][1] if theirs is not None else []


def rows_of(name: str, ours: list[float], theirs: list[float], most: float, most_ms: float) -> list[Row]:
    """Beside the peer, and by itself where there is a bar in milliseconds; 0 for no bar."""
    if not theirs:
        rows = [absent(f"{name} ({spread(ours)})", median(ours), "ms", peers.COMPILED, "torch has no card")]
    else:
        rows = [against(name, ours, "ms", peers.COMPILED, theirs, most or None)]
    if most_ms:
        rows.append(Row(f"{name}, by itself", median(ours), "ms", bar=f"<= {most_ms:g}", ok=median(ours) <= most_ms))
    return rows


def _beside_floor(size: Size, tokens: int, rate: float, ours: list[float]) -> Row:
    floor = 2 * size.parameters * tokens / rate * 1e3
    of = median(ours) / floor
    bar = f"<= {_MOST_OF_FLOOR:g}x"
    return Row(
        "the same beside the card's floor", median(ours), "ms", "2 P T / rate", floor, of, bar, of <= _MOST_OF_FLOOR
    )
