"""Reranking eight candidates of 256 tokens: the server's scorer beside torch, its memory, and what batches change.

The peer is the same checkpoint in torch, float32, as sentence-transformers' CrossEncoder runs such a model: one padded
batch, and a head of the two label rows at the last position (its converted Qwen3 rerankers are that), which is
cheaper than the model card's recipe with all logits.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.engine.contenders.setup import Setup
from bench.engine.figures import words
from bench.engine.scorers import rerankers
from bench.engine.scorers.rerankers import Reranker
from bench.results import Row, against, at_most
from bench.sections import Part

CANDIDATES, TOKENS = 8, 256
_PEER = "torch fp32, as a CrossEncoder"
_FULL = "ONNX with all logits"
_MEMORY_S = 300.0
Score = Callable[[str, Sequence[str]], list[float]]


async def run(setup: Setup) -> Part:
    """Both rerankers, each in both precisions."""
    part = Part()
    folder = setup.folder.resolve() / "rerankers"
    bundle = setup.bundle.resolve()
    made = (
        rerankers.starter(bundle, setup.checkpoints, folder, setup.say),
        rerankers.larger(bundle, folder, setup.say),
    )
    for reranker in (each for one in made for each in (one, rerankers.in_int8(one))):
        rows, data = await asyncio.to_thread(_measure, setup, reranker, rerankers.label_ids(bundle))
        part.rows += rows
        part.data[reranker.name] = data
    return part


def _measure(setup: Setup, reranker: Reranker, labels: list[int]) -> tuple[list[Row], dict[str, Any]]:
    served, close, encode = served_scorer(reranker.bundle, setup.threads)
    peer = _torch_scorer(reranker, labels, encode, setup.threads)
    times: tuple[list[float], list[float]] = ([], [])
    difference = 0.0
    try:
        _check(encode)
        for round_ in range(-1, setup.rounds):
            setup.say(f"reranker, {reranker.name}: round {round_ + 1} of {setup.rounds}")
            query, passages = candidates(round_)
            answers: list[list[float]] = [[], []]
            for which in ((0, 1), (1, 0))[round_ % 2]:
                began = perf_counter()
                answers[which] = (served, peer)[which](query, passages)
                if round_ >= 0:  # the first warms both up
                    times[which].append(1e3 * (perf_counter() - began))
            difference = max(difference, *(abs(a - b) for a, b in zip(*answers, strict=True)))
        moved = _moved(served)
    finally:
        close()
    setup.say(f"reranker, {reranker.name}: memory")
    ours, full = _peak("served", reranker, setup.threads), _peak("full", reranker, setup.threads)
    name = f"reranker, {reranker.name}"
    rows = [
        against(f"{name}: {CANDIDATES} candidates of {TOKENS} tokens", times[0], "ms", _PEER, times[1], 0.35),
        against(f"{name}: memory that takes, peak beyond an idle process", [ours], "MiB", _FULL, [full], 0.5),
        at_most(f"{name}: a score's change with other rows in the batch, largest", moved, "", 1e-5),
        Row(f"{name}: largest difference to torch's score", difference, ""),
    ]
    return rows, {"served_ms": times[0], "torch_ms": times[1], "served_mib": ours, "full_mib": full}


def candidates(seed: int) -> tuple[str, list[str]]:
    """A query and passages that are cut to `TOKENS` with it."""
    return words(8, 900 + seed), [words(TOKENS, 1000 * (seed + 2) + index) for index in range(CANDIDATES)]


def served_scorer(bundle: Path, threads: int) -> tuple[Score, Callable[[], None], Callable[[str, str], list[int]]]:
    """The server's scorer, how to close it, and the token ids that it makes of a query and a passage."""
    from quizglass_bundle.files import Bundle
    from quizglass_bundle.inputs.prompts import PromptTemplate, PromptTokenizer, encode_within
    from quizglass_bundle.parts import TextScorer
    from quizglass_server.engines.onnx.session import EnginePool, OnnxOptions
    from quizglass_server.roles.load import load_role
    from quizglass_server.roles.shared.fitting import PictureFitter
    from quizglass_server.roles.shared.loading import Loading

    loaded = Bundle.load(bundle)
    spec = loaded.roles.reranker
    if not isinstance(spec, TextScorer):
        raise SystemExit(f"{bundle}: no reranker by a text model")
    # As a server shares out its cores: several runs at a time, each with one thread.
    pool = EnginePool(threads)
    scorer = load_role("reranker", spec, Loading(loaded, pool, PictureFitter(), OnnxOptions(threads=1, provider="cpu")))
    tokenizer = PromptTokenizer(loaded.path(spec.tokenizer))
    template = PromptTemplate.load(loaded.path(spec.prompt))
    loop = asyncio.new_event_loop()

    def encode(query: str, passage: str) -> list[int]:
        return encode_within(tokenizer, template.render(query=query, passage=passage), [], spec.max_tokens)

    def close() -> None:
        pool.close()
        loop.close()

    return lambda query, passages: loop.run_until_complete(scorer.score(query, passages)), close, encode


def _torch_scorer(
    reranker: Reranker, labels: list[int], encode: Callable[[str, str], list[int]], threads: int
) -> Score:
    import torch
    import transformers

    torch.set_num_threads(threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(reranker.checkpoint, dtype=torch.float32).eval()
    head = model.lm_head.weight[labels]

    def score(query: str, passages: Sequence[str]) -> list[float]:
        rows = [encode(query, passage) for passage in passages]
        longest = max(map(len, rows))
        # Padded on the left, so that the last position is the last token of every row.
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        with torch.inference_mode():
            hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state[:, -1]
            return [float(value) for value in (hidden @ head.T).softmax(-1)[:, 0]]

    return score


def _check(encode: Callable[[str, str], list[int]]) -> None:
    query, passages = candidates(0)
    lengths = [len(encode(query, passage)) for passage in passages]
    if set(lengths) != {TOKENS}:
        raise RuntimeError(f"the candidates have {lengths} tokens, not {TOKENS} each; use longer passages")


def _moved(score: Score) -> float:
    """How far scores move when other rows, shorter and longer ones, share their batch."""
    query, _ = candidates(0)
    passages = [words(length, 50 + length) for length in (3, 20, 60, 61, 62, 100, 150, 250)]
    alone = [score(query, [passage])[0] for passage in passages]
    largest = 0.0
    for others in range(1, len(passages) + 1):
        together = score(query, passages[:others])
        reversed_ = score(query, passages[:others][::-1])[::-1]
        for scores in (together, reversed_):
            largest = max(largest, *(abs(a - b) for a, b in zip(alone, scores, strict=False)))
    return largest


def _peak(which: str, reranker: Reranker, threads: int) -> float:
    """Peak memory in MiB of a process that does this and nothing else."""
    path = reranker.bundle if which == "served" else reranker.full
    command = [
        sys.executable,
        "-m",
        "bench.engine.scorers.memory",
        which,
        str(path),
        str(reranker.bundle),
        str(threads),
    ]
    done = subprocess.run(command, check=True, capture_output=True, timeout=_MEMORY_S)
    return float(json.loads(done.stdout)["peak_mib"])
