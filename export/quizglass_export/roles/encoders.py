"""Encoders and cross-encoders of a bundle: exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

from quizglass_export.checkpoints.sentence_files import Embedding, read_embedding
from quizglass_export.onnx.accept import Feed, apply_precision, check_lossy_scorer
from quizglass_export.onnx.optimum_encoders import write_cross_encoder, write_image_encoder, write_text_encoder
from quizglass_export.parity import (
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
from quizglass_export.recipe import schema
from quizglass_export.roles.job import PREPROCESSOR, Exported, RoleJob, normalisation
from quizglass_server.bundle import manifest
from quizglass_server.models import vision_inputs

_CLIP_REST = r"^(text_model\.|text_projection|logit_scale|logit_bias|vision_model\.embeddings\.position_ids$)"
IMAGE_CLASSES = {
    "clip": ("CLIPVisionModelWithProjection", _CLIP_REST),
    "clip_vision_model": ("CLIPVisionModelWithProjection", r"\.position_ids$"),
    "siglip": ("SiglipVisionModel", _CLIP_REST),
    "siglip_vision_model": ("SiglipVisionModel", r"\.position_ids$"),
}
"""Model type to class, and the keys of its checkpoints that the image encoder does not have."""
TEXT_CLASSES = {
    "bert": ("BertModel", r"^(pooler\.|cls\.|.*\.position_ids$)"),
    "xlm-roberta": ("XLMRobertaModel", r"^(pooler\.|lm_head\.|.*\.position_ids$)"),
    "modernbert": ("ModernBertModel", r"^(head\.|decoder\.)"),
    "qwen3": ("Qwen3Model", r"^lm_head\."),
}
CROSS_CLASSES = {
    "bert": "BertForSequenceClassification",
    "xlm-roberta": "XLMRobertaForSequenceClassification",
    "modernbert": "ModernBertForSequenceClassification",
}
_POSITIONS = r".*\.position_ids$"


def prepare_image_encoder(job: RoleJob, spec: schema.ImageEncoder) -> None:
    """Check what is known without weights: how its pictures are normalised."""
    normalisation(job.source.folder / PREPROCESSOR)


def export_image_encoder(job: RoleJob, spec: schema.ImageEncoder) -> Exported:
    """Export the image encoder."""
    model = _image_model(job, job.source.load)
    mean, std = normalisation(job.source.folder / PREPROCESSOR)
    side = int(model.config.image_size)
    clip = model.config.model_type == "clip_vision_model"
    part = manifest.ImageEncoder(
        engine="onnx",
        kind="image-encoder",
        model=f"{job.role}/model.onnx",
        picture=manifest.Normalised(width=side, height=side, mean=mean, std=std),
        dimension=int(model.config.projection_dim if clip else model.config.hidden_size),
    )
    write_image_encoder(model, job.path(part.model))
    return Exported(part, apply_precision(job.path(part.model), spec.precision, _pixels(job, part), len(job.samples)))


def check_image_encoder(job: RoleJob, spec: schema.ImageEncoder, part: manifest.ImageEncoder) -> list[Check]:
    """Compare the image encoder with transformers."""
    model = _image_model(job, job.source.reference)
    clip = model.config.model_type == "clip_vision_model"
    kind = transformers.CLIPImageProcessor if clip else transformers.SiglipImageProcessor
    fixed = {"do_resize": False} | ({"do_center_crop": False} if clip else {})
    processor = kind(**fixed, image_mean=list(part.picture.mean), image_std=list(part.picture.std))
    run, feed, exported, references = session(job.path(part.model)), _pixels(job, part), list[Floats](), list[Floats]()
    for size in job.batches:
        for indices in batches(len(job.samples), size):
            exported += list(run.run(["image_embeds"], feed(indices))[0])
    for sample in job.samples:
        with torch.no_grad():
            picture = vision_inputs.fit(sample.picture, part.picture)
            output = model(**processor([picture], return_tensors="pt"))
        references += list(as_array(output.image_embeds if clip else output.pooler_output))
    return [check_vectors(job.role, exported, references * len(job.batches), _cosine(job, spec))]


def _pixels(job: RoleJob, part: manifest.ImageEncoder) -> Feed:
    def inputs(indices: Sequence[int]) -> Inputs:
        pictures = [vision_inputs.channels(job.samples[i].picture, part.picture) for i in indices]
        return {"pixel_values": np.stack(pictures)}

    return inputs


def embedding_of(job: RoleJob, spec: schema.TextEncoder) -> Embedding:
    """How a text encoder's texts become vectors: as its checkpoint says, but for what the recipe says."""
    given = spec.model_dump(include={"pooling", "query_prefix", "passage_prefix", "max_tokens"}, exclude_none=True)
    return read_embedding(job.source.folder, job.source.model_type, job.source.tokenizer_file(), given)


def _cosine(job: RoleJob, spec: schema.ImageEncoder | schema.TextEncoder) -> float:
    return job.demands.cosine if spec.precision == "fp32" else spec.accept.cosine


def _image_model(job: RoleJob, load: Callable[..., Any]) -> Any:
    kind, rest = IMAGE_CLASSES[job.source.model_type]
    return load(kind, ignore=rest)


def prepare_text_encoder(job: RoleJob, spec: schema.TextEncoder) -> None:
    """Check what is known without weights: what sentence-transformers' files ask for, and the tokenizer."""
    config = transformers.AutoConfig.from_pretrained(job.source.folder, local_files_only=True)
    job.check_texts(min(embedding_of(job, spec).max_tokens, _longest(config)))


def export_text_encoder(job: RoleJob, spec: schema.TextEncoder) -> Exported:
    """Export the text encoder."""
    model = _text_model(job, job.source.load)
    how = embedding_of(job, spec)
    part = manifest.TextEncoder(
        engine="onnx",
        kind="text-encoder",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        dimension=int(model.config.hidden_size),
        pooling=how.pooling,
        query_prefix=how.query_prefix,
        passage_prefix=how.passage_prefix,
        max_tokens=min(how.max_tokens, _longest(model.config)),
    )
    write_text_encoder(model, job.path(part.model))
    texts = [part.passage_prefix + sample.passages[0] for sample in job.samples]
    feed = _tokenised(job, job.path(part.model), part.max_tokens, texts)
    return Exported(part, apply_precision(job.path(part.model), spec.precision, feed, len(texts)))


def check_text_encoder(job: RoleJob, spec: schema.TextEncoder, part: manifest.TextEncoder) -> list[Check]:
    """Compare the text encoder with transformers."""
    texts = [part.query_prefix + sample.query for sample in job.samples]
    texts += [part.passage_prefix + passage for sample in job.samples for passage in sample.passages]
    exported = _exported_texts(job, part, texts)
    references = _reference_texts(_text_model(job, job.source.reference), job.source.folder, part, texts)
    return [check_vectors(job.role, exported, references * len(job.batches), _cosine(job, spec))]


def _tokenised(job: RoleJob, model: Path, limit: int, texts: Sequence[str | tuple[str, str]]) -> Feed:
    """The inputs that a model has, for some of the texts or pairs."""
    tokenizer = Tokenizer.from_file(str(job.source.tokenizer_file()))
    names = {tensor.name for tensor in session(model).get_inputs()}

    def inputs(indices: Sequence[int]) -> Inputs:
        made = tokenise_padded(tokenizer, [texts[i] for i in indices], limit)
        return {name: value for name, value in made.items() if name in names}

    return inputs


def _text_model(job: RoleJob, load: Callable[..., Any]) -> Any:
    kind, rest = TEXT_CLASSES[job.source.model_type]
    options = {"add_pooling_layer": False} if job.source.model_type in ("bert", "xlm-roberta") else {}
    return load(kind, ignore=rest, **options)


def _longest(config: Any) -> int:
    """Most tokens of a text; RoBERTa's positions begin after the padding token's."""
    limit = int(config.max_position_embeddings)
    return limit - int(config.pad_token_id) - 1 if config.model_type == "xlm-roberta" else limit


def _exported_texts(job: RoleJob, part: manifest.TextEncoder, texts: list[str]) -> list[Floats]:
    run, feed = session(job.path(part.model)), _tokenised(job, job.path(part.model), part.max_tokens, texts)
    vectors: list[Floats] = []
    for size in job.batches:
        for indices in batches(len(texts), size):
            inputs = feed(indices)
            states = run.run(["last_hidden_state"], inputs)[0]
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


def prepare_cross_encoder(job: RoleJob, spec: schema.Reranker) -> None:
    """Check what is known without weights: the tokenizer."""
    config = transformers.AutoConfig.from_pretrained(job.source.folder, local_files_only=True)
    job.check_texts(min(spec.max_tokens, _longest(config)))


def export_cross_encoder(job: RoleJob, spec: schema.Reranker) -> Exported:
    """Export a cross-encoder with a classification head."""
    model = job.source.load(CROSS_CLASSES[job.source.model_type], ignore=_POSITIONS)
    logits = int(model.config.num_labels)
    part = manifest.CrossEncoder(
        engine="onnx",
        kind="cross-encoder",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        max_tokens=min(spec.max_tokens, _longest(model.config)),
        logits=logits,
        relevant=logits - 1,
    )
    write_cross_encoder(model, job.path(part.model))
    pairs = _pairs(job)
    feed = _tokenised(job, job.path(part.model), part.max_tokens, pairs)
    return Exported(part, apply_precision(job.path(part.model), spec.precision, feed, len(pairs)))


def _pairs(job: RoleJob) -> list[tuple[str, str]]:
    return [(sample.query, passage) for sample in job.samples for passage in sample.passages][: len(job.samples)]


def check_cross_encoder(job: RoleJob, spec: schema.Reranker, part: manifest.CrossEncoder) -> list[Check]:
    """Compare a cross-encoder's logits with transformers', pairs encoded by transformers' own tokenizer."""
    model = job.source.reference(CROSS_CLASSES[job.source.model_type], ignore=_POSITIONS)
    pairs = _pairs(job)
    feed = _tokenised(job, job.path(part.model), part.max_tokens, pairs)
    tokenizer = transformers.AutoTokenizer.from_pretrained(job.source.folder, local_files_only=True)
    references = []
    with torch.no_grad():
        for query, passage in pairs:
            row = tokenizer(query, passage, truncation="longest_first", max_length=part.max_tokens, return_tensors="pt")
            references.append(as_array(model(**row).logits[0]))
    if spec.precision == "fp32":
        return check_scorer(job.role, job.path(part.model), references, feed, job.demands.logits, job.batches)
    return check_lossy_scorer(job.role, job.path(part.model), references, feed, spec.accept, job.batches)
