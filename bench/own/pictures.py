"""The pictures of a thing: as it is stored, and as it is seen in questions.

Where there is no second photograph the first is changed, always in the same way for one thing: seen from the side,
cut, in poor light, or somewhere in a photograph of other things.
"""

from __future__ import annotations

import io
from random import Random

from PIL import Image, ImageEnhance, ImageFilter

from bench.own.dataset import WAYS, OwnThing
from bench.own.photographs import Photographs

BACKGROUNDS = (
    "opencv:data/rubberwhale1.png",
    "opencv:data/fruits.jpg",
    "opencv:text/scenetext01.jpg",
    "opencv:text/scenetext03.jpg",
    "opencv:text/scenetext04.jpg",
)
"""Photographs of other things, none of which is in the store."""
_LONGEST, _SQUARE, _FRAME = 800, 480, (800, 600)
_ROOM = 0.9
"""Of a square, that a cut-out thing takes."""
_SKEW, _TURN = 0.13, 10.0
_KEPT = (0.68, 0.8)
"""Of each side, that a cut leaves."""
_LIGHT, _CONTRAST, _BLUR = (0.4, 0.6), 0.85, 1.2
_PASTED = (0.45, 0.65)
"""Of the longer side of a thing, as a share of the photograph's shorter one."""
_WHITE = (255, 255, 255)


def stored(thing: OwnThing, photographs: Photographs) -> bytes:
    """What is imported, as a JPEG; a cut-out thing in the middle of a white square."""
    return _jpeg(_flat(_opened(thing.picture, photographs), _WHITE), 92)


def seen(thing: OwnThing, photographs: Photographs) -> bytes:
    """What is asked about, as a JPEG."""
    chance = Random(f"{thing.id} {thing.seen}")
    if thing.seen not in WAYS:
        return _jpeg(_flat(_opened(thing.seen, photographs), _WHITE), 85)
    image = _opened(thing.picture, photographs)
    if thing.seen == "busy":
        return _jpeg(_pasted(image, _opened(chance.choice(BACKGROUNDS), photographs), chance), 85)
    colour = (chance.randint(185, 245), chance.randint(185, 245), chance.randint(185, 245))
    flat = _flat(image, colour)
    changed = {"warp": _warped, "crop": _cut, "dim": _dimmed}[thing.seen](flat, chance)
    return _jpeg(changed, 70 if thing.seen == "dim" else 85)


def _opened(name: str, photographs: Photographs) -> Image.Image:
    with Image.open(io.BytesIO(photographs.read(name))) as image:
        image.load()
        whole = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if whole.mode == "RGBA":
        whole = whole.crop(whole.getchannel("A").getbbox())
    whole.thumbnail((_LONGEST, _LONGEST), Image.Resampling.LANCZOS)
    return whole


def _flat(image: Image.Image, colour: tuple[int, int, int]) -> Image.Image:
    if image.mode == "RGB":
        return image
    square = Image.new("RGB", (_SQUARE, _SQUARE), colour)
    small = _scaled(image, _ROOM * _SQUARE)
    square.paste(small, ((_SQUARE - small.width) // 2, (_SQUARE - small.height) // 2), small)
    return square


def _scaled(image: Image.Image, longer: float) -> Image.Image:
    scale = longer / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def _warped(image: Image.Image, chance: Random) -> Image.Image:
    """As seen from the side: what each corner of the new picture shows lies inside the old one."""
    width, height = image.size
    corners = ((0, 0), (0, height), (width, height), (width, 0))  # as PIL orders them
    quad: list[float] = []
    for x, y in corners:
        inward = chance.uniform(0, _SKEW) * width, chance.uniform(0, _SKEW) * height
        quad += [x + (inward[0] if x == 0 else -inward[0]), y + (inward[1] if y == 0 else -inward[1])]
    skewed = image.transform(image.size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC)
    edge = skewed.resize((1, 1)).getpixel((0, 0))
    turned = skewed.rotate(chance.uniform(-_TURN, _TURN), Image.Resampling.BICUBIC, expand=True, fillcolor=edge)
    return ImageEnhance.Brightness(turned).enhance(chance.uniform(0.85, 1.15))


def _cut(image: Image.Image, chance: Random) -> Image.Image:
    width, height = (round(side * chance.uniform(*_KEPT)) for side in image.size)
    left, top = chance.randint(0, image.width - width), chance.randint(0, image.height - height)
    return image.crop((left, top, left + width, top + height))


def _dimmed(image: Image.Image, chance: Random) -> Image.Image:
    dark = ImageEnhance.Brightness(image).enhance(chance.uniform(*_LIGHT))
    return ImageEnhance.Contrast(dark).enhance(_CONTRAST).filter(ImageFilter.GaussianBlur(_BLUR))


def _pasted(image: Image.Image, photograph: Image.Image, chance: Random) -> Image.Image:
    frame = photograph.convert("RGB").resize(_FRAME, Image.Resampling.BICUBIC)
    small = _scaled(image.convert("RGBA"), chance.uniform(*_PASTED) * min(_FRAME))
    turned = small.rotate(chance.uniform(-_TURN, _TURN), Image.Resampling.BICUBIC, expand=True)
    corner = (
        chance.randint(0, max(0, frame.width - turned.width)),
        chance.randint(0, max(0, frame.height - turned.height)),
    )
    frame.paste(turned, corner, turned)
    return frame


def _jpeg(image: Image.Image, quality: int) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "JPEG", quality=quality)
    return encoded.getvalue()
