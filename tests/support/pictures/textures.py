"""Drawn pictures with texture, of which keypoints are found, as those of photographs are."""

from __future__ import annotations

import cv2
import numpy as np

from quizglass_server.domain.turns import RGB


def texture(seed: int, width: int = 320, height: int = 240) -> RGB:
    """Blotches of several sizes, other ones for each seed."""
    rng = np.random.default_rng(seed)
    grey = np.zeros((height, width), np.float32)
    for size in (6, 14, 40):
        coarse = rng.random((max(2, height // size), max(2, width // size)), np.float32)
        grey += size**0.5 * cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    scaled = 255 * (grey - grey.min()) / (grey.max() - grey.min())
    return np.repeat(scaled.astype(np.uint8)[:, :, None], 3, axis=2)


def pasted(picture: RGB, into: RGB, scale: float, left: int, top: int) -> RGB:
    """A picture, resized, in another one."""
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    whole = into.copy()
    whole[top : top + small.shape[0], left : left + small.shape[1]] = small
    return whole


def seen_from_the_side(picture: RGB) -> RGB:
    """As a camera sees it that is not held straight, and in poor light."""
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    moved = np.array([[30, 10], [width - 8, 34], [width - 26, height - 14], [12, height - 30]], np.float32)
    warped = cv2.warpPerspective(picture, cv2.getPerspectiveTransform(corners, moved), (width, height))
    return np.asarray(warped * 0.6, np.uint8)


def bar_code(seed: int) -> RGB:
    """A bar code over its digits."""
    rng = np.random.default_rng(seed)
    code = np.full((120, 260, 3), 255, np.uint8)
    left = 14
    while left < 240:
        wide = 2 * int(rng.integers(1, 4))
        code[8:92, left : left + wide] = 0
        left += wide + 2 * int(rng.integers(1, 4))
    digits = "".join(str(digit) for digit in rng.integers(0, 10, 13))
    cv2.putText(code, digits, (14, 114), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (0, 0, 0), 2)
    return np.asarray(cv2.resize(code, (520, 240), interpolation=cv2.INTER_CUBIC), np.uint8)
