"""What tests of several rooms share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from quizglass_server.engines.onnx.pool import EnginePool


@pytest.fixture
def pool() -> Iterator[EnginePool]:
    """One thread that runs models."""
    from quizglass_server.engines.onnx.pool import EnginePool  # heavy: most tests need none

    made = EnginePool(1)
    yield made
    made.close()
