"""What tests of the generator process share: a tiny model's files."""

from __future__ import annotations

import pytest

from quizglass_server.engines.generator.process.options import ProcessOptions
from tests.support.engines.generator_process import tiny_options


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> ProcessOptions:
    return tiny_options(tmp_path_factory.mktemp("generator"))
