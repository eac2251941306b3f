"""What tests of the export share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer of tiny Qwen models."""
    from tests.support.bundles.tiny_qwen import write_tokenizer

    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")
