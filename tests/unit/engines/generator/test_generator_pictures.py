"""Pictures as llama-server is given them: whole, and of one client each."""

from __future__ import annotations

import io
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from quizglass_server.engines.generator.pictures import PictureFiles
from quizglass_server.engines.generator.prompt import PicturePart


@pytest.mark.parametrize("size", [(1, 1), (113, 57), (700, 600)], ids=["least", "small", "large"])
async def test_a_file_has_every_pixel_and_is_one_clients(size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), np.uint8)
    mine = PicturePart(b"\1" * 32, *size, pixels.tobytes())
    files = PictureFiles()
    file = b64decode(await files.file(mine))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(file))), pixels)
    assert b64decode(await files.file(mine)) == file
    assert b64decode(await files.file(replace(mine, sha256=b"\2" * 32))) != file
    files.clear()
    assert b64decode(await files.file(mine)) == file
