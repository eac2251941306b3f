"""The planner as it is served, and the same merged model asked for its letter through transformers' generate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
import transformers
from PIL import Image

from bench.worlds import Trial, in_own_order, picture
from quizglass.values import Exchange
from quizglass_bundle.files import Bundle
from quizglass_bundle.inputs.prompts import PromptTemplate, PromptTokenizer
from quizglass_bundle.inputs.vision_inputs import image_span
from quizglass_bundle.parts import VisionScorer
from quizglass_export.checkpoints.source import Source
from quizglass_lab.pocketworld.questions import Question
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.pictures import decode_picture
from quizglass_server.domain.turns import Turn
from quizglass_server.engines.onnx.session import EnginePool, OnnxOptions
from quizglass_server.roles.decider import Decider
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading

Ask = Callable[[Turn, str], str]
"""A turn and the words in its picture to a plan."""


def time_planners(
    trial: Trial, bundle: Bundle, checkpoints: Path, threads: int, tick: Callable[[], None]
) -> tuple[list[float], list[float], float]:
    """Milliseconds of each question, served and peer in either order, and the share of equal plans.

    Both get the decoded frame and the question; both resize, tokenise and run the model. No picture is asked twice.
    """
    pool = EnginePool(1)
    served = _served(bundle, pool, threads)
    peer = _peer(bundle, checkpoints, threads)
    times: tuple[list[float], list[float]] = ([], [])
    equal = []
    try:
        for question in trial.questions:
            turn = as_turn(question)
            plans = ["", ""]
            for which in in_own_order(question.id, (0, 1)):
                started = perf_counter()
                plans[which] = (served, peer)[which](turn, question.words or "")
                times[which].append((perf_counter() - started) * 1e3)
            equal.append(plans[0] == plans[1])
            tick()
    finally:
        pool.close()
    return times[0], times[1], sum(equal) / len(equal)


def as_turn(question: Question) -> Turn:
    """A question as the server sees it."""
    frame = decode_picture(picture(question), PictureLimits(), "picture")
    history = tuple(Exchange(asked, answered) for asked, answered in question.history)
    return Turn(question.id, question.text, frame, history)


def _served(bundle: Bundle, pool: EnginePool, threads: int) -> Ask:
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(threads=threads, provider="cpu"))
    planner: Decider = load_role("planner", _planner(bundle), loading)
    loop = asyncio.new_event_loop()

    def ask(turn: Turn, words: str) -> str:
        history = [{"question": past.question, "answer": past.answer} for past in turn.history]
        shown = () if turn.picture is None else (turn.picture,)
        asked = planner.probabilities(shown, {"question": turn.question, "history": history, "words": words})
        return max(loop.run_until_complete(asked), key=lambda item: item[1])[0]

    return ask


def _planner(bundle: Bundle) -> VisionScorer:
    if not isinstance(bundle.roles.planner, VisionScorer):
        raise SystemExit(f"{bundle.root}: no planner that sees pictures")
    return bundle.roles.planner


def _peer(bundle: Bundle, checkpoints: Path, threads: int) -> Ask:
    torch.set_num_threads(threads)
    source = Source(checkpoints / "base", adapters=((checkpoints / "planner", 1.0),))
    model = source.load("Qwen2_5_VLForConditionalGeneration")
    spec = _planner(bundle)
    tokenizer = PromptTokenizer(bundle.path(spec.tokenizer))
    template = PromptTemplate.load(bundle.path(spec.prompt))
    plans = {tokenizer.label(letter): name for name, letter in spec.labels}
    span = image_span(tokenizer, spec.image_token, spec.picture)
    processor = transformers.Qwen2VLImageProcessor(
        do_resize=False,
        image_mean=list(spec.picture.mean),
        image_std=list(spec.picture.std),
        patch_size=spec.picture.patch,
        merge_size=spec.picture.merge,
        temporal_patch_size=spec.picture.temporal,
    )
    size = (spec.picture.width, spec.picture.height)

    def ask(turn: Turn, words: str) -> str:
        if turn.picture is None:
            raise ValueError(f"turn {turn.id} has no picture")
        small = np.asarray(Image.fromarray(turn.picture.pixels).resize(size, Image.Resampling.BICUBIC))
        history = [{"question": past.question, "answer": past.answer} for past in turn.history]
        prompt = template.render(pictures=1, question=turn.question, history=history, words=words)
        ids = torch.tensor([tokenizer.encode(prompt, span)])
        pixels = processor(images=[small], return_tensors="pt")
        with torch.inference_mode():
            out = model.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False, **pixels
            )
        return plans.get(int(out[0, -1]), "")

    return ask
