"""What BLIP-2's Q-Former makes of questions and their pictures, which a head is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from quizglass_bundle.fields import Normalised
from quizglass_bundle.inputs.text_rows import TextTokenizer
from quizglass_export.checkpoints.source import Source
from quizglass_export.clip_pixels import CLIP_MEAN, CLIP_STD
from quizglass_export.graphs.q_former import QFormerClassifier
from quizglass_export.roles.shared.job import PREPROCESSOR, normalisation
from quizglass_export.roles.shared.pictures import BLIP, pixels_of, tensors_of, words_of
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.models.inputs import read_picture
from quizglass_lab.finetuning.recipes.questions import picture_file
from quizglass_lab.finetuning.shared.records import chunks
from quizglass_lab.logistic_regression import Floats

_MOST_WORDS = 64


def q_former_states(
    checkpoint: Path, samples: Sequence[Sample], batch: int, beside: Path, tick: Callable[[int], None]
) -> Floats:
    """The mean of the query states of each question and its picture, float64 [N, H].

    Args:
        checkpoint: BLIP-2 for image-text retrieval, as transformers writes it.
        samples: questions that have pictures.
        batch: how many are read at once.
        beside: pictures of archives are put into `PATH.pictures`.
        tick: told how many more are read.

    Raises:
        ExportError: not such a checkpoint, or a picture that cannot be read.
    """
    source = Source(checkpoint)
    source.check("domain_router", ("blip-2",))
    model = source.load(BLIP)
    size, width = int(model.config.vision_config.image_size), int(model.config.qformer_config.hidden_size)
    file = checkpoint / PREPROCESSOR
    mean, std = normalisation(file) if file.is_file() else (CLIP_MEAN, CLIP_STD)
    spec = Normalised(width=size, height=size, mean=mean, std=std)
    reader = QFormerClassifier(model, torch.eye(width), torch.zeros(width)).eval()  # the states themselves
    longest = min(_MOST_WORDS, int(model.config.qformer_config.max_position_embeddings))
    tokenizer = TextTokenizer(source.tokenizer_file(), longest)
    rows = []
    for part in chunks(list(samples), batch):
        files = [picture_file(sample, beside.with_name(f"{beside.name}.pictures")) for sample in part]
        pixels = pixels_of([read_picture(path) for path in files if path is not None], spec)
        words = words_of(tokenizer, [sample.question for sample in part])
        with torch.no_grad():
            rows.append(reader(**tensors_of({"pixel_values": pixels, **words})).numpy())
        tick(len(part))
    return np.concatenate(rows).astype(np.float64)
