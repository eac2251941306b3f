"""Pictures are trained on and asked about as a server decodes them."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.models.inputs import read_picture
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.pictures import decode_picture


def halves(mode: str = "RGB") -> Image.Image:
    """Black on the left, clear or red on the right."""
    image = Image.new(mode, (32, 16), "black")
    image.paste((255, 0, 0, 0) if mode == "RGBA" else "red", (16, 0, 32, 16))
    return image


def test_pictures_are_as_a_server_has_them(tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    halves().save(tmp_path / "turned.jpg", exif=turned)
    halves("RGBA").save(tmp_path / "clear.png")
    halves("RGBA").save(tmp_path / "clear.webp", lossless=True)
    for path in sorted(tmp_path.iterdir()):
        served = decode_picture(path.read_bytes(), PictureLimits(), "picture").pixels
        np.testing.assert_array_equal(read_picture(path), served)
    assert read_picture(tmp_path / "turned.jpg").shape == (32, 16, 3)
    assert read_picture(tmp_path / "clear.png")[0, 31].tolist() == [255, 255, 255]


def test_other_formats_are_read_too(tmp_path: Path) -> None:
    halves().save(tmp_path / "a.bmp")
    assert read_picture(tmp_path / "a.bmp")[0, 31].tolist() == [255, 0, 0]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_a_damaged_picture_is_named(tmp_path: Path) -> None:
    halves().save(tmp_path / "cut.png")
    whole = (tmp_path / "cut.png").read_bytes()
    huge = whole[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 2, 0, 0, 0)) + whole[33:]
    broken = whole[:33] + b"\0\0\0\x05IDA\xff" + whole[41:]
    for content in (b"", b"no picture", whole[:50], huge, broken):
        (tmp_path / "cut.png").write_bytes(content)
        with pytest.raises(ExportError, match=r"cut\.png: not a readable picture: "):
            read_picture(tmp_path / "cut.png")
