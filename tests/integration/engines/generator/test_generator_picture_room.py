"""A picture that takes more tokens than the model's context has is known at the start, not in the middle of a turn."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from quizglass_bundle.fields import Size
from quizglass_bundle.files import Bundle
from quizglass_server.config.settings import GivenOptions
from quizglass_server.domain.turns import GenerationEnd, Picture
from quizglass_server.errors import BundleError
from quizglass_server.roles.generator import GenerationRequest, LlamaGenerator
from quizglass_server.roles.given import completed, given_files
from quizglass_server.roles.shared.fitting import PictureFitter
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.bundles.tiny_models import write_generator


def given(folder: Path, context: int) -> LlamaGenerator:
    """The generator that model files make, with so long a context."""
    folder.mkdir()
    made = write_generator(folder, context=context)
    options = GivenOptions(generator=made.model, projector=made.projector)
    found = given_files(options)
    assert found is not None
    return LlamaGenerator(found.part, completed(None, found), PictureFitter(), threads=1)


async def test_pictures_in_their_own_shape_are_made_as_small_as_the_context_needs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    generator = given(tmp_path / "m", 512)
    try:
        await generator.start()
        assert "pictures are made as small as" in caplog.text
        for height, width in ((1600, 1600), (400, 2400), (2000, 500)):
            pixels = np.full((height, width, 3), 90, np.uint8)
            request = GenerationRequest("answer", {"question": "What is this?"}, (Picture(b"shown", pixels),), 4)
            async with aclosing(generator.generate(request)) as stream:
                *_, end = [item async for item in stream]
            assert isinstance(end, GenerationEnd)
    finally:
        await generator.close()


async def test_a_context_that_has_no_room_for_any_picture_is_refused_with_the_numbers(tmp_path: Path) -> None:
    generator = given(tmp_path / "m", 70)
    try:
        with pytest.raises(BundleError, match=r"takes \d+ tokens for a picture, and its context of 70 has room"):
            await generator.start()
    finally:
        await generator.close()


async def test_a_bundles_size_that_has_no_room_is_refused_by_its_field(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "tiny", ("generator",)))
    assert bundle.roles.generator is not None
    part = bundle.roles.generator.model_copy(update={"picture": Size(width=448, height=448)})
    generator = LlamaGenerator(part, bundle, PictureFitter(), threads=1)
    try:
        with pytest.raises(BundleError, match=r"roles\.generator\.picture: 448 x 448 pixels take 258 tokens, and"):
            await generator.start()
    finally:
        await generator.close()
