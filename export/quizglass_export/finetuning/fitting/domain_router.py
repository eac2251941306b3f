"""QA-Dragon's domain router: a head over BLIP-2's Q-Former, which reads picture and question and stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field
from safetensors.torch import save_file
from tokenizers import Tokenizer

from quizglass_export.checkpoints.source import Source
from quizglass_export.datasets.reading.sample import Sample
from quizglass_export.directory import check_free, fresh_directory, place
from quizglass_export.errors import ExportError
from quizglass_export.finetuning.fitting.regression import Floats, held_back, regression
from quizglass_export.finetuning.models.inputs import read_picture
from quizglass_export.finetuning.recipes.questions import AnnotationOptions, picture_file, read_questions
from quizglass_export.finetuning.shared.progress import Progress
from quizglass_export.finetuning.shared.records import chunks
from quizglass_export.graphs.q_former import QFormerClassifier
from quizglass_export.roles.job import CLIP_MEAN, CLIP_STD, PREPROCESSOR, normalisation
from quizglass_export.roles.pictures import BLIP, pixels_of, tensors_of, words_of
from quizglass_server.models.fields import Normalised

CLASSIFIER = "classifier.safetensors"
_MOST_WORDS = 64


class DomainRouterTraining(AnnotationOptions):
    """QA-Dragon's domain router: a head over BLIP-2's Q-Former, fitted on a data set's own domains."""

    checkpoint: Path = Field(description="BLIP-2 for image-text retrieval, as transformers writes it")
    decay: float = Field(1e-4, ge=0, description="weight of the squared weights in the loss")
    replace: bool = Field(False, description="replace what --out has")


def fit(options: DomainRouterTraining, progress: Progress) -> dict[str, Any]:
    """Fit the head, and write a folder that `roles.domain_router.checkpoint` can name."""
    samples = [each for each in read_questions(options).values() if each.domain and each.pictures]
    labels = sorted({sample.domain for sample in samples})
    if len(labels) < 2:
        raise ExportError(f"{options.data[0]}: domain: questions of at least two domains are needed, with pictures")
    check_free(options.out, options.replace)
    states = _states(options, samples, progress.phase("looking", len(samples)))
    wanted = np.array([labels.index(sample.domain) for sample in samples])
    trained, tested = held_back(len(samples), options.held_out or 0.1, options.seed)
    weights, bias = regression(states[trained], wanted[trained], len(labels), options.decay)
    right = (states[tested] @ weights.T + bias).argmax(1) == wanted[tested]
    weights, bias = regression(states, wanted, len(labels), options.decay)
    with fresh_directory(options.out) as folder:
        for path in options.checkpoint.iterdir():
            if path.is_file() and path.name != CLASSIFIER:
                place(path, folder / path.name)
        head = {"weight": torch.tensor(weights, dtype=torch.float32), "bias": torch.tensor(bias, dtype=torch.float32)}
        save_file(head, str(folder / CLASSIFIER))
    commonest = Counter(wanted.tolist()).most_common(1)[0][1] / len(samples)
    return {
        "labels": labels,
        "questions": len(samples),
        "right": float(right.mean()),
        "always_the_commonest": commonest,
    }


def _states(options: DomainRouterTraining, samples: Sequence[Sample], tick: Callable[[int], None]) -> Floats:
    """What the head reads: the mean of the query states, [N, H]."""
    source = Source(options.checkpoint)
    source.check("domain_router", ("blip-2",))
    model = source.load(BLIP)
    tokenizer = Tokenizer.from_file(str(source.tokenizer_file()))
    size, width = int(model.config.vision_config.image_size), int(model.config.qformer_config.hidden_size)
    file = options.checkpoint / PREPROCESSOR
    mean, std = normalisation(file) if file.is_file() else (CLIP_MEAN, CLIP_STD)
    spec = Normalised(width=size, height=size, mean=mean, std=std)
    reader = QFormerClassifier(model, torch.eye(width), torch.zeros(width)).eval()  # the states themselves
    longest = min(_MOST_WORDS, int(model.config.qformer_config.max_position_embeddings))
    rows = []
    for part in chunks(list(samples), options.ask_batch):
        files = [picture_file(sample, options.out.with_name(f"{options.out.name}.pictures")) for sample in part]
        pixels = pixels_of([read_picture(path) for path in files if path is not None], spec)
        words = words_of(tokenizer, [sample.question for sample in part], longest)
        with torch.no_grad():
            rows.append(reader(**tensors_of({"pixel_values": pixels, **words})).numpy())
        tick(len(part))
    return np.concatenate(rows).astype(np.float64)
