"""Trains the detector: phrases to the boxes of the named things, on scenes drawn for it, each seen once."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from transformers import CLIPVisionModelWithProjection, Owlv2ForObjectDetection

from quizglass_lab.retrieval.image_encoder import normalise_pixels
from quizglass_lab.retrieval.image_pool import ATTRIBUTE_SIZES
from quizglass_lab.retrieval.training import TimedRun, finish, finished, prepare
from quizglass_lab.seeing.detector_batches import DetectionBatch, DetectionBatches
from quizglass_lab.seeing.detector_shape import build_detector, build_tokenizer, load_detector, save_detector
from quizglass_lab.seeing.looking import WORLD, evaluate_detector
from quizglass_lab.seeing.matching import Answers, box_loss, detection_loss
from quizglass_lab.seeing.phrases import vocabulary
from quizglass_lab.starter.model.precision import autocast, chosen_device

NAME = "detector"
FULL, GPU_FULL = 16, 96
"""Scenes in a batch."""
_RATE, _FURTHER_RATE = 1e-3, 6e-4
_DENSE, _LOOKS = 0.5, 1.0


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
        with autocast(batch.pixels.device.type):
            texts = model.owlv2.get_text_features(input_ids=batch.ids, attention_mask=batch.mask).float()
            features = model.image_embedder(normalise_pixels(batch.pixels))[0].float()
        patches = features.flatten(1, 2)
        logits, _ = model.class_predictor(patches, texts[batch.asked])
        boxes = model.box_predictor(patches, features)
        return Answers(logits, boxes, model.objectness_predictor(patches)), patches

    def losses(self, batch: DetectionBatch) -> tuple[Tensor, dict[str, float]]:
        """The detection loss; and that of all patches on a thing, which tell its box and, by `heads`, its look."""
        answers, features = self(batch)
        targets, covered = batch.targets, batch.covered
        loss, measures = detection_loss(answers, targets)
        places, _ = box_loss(answers, targets, covered)
        on_things, labels = features[targets.pictures[covered.things], covered.patches], targets.looks[covered.things]
        logits = [head(on_things) for head in self.heads]
        looks = torch.stack([functional.cross_entropy(each, labels[:, i]) for i, each in enumerate(logits)]).mean()
        kinds = (logits[0].argmax(1) == labels[:, 0]).float().mean().item()
        return loss + _DENSE * places + _LOOKS * looks, {**measures, "looks": looks.item(), "kinds": kinds}


def _begun(encoder: Path) -> tuple[Owlv2ForObjectDetection, Tokenizer]:
    tokenizer = build_tokenizer(vocabulary())
    tower = CLIPVisionModelWithProjection.from_pretrained(encoder)
    return build_detector(tokenizer.get_vocab_size(), tower), tokenizer


def train_detector(workdir: Path, minutes: float, threads: int = 1, seed: int = 0, device: str = "cpu") -> Path:
    """Train (or go on training) and save to `workdir`/detector; returns that directory.

    It begins with the weights that are there already, or else with the image encoder's tower. Beside a GPU `threads`
    processes make its batches.
    """
    prepare(workdir, threads, seed)
    out = workdir / NAME
    if finished(out):
        return out
    place, further = chosen_device(device), (out / "model.safetensors").is_file()
    detector, tokenizer = load_detector(out) if further else _begun(workdir / "image_encoder")
    model = DetectorTrainer(detector).to(place)
    run = TimedRun(NAME, out / "training", model, minutes, _FURTHER_RATE if further else _RATE)
    on_gpu = place.type == "cuda"
    batches = DetectionBatches(tokenizer, GPU_FULL if on_gpu else FULL, f"detector/{seed}/{run.step}")
    model.train()
    for _, batch in zip(run.steps(), batches.made(threads if on_gpu else 0), strict=False):
        loss, measures = model.losses(batch.to(place))
        run.update(loss, **measures)
    save_detector(model.detector.cpu(), tokenizer, out)
    finish(out, evaluate_detector(workdir, *WORLD), run)
    return out
