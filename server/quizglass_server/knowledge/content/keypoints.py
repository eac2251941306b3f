"""Keypoints of a picture, and which of them another picture has in the same arrangement.

A vector says what a picture is like; keypoints say whether it shows the very same thing, from another side, in other
light, or small in a busy photograph. They are SIFT's (Lowe 2004), compared by the square roots of their descriptors
(Arandjelović and Zisserman 2012), and count where one affine map takes those of the stored picture to those of the
frame (spatial verification: Philbin et al. 2007). Things without texture have few, and animals are never seen twice in
the same way: for those the vector decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from quizglass_server.domain.turns import RGB

FRAME_SIDE, FRAME_MOST = 480, 800
"""Longer side in pixels to which a frame is reduced, and most of its keypoints."""
STORED_SIDE, STORED_MOST = 320, 300
"""The same of a stored picture, which its thing fills."""
_LEAST_SIDE = 16
_CONTRAST = 0.03
"""SIFT's least contrast of a keypoint: a little less than Lowe's, for dim frames."""
_LEVELS = 255.0
_RATIO = 0.8
"""Lowe's: a match counts whose descriptor is so much nearer than the second nearest."""
_FAR = 6.0
"""Pixels of the reduced frame by which a keypoint may miss where the map puts it."""
_PLACE = 3.0
"""Pixels: keypoints nearer to each other are one place, whatever their scale and orientation."""
_FEWEST = 4
_ROUNDS = 500
_SHRINKS, _GROWS, _SKEWED = 0.14, 3.0, 4.0
"""Bounds of the map: its least and greatest scale, and how much it may stretch one direction more than another."""
_AGREE, _MANY = 0.45, 30
"""The share of the pairs that the map has to account for, of those that it puts into the frame, or else how many. Bars
and other repeated shapes pair at random, and some of many random pairs always lie right. So many do by no chance, even
if they are fewer: of a thing that is seen from far aside an affine map accounts for a part."""
_MIDDLE = 0.3
"""Of a stored picture's sides: half the axes of the ellipse in which its thing is."""
_MIDDLE_SHARE = 0.35
"""The share of the keypoints there that a frame has, of the share of the others: with less the frame shows another
thing at the same place."""

_Matches = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Keypoints of a frame and those of a stored picture that they are paired with, by number."""


@dataclass(frozen=True, slots=True)
class Keypoints:
    """Those of one picture."""

    places: NDArray[np.float32]
    """[N, 2]: x and y in pixels of the reduced picture."""
    descriptors: NDArray[np.uint8]
    """[N, 128]: square roots of SIFT's, each scaled to 0 to 255."""
    size: tuple[int, int]
    """Width and height of the reduced picture."""

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return self.places.nbytes + self.descriptors.nbytes


def frame_keypoints(pixels: RGB) -> Keypoints:
    """The clearest keypoints of a frame, uint8 [height, width, 3]; none where it is tiny or has no texture."""
    return _keypoints(pixels, FRAME_SIDE, FRAME_MOST)


def stored_keypoints(pixels: RGB) -> Keypoints:
    """The same of a picture in the store."""
    return _keypoints(pixels, STORED_SIDE, STORED_MOST)


def same_places(frame: Keypoints, stored: Keypoints) -> NDArray[np.intp]:
    """Numbers of the frame's keypoints that show a stored picture's thing, one of each place; none if it is not there.

    Pictures of different things have 5 at most, nearly always.
    """
    none = np.zeros(0, np.intp)
    here, there = _paired(frame, stored)
    if len(here) < _FEWEST:
        return none
    pairs = stored.places[there], frame.places[here]
    found, kept = cv2.estimateAffine2D(*pairs, None, cv2.RANSAC, _FAR, _ROUNDS, 0.99)
    if found is None or not _is_plausible(np.asarray(found[:, :2], np.float64)):
        return none
    inside = kept.ravel().astype(bool)
    if inside.sum() < min(_MANY, _AGREE * _in_frame(pairs[0], np.asarray(found, np.float64), frame.size)):
        return none
    here, there = here[inside], there[inside]
    if not _shows_middle(stored, there):
        return none
    places = _one_each(frame.places, here)
    return places[: min(len(places), len(_one_each(stored.places, there)))]


def _keypoints(pixels: RGB, side: int, most: int) -> Keypoints:
    height, width = pixels.shape[:2]
    scale = min(1.0, side / max(height, width))
    size = round(width * scale), round(height * scale)
    none = Keypoints(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.uint8), size)
    if min(size) < _LEAST_SIDE:
        return none
    grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)
    small = cv2.resize(grey, size, interpolation=cv2.INTER_AREA) if scale < 1 else grey
    found, descriptors = cv2.SIFT.create(nfeatures=most, contrastThreshold=_CONTRAST).detectAndCompute(small, None)
    if descriptors is None or not len(found):
        return none
    shares = descriptors[:most] / np.maximum(descriptors[:most].sum(axis=1, keepdims=True), 1e-7)
    places = np.array([point.pt for point in found[:most]], np.float32)
    return Keypoints(places, np.rint(np.sqrt(shares) * _LEVELS).astype(np.uint8), size)


def _paired(frame: Keypoints, stored: Keypoints) -> _Matches:
    """Keypoints whose descriptors are each other's nearest, and clearly so."""
    if min(len(frame.places), len(stored.places)) < _FEWEST:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    alike = _unit(stored.descriptors) @ _unit(frame.descriptors).T
    rows = np.arange(len(alike))
    nearest, back = alike.argmax(axis=1), alike.argmax(axis=0)
    first = alike[rows, nearest].copy()
    alike[rows, nearest] = -1.0
    second = alike.max(axis=1)
    # Of vectors of length one the squared distance is 2 - 2 x the dot product.
    clear = (1 - first < _RATIO**2 * (1 - second)) & (back[nearest] == rows)
    return nearest[clear], rows[clear]


def _unit(descriptors: NDArray[np.uint8]) -> NDArray[np.float32]:
    values = descriptors.astype(np.float32)
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1.0), np.float32)


def _is_plausible(linear: NDArray[np.float64]) -> bool:
    """Whether a camera may have seen a thing so: neither a dot nor a line of it."""
    largest, least = np.linalg.svd(linear, compute_uv=False)
    return bool(least > _SHRINKS and largest < _GROWS and largest < _SKEWED * least)


def _in_frame(places: NDArray[np.float32], found: NDArray[np.float64], size: tuple[int, int]) -> int:
    """How many places of a stored picture an affine map puts into a frame of this size."""
    put = places @ found[:, :2].T + found[:, 2]
    return int(((put >= 0) & (put < np.array(size))).all(axis=1).sum())


def _shows_middle(stored: Keypoints, seen: NDArray[np.intp]) -> bool:
    """Whether a frame shares keypoints of the stored picture's middle, and not of the background alone."""
    away = (stored.places / np.array(stored.size, np.float32) - 0.5) / _MIDDLE
    middle = (away**2).sum(axis=1) <= 1
    many, few = int(middle.sum()), int(middle[seen].sum())
    others, around = len(middle) - many, len(seen) - few
    return not many or few * max(others, 1) >= _MIDDLE_SHARE * around * many


def _one_each(places: NDArray[np.float32], numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """One number for each place where these keypoints are: of all keypoints there the first, whichever of them these
    are, so that two lists have the same number for the same place."""
    _, first, place = np.unique(np.rint(places / _PLACE), axis=0, return_index=True, return_inverse=True)
    return np.unique(first[place.ravel()[numbers]])
