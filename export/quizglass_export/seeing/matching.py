"""Which patches answer for which thing, and what an open-vocabulary detector's answers cost.

Bipartite matching and its losses as in DETR (Carion et al. 2020, sections 3.1 and A.2) and OWL-ViT (Minderer et al.
2022, section 3.2), with a sigmoid and a focal loss for each phrase. Every thing is matched with several patches, which
learns faster; the server tells boxes of one phrase that coincide once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional
from transformers.image_transforms import center_to_corners_format
from transformers.loss.loss_for_object_detection import generalized_box_iou

REPEATS = 4
"""Patches for each thing."""
_SIDES, _OVERLAP, _NAMED = 5.0, 2.0, 2.0  # DETR's weights of L1, GIoU and class
_ALPHA, _GAMMA = 0.25, 2.0


@dataclass(frozen=True)
class Targets:
    """What one picture shows.

    Attributes:
        boxes: float32 [T, 4]: centre x, centre y, width, height, 0 to 1.
        named: float32 [T, P]: 1 where a phrase names the thing.
        looks: int64 [T, 5]: class numbers of the things' looks (`image_pool.look_labels`).
    """

    boxes: Tensor
    named: Tensor
    looks: Tensor


@dataclass(frozen=True)
class Answers:
    """What the detector says of a batch.

    Attributes:
        logits: float32 [B, N, P], of each patch and phrase.
        boxes: float32 [B, N, 4], as in `Targets`.
        objectness: float32 [B, N], a logit of each patch: whether it answers for anything.
    """

    logits: Tensor
    boxes: Tensor
    objectness: Tensor


def assign(cost: NDArray[np.floating], repeats: int = REPEATS) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cheapest assignment of `repeats` different patches to each thing, no patch to two.

    Args:
        cost: [N, T]; where N is less than `repeats` x T, things get as many patches as there are.
        repeats: how many patches a thing gets.

    Returns:
        Numbers of the patches and of their things, equally long.
    """
    patches, columns = linear_sum_assignment(np.tile(cost, (1, repeats)))
    return patches.astype(np.int64), columns.astype(np.int64) % max(cost.shape[1], 1)


@torch.no_grad()
def match(answers: Answers, targets: Sequence[Targets]) -> list[tuple[Tensor, Tensor]]:
    """For each picture, the patches that answer for things, and the numbers of those things."""
    pairs = []
    for logits, boxes, target in zip(answers.logits, answers.boxes, targets, strict=True):
        likely = logits.sigmoid() @ target.named.T / target.named.sum(1).clamp(min=1)
        sides = torch.cdist(boxes, target.boxes, p=1)
        overlap = generalized_box_iou(center_to_corners_format(boxes), center_to_corners_format(target.boxes))
        patches, things = assign((_SIDES * sides - _OVERLAP * overlap - _NAMED * likely).numpy())
        pairs.append((torch.from_numpy(patches), torch.from_numpy(things)))
    return pairs


def covering(boxes: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """The patches whose middles lie in a box, and for each the number of the smallest such box.

    Args:
        boxes: [T, 4]: centre x, centre y, width, height, 0 to 1.
        side: patches along a side of the picture, counted row by row.
    """
    at = (torch.arange(side) + 0.5) / side
    middles = torch.stack((at.repeat(side), at.repeat_interleave(side)), 1)
    inside = ((middles[:, None] - boxes[None, :, :2]).abs() < boxes[None, :, 2:] / 2).all(2)
    areas = torch.where(inside, boxes[:, 2] * boxes[:, 3], torch.inf)
    patches = inside.any(1).nonzero().flatten()
    return patches, areas[patches].argmin(1)


def detection_loss(answers: Answers, targets: Sequence[Targets]) -> tuple[Tensor, dict[str, float]]:
    """The loss of a batch, and measures of it.

    The classes' focal loss counts by (patch, phrase) that should say yes, boxes by matched patch.
    """
    pairs = match(answers, targets)
    rows = torch.cat([torch.full_like(patches, row) for row, (patches, _) in enumerate(pairs)])
    patches = torch.cat([patches for patches, _ in pairs])
    wanted = torch.zeros_like(answers.logits)
    named = [target.named[things] for target, (_, things) in zip(targets, pairs, strict=True)]
    wanted[rows, patches] = torch.cat(named)
    anything = torch.zeros_like(answers.objectness)
    anything[rows, patches] = 1
    classes = _focal(answers.logits, wanted) / wanted.sum().clamp(min=1)
    objectness = functional.binary_cross_entropy_with_logits(answers.objectness, anything)
    places, overlap = box_loss(answers, targets, pairs)
    return _NAMED * classes + places + objectness, {"giou": overlap, "classes": classes.item()}


def box_loss(
    answers: Answers, targets: Sequence[Targets], pairs: Sequence[tuple[Tensor, Tensor]]
) -> tuple[Tensor, float]:
    """L1 and GIoU of the boxes that patches give for things, and the mean GIoU; pairs as `match` gives them."""
    answered = torch.cat([boxes[patches] for boxes, (patches, _) in zip(answers.boxes, pairs, strict=True)])
    right = torch.cat([target.boxes[things] for target, (_, things) in zip(targets, pairs, strict=True)])
    overlap = _paired_giou(center_to_corners_format(answered), center_to_corners_format(right))
    return (_SIDES * (answered - right).abs().sum(1) + _OVERLAP * (1 - overlap)).mean(), overlap.mean().item()


def _paired_giou(ones: Tensor, others: Tensor) -> Tensor:
    """Generalised IoU (Rezatofighi et al. 2019) of boxes [N, 4] (left, top, right, bottom), row by row."""
    inner = (torch.minimum(ones[:, 2:], others[:, 2:]) - torch.maximum(ones[:, :2], others[:, :2])).clamp(min=0).prod(1)
    outer = (torch.maximum(ones[:, 2:], others[:, 2:]) - torch.minimum(ones[:, :2], others[:, :2])).prod(1)
    union = sum((each[:, 2:] - each[:, :2]).prod(1) for each in (ones, others)) - inner
    return inner / union - (outer - union) / outer


def _focal(logits: Tensor, wanted: Tensor) -> Tensor:
    """Lin et al. 2017, summed."""
    surprise = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    missed = torch.where(wanted > 0, 1 - logits.sigmoid(), logits.sigmoid())
    weight = torch.where(wanted > 0, _ALPHA, 1 - _ALPHA)
    return (weight * missed**_GAMMA * surprise).sum()
