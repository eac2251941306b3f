"""The coarse reranker: BLIP-2's Q-Former, exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from quizglass_bundle.inputs.text_rows import TextTokenizer
from quizglass_bundle.parts import CoarseRerankerPart
from quizglass_export.checks import Check
from quizglass_export.graphs.q_former import QFormerQuestion, QFormerText
from quizglass_export.onnx.file import halve_weights
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Floats, Inputs, as_array, batches, check_vectors, session
from quizglass_export.roles.shared.entry import QFormer
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob, by_type
from quizglass_export.roles.shared.pictures import (
    BATCH,
    BLIP,
    Q_FORMER_CLASSES,
    TEXT_AXES,
    example_of,
    pixels_of,
    q_former_of,
    tensors_of,
    words_of,
)


class CoarseReranker(QFormer):
    """BLIP-2's Q-Former: pictures and passages to vectors."""


ENTRY = CoarseReranker
"""What a recipe says of the role."""


def prepare(job: RoleJob, spec: CoarseReranker) -> None:
    """Check what is known without weights: the tokenizer."""
    job.check_texts(spec.max_tokens)


def export(job: RoleJob, spec: CoarseReranker) -> Exported:
    """Export BLIP-2's Q-Former as two graphs, for pictures and for texts."""
    model = job.source.load(BLIP)
    part = CoarseRerankerPart(
        kind="q-former",
        text_model=f"{job.role}/text.onnx",
        **q_former_of(job, spec, model),
        queries=int(model.config.num_query_tokens),
        dimension=int(model.config.image_text_hidden_size),
    )
    pixels, words = example_of(part.picture)
    axes = {"pixel_values": BATCH, **TEXT_AXES, "image_embeds": BATCH}
    write_onnx(QFormerQuestion(model).eval(), pixels | words, axes, "image_embeds", job.path(part.model))
    texts = {**TEXT_AXES, "text_embeds": BATCH}
    write_onnx(QFormerText(model).eval(), words, texts, "text_embeds", job.path(part.text_model))
    for name in (part.model, part.text_model):
        halve_weights(job.path(name))
    return Exported(part, {"precision": "fp32"})


def check(job: RoleJob, spec: CoarseReranker, part: CoarseRerankerPart) -> list[Check]:
    """Compare the vectors of pictures and texts with transformers'."""
    model = job.source.reference(BLIP)
    own = TextTokenizer(job.source.tokenizer_file(), part.max_tokens)
    run, texts_run = session(job.path(part.model)), session(job.path(part.text_model))
    images, texts = list[Floats](), list[Floats]()
    expected_images, expected_texts = list[Floats](), list[Floats]()
    for size in job.sizes:
        for indices in batches(len(job.samples), size):
            pixels = pixels_of([job.samples[i].picture for i in indices], part.picture)
            words = words_of(own, [job.samples[i].passages[0] for i in indices])
            asked = words_of(own, [job.samples[i].question for i in indices])
            images += list(run.run(None, {"pixel_values": pixels, **asked})[0].reshape(-1, part.dimension))
            texts += list(texts_run.run(None, words)[0])
    for sample in job.samples:
        alone: Inputs = {"pixel_values": pixels_of([sample.picture], part.picture)}
        alone |= words_of(own, [sample.passages[0]])
        asked = words_of(own, [sample.question])
        with torch.no_grad():
            expected_texts += list(as_array(model(**tensors_of(alone)).text_embeds))
            expected_images += list(as_array(_queries(model, tensors_of({**alone, **asked}))))
    return [
        check_vectors(job.role, images, expected_images * len(job.sizes), job.demands.cosine),
        check_vectors(job.role, texts, expected_texts * len(job.sizes), job.demands.cosine),
    ]


def _queries(model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Query vectors [N, D] of a picture and a question: transformers' own matching path, caught before its head."""
    caught: list[torch.Tensor] = []
    hook = model.qformer.register_forward_hook(lambda *call: caught.append(call[2].last_hidden_state))
    try:
        model(**inputs, use_image_text_matching_head=True)
    finally:
        hook.remove()
    states = caught[0][0, : model.config.num_query_tokens]
    return torch.nn.functional.normalize(model.vision_projection(states), dim=-1)


EXPORTERS = by_type(Exporter(prepare, export, check, Q_FORMER_CLASSES))
"""transformers' model type to what exports the role from it."""
