"""What a picture's pixels say of how it was taken: edges, light, grain, level lines, and what touches the border.

All but the grain of flat blocks are numbers of one small picture, SIDE pixels at most a side: making a picture smaller
averages grain away.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from quizglass_server.domain.turns import RGB
from quizglass_server.roles.shared.wordgate import fitted

SIDE = 192
"""Pixels of the longer side at which pictures are judged."""
COUNT = 72
"""How many numbers a picture has. To count those of one takes a tenth of a second, in which OpenCV makes its tables."""
_TINY = 1e-3
_LIGHT = (1, 5, 25, 50, 75, 95, 99)
_EDGES = (90, 97, 99.5)
_EDGE = 20.0
"""Least slope of an edge, of Sobel's operator on 0..255."""
_TURNS = 45
_OFF_LEVEL = ((0, 2), (2, 4), (4, 8), (8, 16))
"""Degrees."""
_GRID = 6
_GREY, _MIDDLE, _FLAT, _UNLIKE = 6.0, (60, 185), 40.0, 25.0
"""In CIELAB as OpenCV scales it to 0..255."""
_BLOCK, _BLOCKS = 8, 22
"""Pixels a side of a block in which grain is measured, and how many blocks there are at most from side to side."""
_GRAINS = (1, 3, 10, 25)
_EXPOSED = (12, 243)
"""Mean lights of blocks that show grain: darker and brighter ones are clipped."""
_LEAST_GRAIN = 0.02
_IMMERKAER = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)

Values = NDArray[np.float32]


def statistics(pixels: RGB) -> Values:
    """The numbers of a picture, always as many and in the same order: float32 [N]."""
    small = fitted(pixels, SIDE)
    light = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY).astype(np.float32)
    across, down, slope = _slopes(light)
    groups = (
        _sharpness(light, slope),
        _brightness(light),
        _grain(light, slope),
        flat_grain(pixels if min(pixels.shape[:2]) > _BLOCK + 2 else small),
        _level(across, down, slope),
        _border(small),
        _cover(fitted(small, SIDE // 2)),
    )
    return np.concatenate([np.asarray(group, np.float32) for group in groups])


def _plain(values: object) -> Values:
    return np.asarray(values, np.float32)


def _slopes(light: Values) -> tuple[Values, Values, Values]:
    """Sobel's slope across, down, and along the steepest way."""
    across, down = _plain(cv2.Sobel(light, cv2.CV_32F, 1, 0)), _plain(cv2.Sobel(light, cv2.CV_32F, 0, 1))
    return across, down, _plain(cv2.magnitude(across, down))


def _thinned(values: Values) -> Values:
    """A quarter of them, which is enough for shares."""
    return values[::2, ::2]


def _percentiles(values: Values, percents: Sequence[float]) -> Values:
    """Those of all values, interpolated as numpy does it, which takes eight times as long."""
    ordered = np.sort(values, axis=None)
    at = np.asarray(percents) / 100 * (ordered.size - 1)
    low = at.astype(int)
    below, above = ordered[low], ordered[np.minimum(low + 1, ordered.size - 1)]
    return _plain(below + (above - below) * (at - low))


def _percentile(values: Values, percent: float) -> float:
    return float(_percentiles(values, (percent,))[0])


def _logs(values: object) -> Values:
    return np.log(np.maximum(np.asarray(values, np.float32), _TINY))


def _sharpness(light: Values, slope: Values) -> Values:
    """How steep the steepest edges are, beside how much they bend, and how much of them another blur takes."""
    curve = np.abs(_plain(cv2.Laplacian(light, cv2.CV_32F)))
    soft = _plain(cv2.GaussianBlur(light, (5, 5), 1.2))
    softer = _slopes(soft)[2]
    steep, bent, gone = (_logs(_percentiles(_thinned(each), _EDGES)) for each in (slope, curve, softer))
    return np.concatenate([steep, bent, bent - steep, gone - steep, _logs([curve.mean()])])


def _brightness(light: Values) -> Values:
    shares = _percentiles(_thinned(light), _LIGHT) / 255
    return np.concatenate([shares, _logs(shares[-2:] + 0.01), [light.mean() / 255]])


def _grain(light: Values, slope: Values) -> Values:
    """Immerkaer's estimate of noise (Fast Noise Variance Estimation, 1996), of the whole picture and of its flat
    areas.
    """
    response = np.abs(_thinned(_plain(cv2.filter2D(light, cv2.CV_32F, _IMMERKAER))))
    slope = _thinned(slope)
    low, middle = _percentiles(response, (25, 50))
    return _logs([response.mean(), middle, response[slope <= _percentile(slope, 50)].mean(), low + 0.05])


def flat_grain(pixels: RGB) -> Values:
    """The same estimate in the blocks of the picture that have least of it, in its own size: flat but for grain."""
    light = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)
    side = _BLOCK + 2
    rows, columns = (np.linspace(0, length - side, min(_BLOCKS, length // side)).astype(int) for length in light.shape)
    blocks = sliding_window_view(light, (side, side))[rows[:, None], columns].reshape(-1, side, side).astype(np.int16)
    across = blocks[:, :, :-2] - 2 * blocks[:, :, 1:-1] + blocks[:, :, 2:]
    response = across[:, :-2] - 2 * across[:, 1:-1] + across[:, 2:]
    grain, lights = np.abs(response).mean((1, 2)) * (np.sqrt(np.pi / 2) / 6), blocks.mean((1, 2))
    shown = (lights > _EXPOSED[0]) & (lights < _EXPOSED[1])
    low = _percentiles(grain[shown] if shown.any() else grain, _GRAINS)
    return np.log(np.maximum(low, _LEAST_GRAIN))


def _level(across: Values, down: Values, slope: Values) -> Values:
    """How far edges are from upright and level: shares of them by their turn from the nearest axis, and long lines."""
    strong = np.flatnonzero(slope > max(_percentile(_thinned(slope), 90), _EDGE))
    turn = np.degrees(np.arctan2(down.ravel()[strong], across.ravel()[strong])) % 90
    counts = np.bincount((turn / 2).astype(int), minlength=_TURNS)[:_TURNS] / max(strong.size, 1)
    folded = counts + counts[::-1]  # to either side alike
    peak = int(np.argmax(counts + 0.5 * np.roll(counts, 1) + 0.5 * np.roll(counts, -1)))
    bins = [folded[:1].sum(), folded[1:2].sum(), folded[2:4].sum(), folded[4:7].sum(), folded[7:12].sum()]
    return np.concatenate([bins, [min(peak, _TURNS - 1 - peak) / _TURNS], _lines(slope)])


def _lines(slope: Values) -> Values:
    """How far the long straight lines are from the nearest axis: shares of their length."""
    half = _plain(cv2.resize(slope, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA))
    edges = np.where(half > max(_percentile(_thinned(half), 92), _EDGE), 255, 0).astype(np.uint8)
    lines = cv2.HoughLinesP(edges, 1, np.pi / 180, 24, minLineLength=max(edges.shape) // 5, maxLineGap=2)
    if lines is None:
        return np.zeros(6, np.float32)
    ends = lines.reshape(-1, 4).astype(np.float32)
    along, up = ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1]
    length, turn = np.hypot(along, up), np.degrees(np.arctan2(up, along)) % 90
    off = np.minimum(turn, 90 - turn)
    shares = [length[(off >= low) & (off < high)].sum() / length.sum() for low, high in _OFF_LEVEL]
    return np.array([*shares, off[np.argmax(length)] / 45, np.average(off, weights=length**2) / 45])


def border(small: RGB) -> Values:
    """What crosses each side, left, right, top, bottom: [4, 4] of steps in colour, and how much is unlike the rest."""
    strips = (small[:, :3], small[:, -3:], small[:3].swapaxes(0, 1), small[-3:].swapaxes(0, 1))
    return np.stack([_crossing(_lab(strip).mean(1)) for strip in strips]).astype(np.float32)


def _border(small: RGB) -> Values:
    sides = border(small)
    upright, level = sides[:2], sides[2:]
    unlike = np.abs(_lab(small[:, :4]).mean(1) - _lab(small[:, -4:]).mean(1)).sum(1)
    differ = [unlike.mean(), (unlike > _UNLIKE).mean(), *_percentiles(unlike, (90, 50))]
    return _plain(np.concatenate([upright.max(0), upright.min(0), level.max(0), level.min(0), differ]) / 100)


def _crossing(side: Values) -> Values:
    steps = np.abs(np.diff(side, axis=0)).sum(1)
    ordered = np.sort(side, axis=0)
    middle = (ordered[len(side) // 2] + ordered[(len(side) - 1) // 2]) / 2
    away = np.abs(side - middle).sum(1)
    return _plain([steps.max(), np.sort(steps)[-4:].mean(), (away > _UNLIKE).mean(), _percentile(away, 90)])


def _cover(small: RGB) -> Values:
    """How much of each part is flat and grey, as a hand or a post before the lens is."""
    lab = _lab(small)
    light = lab[..., 0]
    slope = _slopes(light)[2]
    colour = cv2.magnitude(lab[..., 1] - 128, lab[..., 2] - 128)
    flat = (colour < _GREY) & (light > _MIDDLE[0]) & (light < _MIDDLE[1]) & (slope < _FLAT)
    parts = cv2.resize(flat.astype(np.float32), (_GRID, _GRID), interpolation=cv2.INTER_AREA)
    inner, columns = parts[1:-1, 1:-1], flat.mean(0)
    shades = np.sort(np.histogram(light[flat], 12, _MIDDLE)[0] / flat.size)[-3:]
    return np.array([flat.mean(), inner.mean(), inner.max(), parts.std(), columns.max(), columns.std(), *shades])


def _lab(pixels: RGB) -> Values:
    return cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2LAB).astype(np.float32)
