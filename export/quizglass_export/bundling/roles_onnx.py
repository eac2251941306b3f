"""The ONNX roles of a bundle: each is exported, compared with PyTorch, and described for the manifest."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

from quizglass_export.bundling.checkpoints import TOKENIZER, read_json
from quizglass_export.bundling.encoders import write_image_encoder, write_text_encoder
from quizglass_export.bundling.errors import ExportError
from quizglass_export.bundling.job import PREPROCESSOR, TOKENIZER_FILE, BuildJob, normalisation
from quizglass_export.bundling.merge import merge_adapter
from quizglass_export.bundling.onnx_file import halve_weights, write_onnx
from quizglass_export.bundling.parity import (
    Check,
    Floats,
    Inputs,
    as_array,
    batches,
    check_scorer,
    check_vectors,
    pool,
    session,
    tokenise_padded,
)
from quizglass_export.bundling.scorer_text import TextScorer
from quizglass_export.bundling.scorer_vl import VisionScorer
from quizglass_export.bundling.settings import IMAGE_TOKEN, PLAN_LABELS, RELEVANCE_LABELS
from quizglass_server import manifest
from quizglass_server.domain import RGB
from quizglass_server.models import vision_inputs
from quizglass_server.models.prompts import PromptTokenizer

_ROWS = {0: "batch", 1: "sequence"}
_TEXT_AXES = {"input_ids": _ROWS, "attention_mask": _ROWS, "logits": {0: "batch"}}
_VISION_AXES = _TEXT_AXES | {"position_ids": {1: "batch", 2: "sequence"}, "pixel_values": {0: "batch"}}


def build_planner(job: BuildJob) -> tuple[manifest.VisionScorer, list[Check]]:
    """Merge, export and check the planner."""
    labels = job.labels(TOKENIZER_FILE, PLAN_LABELS)
    model = merge_adapter(job.checkpoints.load("base"), job.checkpoints.part("planner"))
    part = manifest.VisionScorer(
        engine="onnx",
        kind="vl-scorer",
        model="planner/model.onnx",
        tokenizer=TOKENIZER_FILE,
        prompt="prompts/plan.jinja",
        labels=PLAN_LABELS,
        picture=job.picture(),
        image_token=IMAGE_TOKEN,
        max_tokens=job.settings.planner_tokens,
    )
    tokenizer = PromptTokenizer(job.path(TOKENIZER_FILE))
    image_id = tokenizer.token_id(IMAGE_TOKEN)
    if image_id != model.config.image_token_id:
        raise ExportError(f"config.json: image_token_id is {model.config.image_token_id}, tokenizer has {image_id}")
    span = vision_inputs.image_span(tokenizer, IMAGE_TOKEN, part.picture)
    template = job.prompt("plan")
    rows, pictures = [], []
    for sample in job.samples:
        prompt = template.render(
            picture=True, question=sample.question, history=sample.turns(), words=sample.words or None
        )
        rows.append(tokenizer.encode(prompt, span))
        pictures.append(vision_inputs.fit(sample.picture, part.picture))

    def inputs(indices: Sequence[int]) -> Inputs:
        return vision_inputs.scorer_batch(
            [rows[i] for i in indices], image_id, part.picture, [pictures[i] for i in indices]
        )

    scorer = VisionScorer(model, labels, vision_inputs.patch_grid(part.picture)).eval()
    _write_scorer(scorer, inputs([0, len(rows) - 1]), _VISION_AXES, job.path(part.model))
    references = [
        _vision_logits(model, row, picture, part.picture)[labels] for row, picture in zip(rows, pictures, strict=True)
    ]
    return part, check_scorer("planner", job.path(part.model), references, inputs, job.demands.logits)


def build_reranker(job: BuildJob) -> tuple[manifest.TextScorer, list[Check]]:
    """Merge, export and check the reranker."""
    file = job.reranker_tokenizer()
    labels = job.labels(file, RELEVANCE_LABELS)
    model = merge_adapter(job.checkpoints.load("reranker_base"), job.checkpoints.part("reranker"))
    part = manifest.TextScorer(
        engine="onnx",
        kind="text-scorer",
        model="reranker/model.onnx",
        tokenizer=file,
        prompt="prompts/rerank.jinja",
        labels=RELEVANCE_LABELS,
        max_tokens=min(job.settings.reranker_tokens, model.config.max_position_embeddings),
    )
    tokenizer, template = PromptTokenizer(job.path(file)), job.prompt("rerank")
    rows = [
        tokenizer.encode(template.render(query=sample.query, passage=passage))
        for sample in job.samples
        for passage in sample.passages
    ][: len(job.samples)]

    def inputs(indices: Sequence[int]) -> Inputs:
        return vision_inputs.scorer_batch([rows[i] for i in indices])

    _write_scorer(TextScorer(model, labels).eval(), inputs([0, len(rows) - 1]), _TEXT_AXES, job.path(part.model))
    with torch.no_grad():
        references = [as_array(model(input_ids=torch.tensor([row])).logits[0, -1, labels]) for row in rows]
    return part, check_scorer("reranker", job.path(part.model), references, inputs, job.demands.logits)


def build_image_encoder(job: BuildJob) -> tuple[manifest.ImageEncoder, list[Check]]:
    """Export and check the image encoder."""
    folder = job.checkpoints.part("image_encoder")
    model = job.checkpoints.load("image_encoder")
    mean, std = normalisation(folder / PREPROCESSOR)
    side = int(model.config.image_size)
    part = manifest.ImageEncoder(
        engine="onnx",
        kind="image-encoder",
        model="image_encoder/model.onnx",
        picture=manifest.Normalised(width=side, height=side, mean=mean, std=std),
        dimension=int(model.config.projection_dim),
    )
    path = job.path(part.model)
    write_image_encoder(model, path)
    halve_weights(path)
    run, exported, references = session(path), list[Floats](), list[Floats]()
    processor = transformers.CLIPImageProcessor(
        do_resize=False, do_center_crop=False, image_mean=list(mean), image_std=list(std)
    )
    for indices in batches(len(job.samples)):
        pictures = [vision_inputs.fit(job.samples[i].picture, part.picture) for i in indices]
        stacked = np.stack([vision_inputs.channels(picture, part.picture) for picture in pictures])
        exported += list(run.run(["image_embeds"], {"pixel_values": stacked})[0])
        with torch.no_grad():
            references += list(as_array(model(**processor(pictures, return_tensors="pt")).image_embeds))
    return part, [check_vectors("image_encoder", exported, references, job.demands.cosine)]


def build_text_encoder(job: BuildJob) -> tuple[manifest.TextEncoder, list[Check]]:
    """Export and check the text encoder."""
    folder = job.checkpoints.part("text_encoder")
    job.checkpoints.check_vocabulary("text_encoder", folder / TOKENIZER)
    model = job.checkpoints.load("text_encoder", add_pooling_layer=False)
    pooling = read_json(folder / "pooling.json") if (folder / "pooling.json").is_file() else {}
    part = manifest.TextEncoder(
        engine="onnx",
        kind="text-encoder",
        model="text_encoder/model.onnx",
        tokenizer="text_encoder/tokenizer.json",
        dimension=int(model.config.hidden_size),
        pooling=pooling.get("pooling", "mean"),
        query_prefix=pooling.get("query_prefix", ""),
        passage_prefix=pooling.get("passage_prefix", ""),
        max_tokens=min(pooling.get("max_tokens", 256), int(model.config.max_position_embeddings)),
    )
    shutil.copyfile(folder / TOKENIZER, job.path(part.tokenizer))
    write_text_encoder(model, job.path(part.model))
    halve_weights(job.path(part.model))
    texts = [part.query_prefix + sample.query for sample in job.samples]
    texts += [part.passage_prefix + passage for sample in job.samples for passage in sample.passages]
    exported = _exported_texts(job, part, texts)
    references = _reference_texts(model, folder, part, texts)
    return part, [check_vectors("text_encoder", exported, references, job.demands.cosine)]


def _exported_texts(job: BuildJob, part: manifest.TextEncoder, texts: list[str]) -> list[Floats]:
    run, tokenizer = session(job.path(part.model)), Tokenizer.from_file(str(job.path(part.tokenizer)))
    names = {tensor.name for tensor in run.get_inputs()}
    vectors: list[Floats] = []
    for indices in batches(len(texts)):
        inputs = tokenise_padded(tokenizer, [texts[i] for i in indices], part.max_tokens)
        states = run.run(["last_hidden_state"], {name: inputs[name] for name in inputs if name in names})[0]
        vectors += list(pool(states, inputs["attention_mask"].astype(np.int64), part.pooling))
    return vectors


def _reference_texts(model: Any, folder: Path, part: manifest.TextEncoder, texts: list[str]) -> list[Floats]:
    """One text at a time through transformers' own tokenizer, so that padding cannot hide a difference."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    vectors: list[Floats] = []
    with torch.no_grad():
        for text in texts:
            inputs = tokenizer(text, truncation=True, max_length=part.max_tokens, return_tensors="pt")
            states = as_array(model(**inputs).last_hidden_state)
            vectors += list(pool(states, inputs["attention_mask"].numpy(), part.pooling))
    return vectors


def _vision_logits(model: Any, row: list[int], picture: RGB, spec: manifest.Patched) -> Floats:
    """Logits [V] after a prompt, by transformers alone: its image processor and its own positions."""
    processor = transformers.Qwen2VLImageProcessor(
        do_resize=False,
        image_mean=list(spec.mean),
        image_std=list(spec.std),
        patch_size=spec.patch,
        merge_size=spec.merge,
        temporal_patch_size=spec.temporal,
    )
    ids = torch.tensor([row])
    with torch.no_grad():
        pixels = processor(images=[picture], return_tensors="pt")
        output = model(input_ids=ids, attention_mask=torch.ones_like(ids), **pixels)
    return as_array(output.logits[0, -1])


def _write_scorer(scorer: torch.nn.Module, example: Inputs, axes: dict[str, dict[int, str]], path: Path) -> None:
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in example.items()}
    write_onnx(scorer, tensors, axes, "logits", path)
    halve_weights(path)
