"""Writes small files as benchmarks have them: lines of JSON, and pictures."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw


def _drawn() -> bytes:
    image = Image.new("RGB", (64, 48), "white")
    ImageDraw.Draw(image).rectangle((8, 8, 40, 32), fill="red")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


PIXEL = _drawn()
"""A picture, whatever its file is called."""


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def put_picture(folder: Path, name: str) -> None:
    path = folder / "images" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PIXEL)
