"""Which patches answer for which thing, and what an open-vocabulary detector's answers cost.

Bipartite matching and its losses as in DETR (Carion et al. 2020, sections 3.1 and A.2) and OWL-ViT (Minderer et al.
2022, section 3.2), with a sigmoid and a focal loss for each phrase. Every thing is matched with several patches, which
learns faster; the server tells boxes of one phrase that coincide once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional
from transformers.image_transforms import center_to_corners_format

REPEATS = 4
"""Patches for each thing."""
_SIDES, _OVERLAP, _NAMED = 5.0, 2.0, 2.0  # DETR's weights of L1, GIoU and class
_ALPHA, _GAMMA = 0.25, 2.0


@dataclass(frozen=True)
class Targets:
    """What the pictures of a batch show, one thing after the other.

    Attributes:
        pictures: int64 [T]: rows of the batch.
        boxes: float32 [T, 4]: centre x, centre y, width, height, 0 to 1.
        named: float32 [T, P]: 1 where a phrase of the picture names the thing.
        looks: int64 [T, 5]: class numbers of the things' looks (`image_pool.look_labels`).
    """

    pictures: Tensor
    boxes: Tensor
    named: Tensor
    looks: Tensor


@dataclass(frozen=True)
class Pairs:
    """Patches that answer for things.

    Attributes:
        patches: int64 [M], of the thing's picture.
        things: int64 [M]: rows of the targets.
    """

    patches: Tensor
    things: Tensor


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
def match(answers: Answers, targets: Targets) -> Pairs:
    """The patches that answer for the things of each picture."""
    boxes, named = answers.boxes[targets.pictures], targets.named
    likely = torch.einsum("tnp,tp->tn", answers.logits[targets.pictures].sigmoid(), named)
    likely = likely / named.sum(1, keepdim=True).clamp(min=1)
    sides = (boxes - targets.boxes[:, None]).abs().sum(2)
    overlap = _paired_giou(center_to_corners_format(boxes), center_to_corners_format(targets.boxes)[:, None])
    costs, rows = (_SIDES * sides - _OVERLAP * overlap - _NAMED * likely).cpu().numpy(), targets.pictures.cpu().numpy()
    patches, things = [], []
    for picture in np.unique(rows):
        those = np.flatnonzero(rows == picture)
        found, numbers = assign(costs[those].T)
        patches.append(found)
        things.append(those[numbers])
    device = answers.boxes.device
    return Pairs(*(torch.from_numpy(np.concatenate(each)).to(device) for each in (patches, things)))


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


def detection_loss(answers: Answers, targets: Targets) -> tuple[Tensor, dict[str, float]]:
    """The loss of a batch, and measures of it.

    The classes' focal loss counts by (patch, phrase) that should say yes, boxes by matched patch.
    """
    pairs = match(answers, targets)
    at = targets.pictures[pairs.things], pairs.patches
    wanted, anything = torch.zeros_like(answers.logits), torch.zeros_like(answers.objectness)
    wanted[at] = targets.named[pairs.things]
    anything[at] = 1
    classes = _focal(answers.logits, wanted) / wanted.sum().clamp(min=1)
    objectness = functional.binary_cross_entropy_with_logits(answers.objectness, anything)
    places, overlap = box_loss(answers, targets, pairs)
    return _NAMED * classes + places + objectness, {"giou": overlap, "classes": classes.item()}


def box_loss(answers: Answers, targets: Targets, pairs: Pairs) -> tuple[Tensor, float]:
    """L1 and GIoU of the boxes that patches give for things, and the mean GIoU."""
    answered = answers.boxes[targets.pictures[pairs.things], pairs.patches]
    right = targets.boxes[pairs.things]
    overlap = _paired_giou(center_to_corners_format(answered), center_to_corners_format(right))
    return (_SIDES * (answered - right).abs().sum(1) + _OVERLAP * (1 - overlap)).mean(), overlap.mean().item()


def _paired_giou(ones: Tensor, others: Tensor) -> Tensor:
    """Generalised IoU (Rezatofighi et al. 2019) of boxes [..., 4] (left, top, right, bottom), pair by pair."""
    first, last = (slice(None, 2), slice(2, None))
    spans = (torch.minimum(ones[..., last], others[..., last]), torch.maximum(ones[..., first], others[..., first]))
    inner = (spans[0] - spans[1]).clamp(min=0).prod(-1)
    spans = (torch.maximum(ones[..., last], others[..., last]), torch.minimum(ones[..., first], others[..., first]))
    outer = (spans[0] - spans[1]).prod(-1)
    union = sum((each[..., last] - each[..., first]).prod(-1) for each in (ones, others)) - inner
    return inner / union - (outer - union) / outer


def _focal(logits: Tensor, wanted: Tensor) -> Tensor:
    """Lin et al. 2017, summed."""
    surprise = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    missed = torch.where(wanted > 0, 1 - logits.sigmoid(), logits.sigmoid())
    weight = torch.where(wanted > 0, _ALPHA, 1 - _ALPHA)
    return (weight * missed**_GAMMA * surprise).sum()
