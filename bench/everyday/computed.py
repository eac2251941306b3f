"""What the bundle's models compute, in a process of its own: the same on any CPU.

`python -m bench.everyday.computed BUNDLE ASKED.json`; its last line is JSON. Nothing is started from here, so that all
of it runs under whatever runs this process.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.everyday.fetched.things import read_picture
from bench.everyday.without_avx512 import has_avx512
from quizglass_bundle.files import Bundle
from quizglass_export.gguf import worker
from quizglass_server.engines.generator.checks.backends import variant_in_use
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading


def main() -> None:
    """Compute and print."""
    bundle, asked = Bundle.load(Path(sys.argv[1]), hashes=False), json.loads(Path(sys.argv[2]).read_text())
    said = asyncio.run(_encoded(bundle, asked)) | _written(asked)
    print(json.dumps(said | {"variant": variant_in_use(), "avx512": has_avx512()}))


async def _encoded(bundle: Bundle, asked: dict[str, Any]) -> dict[str, Any]:
    """Vectors of texts and pictures, tags, and what is planned."""
    pool = EnginePool(1)
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(1, "cpu"))
    loaded = {
        role: await pool.run(lambda role=role: load_role(role, getattr(bundle.roles, role), loading))  # type: ignore[misc]
        for role in ("text_encoder", "image_encoder", "tagger", "planner")
        if getattr(bundle.roles, role) is not None
    }
    pictures = [read_picture(Path(each)) for each in asked["pictures"]]
    planner, tagger = loaded.get("planner"), loaded.get("tagger")
    planned = [] if planner is None else [await planner.probabilities((), each) for each in asked["plans"]]
    return {
        "texts": [vector.tolist() for vector in await loaded["text_encoder"].embed_queries(asked["texts"])],
        "pictures": [vector.tolist() for vector in await loaded["image_encoder"].embed(pictures)],
        "tags": [] if tagger is None else [[name for name, _ in await tagger.tags(each)] for each in pictures],
        "plans": [max(weighed, key=lambda item: item[1])[0] for weighed in planned],
    }


def _written(asked: dict[str, Any]) -> dict[str, Any]:
    """Greedy text by llama.cpp, as token ids."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "pictures.npy", np.zeros((0, 1, 1, 3), np.uint8))
        job = {
            **{"task": "answer", "model": asked["generator"], "projector": None, "image_token": None, "first_of": []},
            **{"prompts": [{"segments": each, "picture": None} for each in asked["prompts"]], "context": 512},
            **{"pictures": str(folder / "pictures.npy"), "stop": asked["stop"], "max_new_tokens": asked["tokens"]},
        }
        (folder / "job.json").write_text(json.dumps(job))
        if worker.main([str(folder / "job.json"), str(folder / "result.json")]):
            raise SystemExit("llama.cpp failed")
        return {"written": json.loads((folder / "result.json").read_text())["answers"]}


if __name__ == "__main__":
    main()
