"""What tests of the laboratory share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

# Untrained models hardly prefer one token to the next, so quantising flips their answers: the fewer, the better.
_SETTINGS = {"name": "untrained", "version": "9", "answer_tokens": 3, "thresholds": {"image_accept": 0.25}}


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained checkpoints in the starter's layout, in half precision, as a repository keeps them."""
    from quizglass_lab.retrieval.random_checkpoints import write_random_checkpoints
    from quizglass_lab.starter.random_checkpoint import write
    from quizglass_lab.starter_bundle.pack import pack

    raw = tmp_path_factory.mktemp("raw")
    write(raw)
    write_random_checkpoints(raw)
    (raw / "base" / "optimizer.safetensors").write_bytes(b"state")
    (raw / "settings.json").write_text(json.dumps(_SETTINGS))
    for stage in ("joint", "planner"):
        (raw / stage).mkdir(exist_ok=True)
        (raw / stage / "done.json").write_text(json.dumps({"right": 0.25}))
    out = tmp_path_factory.mktemp("packed") / "checkpoints"
    pack(raw, out)
    return out
