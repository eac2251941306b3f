"""Pictures with words and without: pocketworld's, and photographs with words rendered onto them.

A sample follows from the sources and its number alone.
"""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from quizglass_bundle.inputs.resizing import RGB
from quizglass_lab.pocketworld.dataset import SCENE_SIZE, build_world
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.wordgate.sources import Sources
from quizglass_server.roles.shared.wordgate import fitted

SEEN_HEIGHT = 6.0
"""Smaller capitals than this, in pixels of the picture, are not expected to be found, nor to be passed over."""
_CJK = "日本語文字東京駅出口入口食堂新宿営業中禁止注意大小上下左右春夏秋冬水火木金土山川田町村電車店酒茶肉魚米"
_OTHERS = ("абвгдежзиклмнопрстуфхцчшэюя", "αβγδεζηθικλμνξοπρστυφχψω")
_LATIN = "eeeeeeaaaaaooooiiiiuuttttnnnnssssrrrrlllddddmmccppbbgghhkkvvffwwyyxzjq"

Mask = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class GateSample:
    """A picture, and where its words are."""

    pixels: RGB
    mask: Mask
    """[H, W]: 255 where words are, 128 where unknown, 0 elsewhere."""
    words: tuple[str, ...]
    lettered: bool
    """Whether any words are drawn, large enough to be found."""


class Scenes:
    """Scenes of pocketworld, with a sign or without.

    Args:
        seed: of its worlds.
        things: of each world.
        formats: of them: 1 has things in three places, 2 in free ones.
    """

    def __init__(self, seed: int, things: int = 400, formats: Sequence[int] = (1, 2)) -> None:
        questions: list[Question] = []
        for each in formats:
            world = build_world(seed, things, core=True, format=each)
            questions += make_questions(world, 40 * things // len(formats), seed, format=each)
        self._plain = [question for question in questions if not question.scene.sign]
        self._signed = [question for question in questions if question.words]

    def picture(self, rng: random.Random, *, signed: bool) -> tuple[RGB, Question]:
        """A scene's pixels."""
        question = rng.choice(self._signed if signed else self._plain)
        return np.asarray(draw_scene(question.scene, SCENE_SIZE)), question


class Painter:
    """Draws samples of one size."""

    def __init__(self, sources: Sources, scenes: Scenes, side: int) -> None:
        self._sources = sources
        self._scenes = scenes
        self._side = side

    def sample(self, number: int | str, *, lettered: bool, world: bool) -> GateSample:
        """One sample; `world` puts it into pocketworld, else it is a photograph."""
        rng = random.Random(f"wordgate/{number}")
        if world and lettered and rng.random() < 0.7:
            pixels, question = self._scenes.picture(rng, signed=True)
            mask: Mask = np.full((self._side, self._side), 128, np.uint8)
            return GateSample(fitted(pixels, self._side), mask, (question.words or "",), True)
        pixels = self._scenes.picture(rng, signed=False)[0] if world else self._photograph(rng)
        pixels = fitted(pixels, self._side) if world else pixels
        picture, mask, words = pixels.copy(), np.zeros(pixels.shape[:2], np.uint8), list[str]()
        while lettered and not words:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                words += letter(picture, mask, self._sources.fonts, rng)
        return GateSample(picture if world else spoilt(picture, rng), mask, tuple(words), lettered)

    def _photograph(self, rng: random.Random) -> RGB:
        """A part of a photograph, perhaps with cut-out things on it, turned and coloured at random."""
        if rng.random() < 0.12:
            base = _pattern(self._side, rng)
        else:
            base = _part(_opened(rng.choice(self._sources.photographs)), self._side, rng)
        image = Image.fromarray(base)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            stamp = _stamp(rng.choice(self._sources.stamps))
            size = max(24, int(self._side * rng.uniform(0.12, 0.9)))
            stamp = stamp.resize((size, max(8, round(size * stamp.height / stamp.width))))
            stamp = stamp.rotate(rng.uniform(-25, 25), expand=True)
            at = (rng.randint(-size // 3, self._side - size // 2), rng.randint(-size // 3, self._side - size // 2))
            image.paste(stamp, at, stamp)
        pixels = np.asarray(image)
        if rng.random() < 0.5:
            pixels = np.ascontiguousarray(pixels[:, ::-1])
        return pixels


def letter(picture: RGB, mask: Mask, fonts: Sequence[Path], rng: random.Random) -> list[str]:
    """Print a few lines onto a picture; the words, none where they would not fit or could not be seen."""
    side = min(picture.shape[:2])
    height = min(SEEN_HEIGHT * (16.0 ** (rng.random() ** 1.3)), 0.4 * side)
    font = _font(rng.choice(fonts), round(height * 1.35))
    if not _has(font, "e"):
        return []
    lines = [_line(rng, font) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    boxes = [font.getbbox(line) for line in lines]
    width, line_height = max(box[2] - box[0] for box in boxes), max(box[3] for box in boxes) + 2
    pad = round(height * rng.uniform(0.25, 0.9))
    panel = Image.new("L", (int(width) + 2 * pad, int(line_height * len(lines)) + 2 * pad), 0)
    if panel.width > 1.1 * picture.shape[1] or panel.height > picture.shape[0]:
        return []
    draw, y = ImageDraw.Draw(panel), pad
    for line in lines:
        draw.text((pad, y), line, font=font, fill=255)
        y += int(line_height)
    ink = np.asarray(panel)
    return lines if _print(picture, mask, ink, pad, rng) else []


def spoilt(pixels: RGB, rng: random.Random) -> RGB:
    """A picture as a camera would see it: darker, with less contrast, blurred, noisy, compressed; each now and then."""
    out = pixels.astype(np.float32)
    if rng.random() < 0.5:
        out = (out - 128) * rng.uniform(0.6, 1.15) + 128 + rng.uniform(-50, 40)
    if rng.random() < 0.3:
        out = out * np.array([rng.uniform(0.8, 1.15) for _ in range(3)], np.float32)
    if rng.random() < 0.35:
        out = np.asarray(cv2.GaussianBlur(out, (0, 0), rng.uniform(0.4, 1.0)), np.float32)
    if rng.random() < 0.35:
        noise = np.random.default_rng(rng.getrandbits(32)).standard_normal(out.shape[:2], np.float32)
        out = out + noise[:, :, None] * rng.uniform(2, 10)
    image = Image.fromarray(np.clip(out, 0, 255).astype(np.uint8))
    if rng.random() < 0.6:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=rng.randint(40, 95))
        image = Image.open(file)
    return np.asarray(image.convert("RGB"))


def _print(picture: RGB, mask: Mask, ink: NDArray[np.uint8], pad: int, rng: random.Random) -> bool:
    """Blend ink (and perhaps a board below it) into the picture, turned a little; whether it can be seen there."""
    h, w = picture.shape[:2]
    ih, iw = ink.shape
    centre = (rng.uniform(iw / 2, max(iw / 2, w - iw / 2)), rng.uniform(ih / 2, max(ih / 2, h - ih / 2)))
    turn = np.deg2rad(rng.choice((0, 0, rng.gauss(0, 4), rng.uniform(-30, 30))))
    c, s = np.cos(turn), np.sin(turn)
    skew = rng.uniform(-0.15, 0.15)
    corners = np.array([[-iw, -ih], [iw, -ih], [iw, ih], [-iw, ih]], np.float32) / 2
    corners[:, 1] += corners[:, 0] * skew * ih / iw * rng.choice((-1, 1)) * (corners[:, 1] > 0)
    placed = corners @ np.array([[c, s], [-s, c]], np.float32) + np.array(centre, np.float32)
    source = np.array([[0, 0], [iw, 0], [iw, ih], [0, ih]], np.float32)
    shape = cv2.getPerspectiveTransform(source, placed.astype(np.float32))
    inked = cv2.warpPerspective(ink, shape, (w, h), flags=cv2.INTER_AREA).astype(np.float32)[:, :, None] / 255
    body = np.zeros_like(ink)
    body[pad // 2 : ih - pad // 2, pad // 2 : iw - pad // 2] = 255
    covered = cv2.warpPerspective(body, shape, (w, h), flags=cv2.INTER_LINEAR)
    there = covered > 127
    if there.sum() < 0.75 * (body > 127).sum():
        return False
    below = picture.astype(np.float32)
    if rng.random() < 0.45:
        board = np.array([rng.randint(0, 255) for _ in range(3)], np.float32)
        whole = cv2.warpPerspective(np.full_like(ink, 255), shape, (w, h)).astype(np.float32)[:, :, None] / 255
        below = np.asarray(below * (1 - whole) + board * whole, np.float32)
    around = below[there].mean(axis=0)
    colour = _colour(around, rng)
    seen = rng.uniform(0.75, 1.0)
    picture[:] = np.clip(below * (1 - inked * seen) + colour * inked * seen, 0, 255).astype(np.uint8)
    mask[there] = 255
    return True


def _colour(around: NDArray[np.float32], rng: random.Random) -> NDArray[np.float32]:
    """An ink that differs from what is around it in brightness, as words that are meant to be read do."""
    grey = float(around @ np.array([0.299, 0.587, 0.114]))
    for _ in range(60):
        ink = np.array([rng.choice((0, 255, rng.randint(0, 255))) for _ in range(3)], np.float32)
        if abs(float(ink @ np.array([0.299, 0.587, 0.114], np.float32)) - grey) >= rng.uniform(55, 120):
            return ink
    return np.full(3, 0.0 if grey > 127 else 255.0, np.float32)


def _line(rng: random.Random, font: ImageFont.FreeTypeFont) -> str:
    """One to four invented words, numbers among them, in letters that the font has."""
    drawn = rng.random()
    if drawn < 0.1 and _has(font, _CJK[0]):
        return "".join(rng.choice(_CJK) for _ in range(rng.randint(2, 7)))
    letters = _LATIN
    if drawn < 0.2 and _has(font, (other := rng.choice(_OTHERS))[0]):
        letters = other
    words = []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        word = "".join(rng.choice(letters) for _ in range(rng.randint(2, 10)))
        if rng.random() < 0.15:
            word = str(rng.randint(0, 10 ** rng.randint(2, 5)))
        words.append(rng.choice((word, word.upper(), word.capitalize())))
    return " ".join(words)


def _has(font: ImageFont.FreeTypeFont, character: str) -> bool:
    return bytes(font.getmask(character)) != bytes(font.getmask("\uffff"))


@lru_cache(maxsize=600)
def _font(path: Path, pixels: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), max(6, pixels))


@lru_cache(maxsize=120)
def _opened(path: Path) -> Image.Image:
    """A photograph, no larger than it is of use."""
    with Image.open(path) as image:
        image.draft("RGB", (1600, 1600))
        loaded = image.convert("RGB")
    loaded.thumbnail((1600, 1600))
    return loaded


@lru_cache(maxsize=400)
def _stamp(path: Path) -> Image.Image:
    with Image.open(path) as image:
        stamp = image.convert("RGBA")
    stamp.thumbnail((420, 420))
    return stamp


def _part(image: Image.Image, side: int, rng: random.Random) -> RGB:
    """A square of a photograph, anything from its whole height to its own pixels."""
    least, most = min(side, *image.size), min(image.size)
    size = round(least * (most / least) ** rng.random())
    x, y = rng.randint(0, image.width - size), rng.randint(0, image.height - size)
    box = (x, y, x + size, y + size)
    return np.asarray(image.resize((side, side), Image.Resampling.BICUBIC, box))


def _pattern(side: int, rng: random.Random) -> RGB:
    """Plain colours, stripes and shapes: what drawings and walls are like."""
    image = Image.new("RGB", (side, side), tuple(rng.randint(0, 255) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(rng.randint(0, 14)):
        colour = tuple(rng.randint(0, 255) for _ in range(3))
        x, y = sorted(rng.randint(0, side) for _ in range(2)), sorted(rng.randint(0, side) for _ in range(2))
        kind = rng.randrange(4)
        if kind == 0:
            draw.ellipse((x[0], y[0], x[1], y[1]), fill=colour)
        elif kind == 1:
            draw.rectangle((x[0], y[0], x[1], y[1]), outline=colour, width=rng.randint(1, 12))
        elif kind == 2:
            draw.line((x[0], y[0], y[1], x[1]), fill=colour, width=rng.randint(1, 16))
        else:
            step = rng.randint(6, 40)
            for at in range(x[0], x[1], step):
                draw.line((at, y[0], at, y[1]), fill=colour, width=max(1, step // rng.randint(2, 5)))
    return np.asarray(image)
