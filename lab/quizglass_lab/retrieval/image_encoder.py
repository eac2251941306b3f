"""Trains the image encoder: a view of a scene, or a box in it, must find the reference picture of the same thing.

First the tower learns to name kind, colours, pattern and shape, with heads that are thrown away; then symmetric
InfoNCE, in batches that are mostly of one kind, of one pair of colours, or of one kind in one colour, so that none of
these gives a thing away. With weights that were trained before, it begins with the latter.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import CLIPVisionModelWithProjection

from quizglass_lab.retrieval.image_pool import ATTRIBUTE_SIZES, CHUNK_THINGS, ImagePool
from quizglass_lab.retrieval.shapes import (
    IMAGE_MEAN,
    IMAGE_STD,
    build_image_encoder,
    save_image_encoder,
)
from quizglass_lab.retrieval.training import TimedRun, finish, finished, prepare
from quizglass_lab.starter.model.precision import autocast, chosen_device

_BATCH, _GPU_BATCH = 96, 384
_NAMING_SHARE = 0.5  # of the time: attributes only; contrast alone settles for colours and leaves shapes for late
_FIRST_CHUNKS = 2
_POOL_THINGS, _GPU_POOL_THINGS = 12_000, 40_000
_RATE, _FURTHER_RATE = 1.5e-3, 8e-4
_REFRESH_STEPS = 25
_ALIKE = ("nothing", "kind", "colours", "looks")  # in random batches colours alone give nearly every thing away
_CLEAN_SHARE = 0.4  # of the pictures while naming: references


def normalise_pixels(pixels: NDArray[np.uint8] | torch.Tensor) -> torch.Tensor:
    """[N,H,W,3] bytes to [N,3,H,W] floats with CLIP's mean and deviation, on the same device."""
    shown = torch.as_tensor(pixels)
    mean, std = torch.tensor((IMAGE_MEAN, IMAGE_STD), device=shown.device)
    normalised: torch.Tensor = (shown.float() / 255 - mean) / std
    return normalised.permute(0, 3, 1, 2).contiguous()


class ImageTrainer(nn.Module):
    """The encoder with a learned temperature and the attribute heads."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = build_image_encoder()
        width = self.encoder.config.hidden_size
        self.heads = nn.ModuleList(nn.Linear(width, size) for size in ATTRIBUTE_SIZES.values())
        self.patch_heads = nn.ModuleList(nn.Linear(width, size) for size in ATTRIBUTE_SIZES.values())
        self.log_scale = nn.Parameter(torch.tensor(2.7))

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """[N,3,H,W] to unit vectors [N,D], and the logits of each attribute: first from the class token, then
        from the average patch, which reaches the patches sooner."""
        with autocast(pixels.device.type):
            output = self.encoder.vision_model(pixel_values=pixels)
            vectors = self.encoder.visual_projection(output.pooler_output)
            average = output.last_hidden_state[:, 1:].mean(1)
            logits = [head(output.pooler_output) for head in self.heads]
            logits += [head(average) for head in self.patch_heads]
        return functional.normalize(vectors.float(), dim=-1), [value.float() for value in logits]

    def attribute_loss(
        self, logits: Sequence[torch.Tensor], labels: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, float]]:
        """Mean loss over attributes and heads for labels [N,5], and the accuracies of the class token's heads."""
        names = list(ATTRIBUTE_SIZES)
        losses = [functional.cross_entropy(value, labels[:, i % len(names)]) for i, value in enumerate(logits)]
        right = {name: (logits[i].argmax(1) == labels[:, i]).float().mean().item() for i, name in enumerate(names)}
        return torch.stack(losses).mean(), right

    def losses(
        self, reference: torch.Tensor, views: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, float]]:
        """Contrastive loss, attribute loss, and accuracies in the batch; row i of both is the same thing."""
        count = len(reference)
        vectors, logits = self(torch.cat((reference, views)))
        scores = self.log_scale.clamp(max=4.2).exp() * vectors[count:] @ vectors[:count].T
        target = torch.arange(count, device=scores.device)
        contrast = (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2
        named, measures = self.attribute_loss(logits, torch.cat((labels, labels)))
        hit = (scores.argmax(1) == target).float().mean().item()
        return contrast, named, measures | {"hit": hit}


def start_rendering(folder: Path, things: int, seed: int, processes: int = 1) -> "list[subprocess.Popen[bytes]]":
    """Render the pool in processes of their own, so that training can begin after the first chunks."""
    module = "quizglass_lab.retrieval.image_pool"
    numbers = [str(i) for i in range(max(things // CHUNK_THINGS, 1))]
    shares = [share for first in range(processes) if (share := numbers[first::processes])]
    command = [sys.executable, "-m", module, "--folder", str(folder), "--seed", str(seed), "--chunks"]
    return [subprocess.Popen([*command, *share]) for share in shares]  # noqa: S603 - our own module, by this interpreter


def train_image_encoder(
    workdir: Path,
    minutes: float,
    threads: int = 1,
    seed: int = 0,
    pool_things: int | None = None,
    device: str = "cpu",
) -> Path:
    """Train (or go on training) and save to `workdir`/image_encoder, unless that is done; returns that directory.

    It begins with weights that are there already. The pool of pictures is kept in `workdir`/image_pool and rendered
    while training runs: by one process, or on a GPU by as many as there are `threads`.
    """
    prepare(workdir, threads, seed)
    out = workdir / "image_encoder"
    if finished(out):
        return out
    folder, place = workdir / "image_pool", chosen_device(device)
    on_gpu = place.type == "cuda"
    things = pool_things or (_GPU_POOL_THINGS if on_gpu else _POOL_THINGS)
    renderers = start_rendering(folder, things, seed, threads if on_gpu else 1)
    try:
        pool = _wait_for_chunks(folder, renderers, place)
        model, further = ImageTrainer(), (out / "model.safetensors").is_file()
        if further:
            before = CLIPVisionModelWithProjection.from_pretrained(out, attn_implementation="eager")
            model.encoder.load_state_dict(before.state_dict())
        rate = _FURTHER_RATE if further else _RATE
        run = TimedRun("image_encoder", out / "training", model.to(place), minutes, rate)
        _fit(run, model, pool, seed, 0.0 if further else _NAMING_SHARE)
    finally:
        for renderer in renderers:
            renderer.terminate()
    save_image_encoder(model.encoder.cpu(), out)
    finish(out, run.measured, run)
    return out


def _wait_for_chunks(folder: Path, renderers: "Sequence[subprocess.Popen[bytes]]", device: torch.device) -> ImagePool:
    pool = ImagePool(folder, device)
    while pool.refresh() < _FIRST_CHUNKS:
        if running := [each for each in renderers if each.poll() is None]:
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(timeout=2)
        elif pool.refresh() < _FIRST_CHUNKS:
            codes = ", ".join(str(each.returncode) for each in renderers)
            raise RuntimeError(f"rendering the image pool into {folder} ended with status {codes}; see its output")
    return pool


def _fit(run: TimedRun, model: ImageTrainer, pool: ImagePool, seed: int, naming_share: float) -> None:
    rng = np.random.default_rng([seed, run.step])
    size = _BATCH if run.device.type == "cpu" else _GPU_BATCH
    chunks = pool.refresh()
    model.train()
    for step in run.steps():
        if step % _REFRESH_STEPS == 0:
            chunks = pool.refresh()
        naming = run.passed < naming_share
        reference, views, labels = pool.sample(size, rng, "nothing" if naming else _ALIKE[step % len(_ALIKE)])
        if naming:
            clean = torch.from_numpy(rng.random(len(views)) < _CLEAN_SHARE).to(views.device)
            mixed = torch.where(clean[:, None, None, None], reference, views)
            loss, measures = model.attribute_loss(model(normalise_pixels(mixed))[1], labels)
        else:
            contrast, named, measures = model.losses(normalise_pixels(reference), normalise_pixels(views), labels)
            loss, measures["contrast"] = contrast + named, contrast.item()
        run.update(loss, chunks=chunks, **measures)


@torch.inference_mode()
def embed_images(encoder: CLIPVisionModelWithProjection, pixels: NDArray[np.uint8], batch: int = 100) -> torch.Tensor:
    """[N,H,W,3] bytes to [N,D] unit vectors, float32."""
    encoder.eval()
    parts = [
        encoder(pixel_values=normalise_pixels(pixels[i : i + batch])).image_embeds for i in range(0, len(pixels), batch)
    ]
    return functional.normalize(torch.cat(parts).float(), dim=-1)
