"""`python -m bench.towers [--shape starter|random] [--rounds N]`: two decisions about a picture, one after the other.

By one graph, and by two: the vision tower, and the decisions. Both are exported into a temporary folder and asked in
turn by the server's own deciders, about each picture first the planner, then the decider `act`, which shares its graph.
One thread an engine, float32.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import transformers

from quizglass_bundle.files import Bundle
from quizglass_bundle.inputs.prompts import EXAMPLE
from quizglass_export.assembly.carry_out import carry_out
from quizglass_export.assembly.plan import make_plan
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import Recipe, Roles, Samples
from quizglass_lab.starter_bundle.layout import BuildOptions, plan_starter
from quizglass_server.config.settings import EngineOptions
from quizglass_server.domain.turns import Picture
from quizglass_server.roles.load import LoadedModels, load_models

ROOT = Path(__file__).parents[1]
CHECKPOINTS = ROOT / "models" / "starter" / "checkpoints"
FORMS = {"one graph": False, "two graphs": True}
ASKED = ("planner", "act")
_TEXT = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 12, "num_attention_heads": 6}
_TOWER = {"depth": 12, "embed_dim": 320, "num_heads": 4, "hidden_size": 384}
_SIDE = 448


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Returns 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=("starter", "random"), default="starter")
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS, help="the starter's (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=200, help="pictures (default: %(default)s)")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as name:
        folder = Path(name)
        file = _starter(args.checkpoints) if args.shape == "starter" else _random(folder / "checkpoint")
        bundles = [_built(file, apart, folder / form) for form, apart in FORMS.items()]
        times = asyncio.run(_measured(bundles, args.rounds))
    for role, each in zip(ASKED, times, strict=True):
        one, two = each
        apart = statistics.quantiles([a - b for a, b in zip(one, two, strict=True)], n=4)
        medians = ", ".join(
            f"{form} {statistics.median(values):.2f} ms" for form, values in zip(FORMS, each, strict=True)
        )
        quartiles = " ".join(f"{value:.2f}" for value in apart)
        print(f"{role}: {medians}; saved in pairs, quartiles: {quartiles} ms")
    return 0


def _starter(checkpoints: Path) -> RecipeFile:
    """The starter's planner with the decider that shares it."""
    file = plan_starter(BuildOptions(checkpoints, Path("unused"), samples=4)).file
    spec = file.recipe.roles.spec
    return _recipe(file.recipe, spec("planner"), {"act": spec("deciders.act")}, file.root)


def _random(folder: Path) -> RecipeFile:
    """Qwen2-VL of random weights: 12 layers of 320 over 1,024 patches in its tower, 12 of 384 over the prompt."""
    from tests.support.bundles import tiny_qwen

    folder.mkdir()
    tokenizer = tiny_qwen.write_tokenizer(folder / "tokenizer.json")
    small = tiny_qwen.qwen2_vl(tokenizer).config.to_dict()
    text = {**small["text_config"], **_TEXT, "num_key_value_heads": 2, "max_position_embeddings": 2048}
    del text["layer_types"]
    text["rope_scaling"] = {"type": "mrope", "rope_type": "default", "mrope_section": [8, 12, 12]}
    small |= {"text_config": text, "vision_config": {**small["vision_config"], **_TOWER, "mlp_ratio": 4}}
    model = transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig.from_dict(small))
    model.save_pretrained(folder)
    planner = {"checkpoint": folder, "picture": {"width": _SIDE, "height": _SIDE}}
    act = {"shares": "planner", "prompt": "act", "labels": [["text", " A"], ["same", " B"], ["none", " C"]]}
    recipe = Recipe.model_validate({"format": 1, "name": "random", "version": "0", "roles": {"planner": planner}})
    return _recipe(recipe, recipe.roles.spec("planner"), {"act": act}, folder)


def _recipe(recipe: Recipe, planner: Any, deciders: dict[str, Any], root: Path) -> RecipeFile:
    roles = Roles.model_validate({"planner": planner, "deciders": deciders})
    given = {"roles": roles, "samples": Samples(source="random", count=4), "threads": 1, "training": None}
    return RecipeFile(recipe.model_copy(update=given), root)


def _built(file: RecipeFile, apart: bool, out: Path) -> Bundle:
    planner: Any = file.recipe.roles.spec("planner")
    roles = file.recipe.roles.model_copy(update={"planner": planner.model_copy(update={"tower": apart})})
    plan = make_plan(RecipeFile(file.recipe.model_copy(update={"roles": roles}), file.root))
    return carry_out(plan, out).bundle


async def _measured(bundles: Sequence[Bundle], rounds: int) -> list[list[list[float]]]:
    """Milliseconds by role and form; a few first pictures warm up."""
    served = [await load_models(bundle, EngineOptions(threads=1, provider="cpu")) for bundle in bundles]
    times: list[list[list[float]]] = [[[] for _ in bundles] for _ in ASKED]
    rng = np.random.default_rng(1)
    try:
        for index in range(-3, rounds):
            pixels = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
            picture = Picture(sha256(pixels.tobytes()).digest(), pixels)
            for place in (range(len(served)), reversed(range(len(served))))[index % 2]:
                taken = await _asked(served[place], picture)
                for role, each in enumerate(taken if index >= 0 else ()):
                    times[role][place].append(each)
    finally:
        for models in served:
            await models.close()
    return times


async def _asked(models: LoadedModels, picture: Picture) -> list[float]:
    """Milliseconds of each decider's decision about a new picture, one after the other."""
    taken = []
    for name in ASKED:
        began = perf_counter()
        await models.deciders[name].probabilities([picture], EXAMPLE)
        taken.append((perf_counter() - began) * 1e3)
    return taken


if __name__ == "__main__":
    raise SystemExit(main())
