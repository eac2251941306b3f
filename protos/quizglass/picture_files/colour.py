"""Colour profiles: what the numbers of a picture mean, converted to sRGB, which every model was trained in.

Cameras of phones write Display P3, others Adobe RGB, scanners grey of a gamma of its own, printers inks. A profile that
cannot be read, or that is of other colours than the picture, says nothing.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import product

from PIL import Image, ImageChops, ImageCms

MOST_PROFILE = 4 << 20
"""Bytes of a profile. Those of printers have a megabyte or two, all others some kilobytes."""
Converter = Callable[[Image.Image], Image.Image]
_SPACES = {b"RGB ": "RGB", b"GRAY": "L", b"CMYK": "CMYK"}
"""Modes of Pillow by what a profile says that it describes."""
_GREY = frozenset({"1", "L", "LA", "La", "I", "F"})
_SAME = 2
"""Of 255. A profile that changes no colour by more is sRGB, of which there are many."""
_STEPS = (0, 16, 48, 96, 160, 208, 255)


def to_srgb(mode: str, profile: bytes) -> Converter:
    """What converts pixels that are RGB, L, CMYK or LAB to RGB.

    Args:
        mode: Pillow's, of the picture as it was decoded.
        profile: its ICC profile; empty: there is none.
    """
    transform = _transform(mode, profile)
    if transform is None:
        return lambda image: _as(image, "RGB")
    wanted = transform.input_mode
    return lambda image: transform.apply(_as(image, wanted))


def _as(image: Image.Image, mode: str) -> Image.Image:
    return image if image.mode == mode else image.convert(mode)


def _transform(mode: str, profile: bytes) -> ImageCms.ImageCmsTransform | None:
    if mode == "LAB":
        return _built(ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")), "LAB")
    space = _SPACES.get(profile[16:20])
    if space is None or len(profile) > MOST_PROFILE or space not in _described(mode):
        return None
    try:
        transform = _built(ImageCms.ImageCmsProfile(io.BytesIO(profile)), space)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
    return None if space == "RGB" and _changes_nothing(transform) else transform


def _described(mode: str) -> tuple[str, ...]:
    """What a profile may be of to describe a picture of that mode."""
    if mode == "CMYK":
        return ("CMYK",)
    return ("RGB", "L") if mode in _GREY or mode.startswith("I;16") else ("RGB",)


def _built(profile: ImageCms.ImageCmsProfile, mode: str) -> ImageCms.ImageCmsTransform:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    return ImageCms.ImageCmsTransform(profile, srgb, mode, "RGB")


def _changes_nothing(transform: ImageCms.ImageCmsTransform) -> bool:
    colours = list(product(_STEPS, repeat=3))
    probe = Image.new("RGB", (len(colours), 1))
    probe.putdata(colours)
    differences = ImageChops.difference(probe, transform.apply(probe)).histogram()
    return not any(count for at, count in enumerate(differences) if at % 256 > _SAME)
