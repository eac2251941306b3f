"""Trains the detector: phrases to the boxes of what they name, on scenes drawn for it, each seen once."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from transformers import CLIPVisionModelWithProjection, Owlv2ForObjectDetection

from quizglass_export.retrieval.image_encoder import normalise_pixels
from quizglass_export.retrieval.image_pool import ATTRIBUTE_SIZES, look_labels
from quizglass_export.retrieval.training import TimedRun, finish, finished, prepare
from quizglass_export.seeing.detector_shape import (
    PATCH,
    SIDE,
    PhraseReader,
    build_detector,
    build_tokenizer,
    load_detector,
    save_detector,
)
from quizglass_export.seeing.looking import WORLD, evaluate_detector
from quizglass_export.seeing.matching import Answers, Targets, box_loss, covering, detection_loss
from quizglass_export.seeing.phrases import phrases, vocabulary
from quizglass_export.seeing.scenes import DrawnScene, drawn_scenes
from quizglass_export.starter.model.precision import autocast

NAME = "detector"
FULL, FRESH, _KEPT = 16, 6, 1200
"""Scenes in a batch, how many of them are new, and how many are kept for the others."""
_PHRASES = 10
_RATE, _FURTHER_RATE = 1e-3, 6e-4
_DENSE, _LOOKS = 0.5, 1.0


@dataclass(frozen=True)
class DetectionBatch:
    """Pictures, what is asked of each, and what is right.

    Attributes:
        pixels: float32 [B, 3, 224, 224].
        ids: int64 [U, 16]: every phrase once.
        mask: the same shape, 1 for a token.
        asked: int64 [B, P]: rows of `ids`.
        targets: of each picture.
    """

    pixels: Tensor
    ids: Tensor
    mask: Tensor
    asked: Tensor
    targets: list[Targets]


def make_batch(scenes: Sequence[DrawnScene], reader: PhraseReader, rng: random.Random) -> DetectionBatch:
    """Ask for what pictures show and for what they do not."""
    rows: dict[str, int] = {}
    asked, targets = [], []
    for scene in scenes:
        wanted = phrases(scene.scene, _PHRASES, rng)
        asked.append([rows.setdefault(text, len(rows)) for text, _ in wanted])
        named = torch.tensor([[float(i in those) for _, those in wanted] for i in range(len(scene.boxes))])
        looks = torch.tensor([look_labels(placed.thing.look) for placed in scene.scene.things])
        targets.append(Targets(torch.tensor(scene.boxes), named, looks))
    pixels = normalise_pixels(np.stack([scene.pixels for scene in scenes]))
    return DetectionBatch(pixels, *reader.rows(list(rows)), torch.tensor(asked), targets)


def repeated(scenes: Iterator[DrawnScene], rng: random.Random) -> Iterator[list[DrawnScene]]:
    """Batches of which some are new and the others were among the last _KEPT: drawing takes as long as half a step."""
    recent: deque[DrawnScene] = deque(maxlen=_KEPT)
    while True:
        fresh = list(islice(scenes, min(FRESH, FULL)))
        recent.extend(fresh)
        yield [*fresh, *rng.choices(recent, k=FULL - len(fresh))]


class DetectorTrainer(nn.Module):
    """The detector over batches in which pictures are asked for different things."""

    def __init__(self, detector: Owlv2ForObjectDetection) -> None:
        super().__init__()
        self.detector = detector
        width = detector.config.vision_config.hidden_size
        self.heads = nn.ModuleList(nn.Linear(width, size) for size in ATTRIBUTE_SIZES.values())

    def forward(self, batch: DetectionBatch) -> tuple[Answers, Tensor]:
        """What `Owlv2ForObjectDetection` gives, with every phrase read once; and the patches' features [B, N, H]."""
        model = self.detector
        with autocast():
            texts = model.owlv2.get_text_features(input_ids=batch.ids, attention_mask=batch.mask).float()
            features = model.image_embedder(batch.pixels)[0].float()
        patches = features.flatten(1, 2)
        logits, _ = model.class_predictor(patches, texts[batch.asked])
        boxes = model.box_predictor(patches, features)
        return Answers(logits, boxes, model.objectness_predictor(patches)), patches

    def losses(self, batch: DetectionBatch) -> tuple[Tensor, dict[str, float]]:
        """The detection loss; and that of all patches on a thing, which tell its box and, by `heads`, its look."""
        answers, features = self(batch)
        loss, measures = detection_loss(answers, batch.targets)
        pairs = [covering(target.boxes, SIDE // PATCH) for target in batch.targets]
        places, _ = box_loss(answers, batch.targets, pairs)
        on_things = torch.cat([rows[patches] for rows, (patches, _) in zip(features, pairs, strict=True)])
        labels = torch.cat([target.looks[things] for target, (_, things) in zip(batch.targets, pairs, strict=True)])
        logits = [head(on_things) for head in self.heads]
        looks = torch.stack([functional.cross_entropy(each, labels[:, i]) for i, each in enumerate(logits)]).mean()
        kinds = (logits[0].argmax(1) == labels[:, 0]).float().mean().item()
        return loss + _DENSE * places + _LOOKS * looks, {**measures, "looks": looks.item(), "kinds": kinds}


def _begun(encoder: Path) -> tuple[Owlv2ForObjectDetection, Tokenizer]:
    tokenizer = build_tokenizer(vocabulary())
    tower = CLIPVisionModelWithProjection.from_pretrained(encoder)
    return build_detector(tokenizer.get_vocab_size(), tower), tokenizer


def train_detector(workdir: Path, minutes: float, threads: int = 1, seed: int = 0) -> Path:
    """Train (or go on training) and save to `workdir`/detector; returns that directory.

    It begins with the weights that are there already, or else with the image encoder's tower.
    """
    prepare(workdir, threads, seed)
    out = workdir / NAME
    if finished(out):
        return out
    further = (out / "model.safetensors").is_file()
    detector, tokenizer = load_detector(out) if further else _begun(workdir / "image_encoder")
    model = DetectorTrainer(detector)
    run = TimedRun(NAME, out / "training", model, minutes, _FURTHER_RATE if further else _RATE)
    rng = random.Random(f"detector/{seed}/{run.step}")
    scenes, reader = repeated(drawn_scenes(rng.getrandbits(30), SIDE), rng), PhraseReader(tokenizer)
    model.train()
    for _ in run.steps():
        loss, measures = model.losses(make_batch(next(scenes), reader, rng))
        run.update(loss, **measures)
    save_detector(model.detector, tokenizer, out)
    finish(out, evaluate_detector(workdir, *WORLD), run)
    return out
