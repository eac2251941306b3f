"""Pictures by themselves: read back by Pillow."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from random import Random

from PIL import Image

from bench.hostile.inputs import bombs, fill_bytes, many_chunks, many_markers, scan_bomb
from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, damaged

_FORMATS = {
    "JPEG": ("jpg", "JPEG", "jfif", "jpe"),
    "PNG": ("png", "PNG"),
    "WEBP": ("webp",),
    "GIF": ("gif",),
    "BMP": ("bmp", "dib"),
    "TIFF": ("tif", "TIFF"),
    "AVIF": ("avif",),
}
_MODES = {
    "JPEG": ("RGB", "L", "CMYK"),
    "PNG": ("RGB", "RGBA", "P", "L", "LA", "1", "I;16"),
    "WEBP": ("RGB", "RGBA"),
    "GIF": ("P", "L"),
    "BMP": ("RGB", "L", "P", "1"),
    "TIFF": ("RGB", "RGBA", "L", "CMYK", "I;16", "1"),
    "AVIF": ("RGB", "RGBA"),
}
_LEAST_SIDE = 8


def draw(random: Random, folder: Path) -> Drawn:
    """One picture, under a name that says what it shows."""
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 5, 4, 2))[0]
    if state == HOSTILE:
        path = folder / "koala.jpg"
        path.write_bytes(_hostile(random))
        return Drawn(path, state)
    name = random.choice(sorted(_FORMATS))
    raw = picture(random, name, odd=state != PLAIN)
    if state == DAMAGED:
        raw = damaged(random, raw)
    ending = random.choice(_FORMATS[name] if state == PLAIN or random.random() < 0.8 else ("jpg", "png", "gif"))
    path = folder / f"red kettle.{ending}"
    path.write_bytes(raw)
    return Drawn(path, state, pictures=(path.name,) if decodes(raw) else (), what=name)


def picture(random: Random, name: str, *, odd: bool) -> bytes:
    """An encoded picture of noise in large spots, so that no two are alike."""
    sides = [random.randrange(16, 120) if not odd else random.choice((8, 33, 640, 1700, 4000)) for _ in range(2)]
    if min(sides) * 400 < max(sides):
        sides = [max(sides), max(sides) // 4]
    mode = random.choice(_MODES[name]) if odd else _MODES[name][0]
    spots = Image.frombytes("RGB", (8, 8), random.randbytes(192)).resize((sides[0], sides[1]), Image.Resampling.NEAREST)
    image = spots.convert("L").convert("I;16") if mode == "I;16" else spots.convert(mode)
    options: dict[str, object] = {}
    if odd and name in ("JPEG", "PNG", "WEBP") and random.random() < 0.4:
        exif = Image.Exif()
        exif[0x0112] = random.randrange(10)
        options["exif"] = exif
    if odd and name == "JPEG":
        options |= {"progressive": random.random() < 0.5, "quality": random.choice((1, 50, 100))}
    if odd and name in ("GIF", "WEBP", "PNG") and mode in ("P", "RGB", "RGBA") and random.random() < 0.3:
        options |= {"save_all": True, "append_images": [image.transpose(Image.Transpose.ROTATE_180)]}
    out = io.BytesIO()
    image.save(out, name, **options)
    return out.getvalue()


def decodes(raw: bytes) -> bool:
    """Whether a plain reader shows it whole, and it is no sliver that no model could look at."""
    try:
        with Image.open(io.BytesIO(raw)) as image:
            image.load()
            return min(image.size) >= _LEAST_SIDE
    except Exception:  # parsers of damaged files raise anything
        return False


def _hostile(random: Random) -> bytes:
    match random.randrange(7):
        case 0:
            return random.choice(sorted(bombs().values()))
        case 1:
            return scan_bomb(640, 5_000)
        case 2:
            return many_chunks(200_000)
        case 3:
            return many_markers(200_000)
        case 4:
            return fill_bytes(8_000_000)
        case 5:  # a header alone, of more pixels than there is memory
            return b"BM" + struct.pack(
                "<IHHIIiiHHIIiiII", 60 << 10, 0, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0
            )
        case _:
            return random.randbytes(64 << 20)
