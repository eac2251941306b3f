"""A scorer in two graphs, its vision tower and its decisions, equals the single one and transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from quizglass_bundle.fields import Patched  # noqa: E402
from quizglass_bundle.inputs.vision_inputs import feature_batch, patch_grid, patches  # noqa: E402
from quizglass_export.checkpoints.merged import MergedWeights  # noqa: E402
from quizglass_export.checkpoints.source import Source  # noqa: E402
from quizglass_export.checkpoints.streamed_graph import write_streamed  # noqa: E402
from quizglass_export.graphs.qwen_vl import VISION_CLASSES, vision_scorer  # noqa: E402
from quizglass_export.graphs.scorer_vl import DecisionGraph, TowerGraph  # noqa: E402
from quizglass_export.onnx.scorer_inputs import FEATURES, TowerRuns, scorer_batch, tower_inputs  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.parity import check_scorer, session  # noqa: E402
from quizglass_export.roles.shared.scorers import DECISION_AXES, SEVERAL, VISION_AXES  # noqa: E402
from quizglass_export.roles.shared.towers import share_towers  # noqa: E402
from tests.support.bundles.tiny_vision_scorers import IMAGE, LABELS, made, pictured  # noqa: E402

PICTURE = Patched(width=84, height=140, mean=(0.5,) * 3, std=(0.5,) * 3, patch=14, merge=2, temporal=2)
GRID = patch_grid(PICTURE)
PROMPTS = [*(pictured(PICTURE, seed, 2 + 3 * seed, count) for seed, count in enumerate((1, 2, 1, 3))), ([5, 6, 7], [])]
"""Of several pictures, of one, and of none."""
ONE = [prompt for prompt in PROMPTS if len(prompt[1]) < 2]


def tensors(given: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: torch.from_numpy(value) for name, value in given.items()}


def expected(model: Any, ids: list[int], pixels: list[np.ndarray]) -> np.ndarray:
    more = {}
    if pixels:
        more["pixel_values"] = torch.from_numpy(np.concatenate([patches(each, PICTURE) for each in pixels]))
        more["image_grid_thw"] = torch.tensor([[1, *GRID]] * len(pixels))
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), **more).logits[0, -1, LABELS].numpy()


@pytest.mark.parametrize("kind", VISION_CLASSES)
@pytest.mark.parametrize("several", [False, True])
def test_two_graphs_give_what_one_and_transformers_give(tmp_path: Path, kind: str, several: bool) -> None:
    model, prompts = made(kind), PROMPTS if several else ONE
    references = [expected(model, ids, pixels) for ids, pixels in prompts]

    def given(chosen: list[int]) -> Any:
        return zip(*(prompts[index] for index in chosen), strict=True)

    def whole(chosen: list[int]) -> dict[str, np.ndarray]:
        rows, pixels = given(chosen)
        return scorer_batch(rows, IMAGE, PICTURE, pixels)

    def apart(chosen: list[int]) -> dict[str, np.ndarray]:
        rows, pixels = given(chosen)
        return runs.batch(rows, IMAGE, pixels)

    scorer = vision_scorer(model, LABELS, GRID, several=several)
    axes = VISION_AXES | ({"pixel_values": SEVERAL} if several else {})
    write_onnx(scorer, tensors(whole([0, 1])), axes, "logits", tmp_path / "model.onnx")
    seen = tower_inputs(patches(prompts[0][1][0], PICTURE))
    write_onnx(TowerGraph(scorer).eval(), tensors(seen), {}, FEATURES, tmp_path / "tower.onnx")
    runs = TowerRuns(tmp_path / "tower.onnx", PICTURE)
    assert runs.width == 32 * (3 if kind == "qwen3_vl" else 1), "what DeepStack adds is part of it"
    axes = DECISION_AXES | ({FEATURES: {0: "batch", 1: "features"}} if several else {})
    path = tmp_path / "decisions.onnx"
    write_onnx(DecisionGraph(scorer).eval(), tensors(apart([0, 1])), axes, "logits", path)
    checks = check_scorer("planner", path, references, apart, 1e-4)
    assert all(check.passed for check in checks), checks
    one, two = session(tmp_path / "model.onnx"), session(path)
    for index in range(len(prompts)):
        ours, theirs = two.run(None, apart([index]))[0], one.run(None, whole([index]))[0]
        assert np.abs(ours - theirs).max() < 1e-5
    assert {each.name for each in two.get_inputs()} == {"input_ids", "attention_mask", "position_ids", FEATURES}


def streamed(source: Source, kind: str, folder: Path, inline: int = 1 << 30) -> tuple[Path, Path]:
    """Tower and decisions of a checkpoint that is read tensor by tensor."""
    folder.mkdir()
    tower, path = folder / "tower.onnx", folder / "model.onnx"

    def write(make: Any, given: dict[str, np.ndarray], axes: Any, output: str, to: Path) -> None:
        weights = MergedWeights(source, VISION_CLASSES[kind])
        build = lambda model: make(vision_scorer(model, LABELS, GRID))  # noqa: E731
        write_streamed(weights, build, LABELS, lambda _: tensors(given), axes, [output], to, inline=inline)

    write(TowerGraph, tower_inputs(patches(ONE[0][1][0], PICTURE)), {}, FEATURES, tower)
    rows, pixels = zip(*ONE, strict=True)
    write(DecisionGraph, TowerRuns(tower, PICTURE).batch(rows, IMAGE, pixels), DECISION_AXES, "logits", path)
    return tower, path


def adapted(source: Source, kind: str, folder: Path, *modules: str) -> Source:
    torch.manual_seed(len(str(modules)))
    model = peft.get_peft_model(
        source.load(VISION_CLASSES[kind]),
        peft.LoraConfig(r=3, lora_alpha=6, init_lora_weights=False, target_modules=list(modules)),
    )
    model.save_pretrained(str(folder))
    return Source(source.folder, ((folder, 1.0),))


@pytest.mark.parametrize("kind", VISION_CLASSES)
def test_a_large_checkpoint_is_written_in_two_graphs_too_and_equal_towers_are_equal_files(
    tmp_path: Path, kind: str
) -> None:
    made(kind).to(torch.bfloat16).save_pretrained(tmp_path / "c", max_shard_size="20KB")
    base = Source(tmp_path / "c")
    speaks = adapted(base, kind, tmp_path / "lora_a", "q_proj", "v_proj")
    sees = adapted(base, kind, tmp_path / "lora_b", "qkv")
    digests = {}
    for name, source, inline in (("base", base, 1 << 30), ("beside", base, 0), ("a", speaks, 0), ("b", sees, 0)):
        tower, path = streamed(source, kind, tmp_path / name, inline)
        model = source.load(VISION_CLASSES[kind])
        references = [expected(model, ids, pixels) for ids, pixels in ONE]
        runs = TowerRuns(tower, PICTURE)

        def feed(chosen: list[int], runs: TowerRuns = runs) -> dict[str, np.ndarray]:
            rows, pixels = zip(*(ONE[index] for index in chosen), strict=True)
            return runs.batch(rows, IMAGE, pixels)

        checks = check_scorer("planner", path, references, feed, 1e-4)
        assert all(check.passed for check in checks), (name, checks)
        digests[name] = [file.read_bytes() for file in sorted(tower.parent.glob("tower.onnx*"))]
    assert [len(each) for each in digests.values()] == [1, 2, 2, 2]
    assert digests["beside"] == digests["a"], "an adapter of the language model leaves the tower as it is"
    assert digests["beside"] != digests["b"]


def test_roles_with_equal_towers_name_the_first_one_for_every_size() -> None:
    hashes = {
        "a/tower.onnx": "1",
        "b/tower.onnx": "1",
        "c/tower.onnx": "1",
        "a/tower.onnx.data": "2",
        "b/tower.onnx.data": "2",
        "c/tower.onnx.data": "3",
        "a/wide.onnx": "4",
        "b/wide.onnx": "5",
        "c/wide.onnx": "4",
    }

    def of(tower: str) -> dict[str, str]:
        return {name: digest for name, digest in hashes.items() if name.startswith(tower)}

    parts: dict[str, Any] = {
        role: {"tower": f"{role}/tower.onnx", "grids": [{"tower": f"{role}/wide.onnx"}]} for role in "abc"
    }
    parts["text"] = {"model": "text/model.onnx"}
    shared, dropped = share_towers(parts, of)
    assert [shared[role].get("tower") for role in shared] == ["a/tower.onnx", "a/tower.onnx", "c/tower.onnx", None]
    assert [shared[role]["grids"][0]["tower"] for role in "abc"] == ["a/wide.onnx", "b/wide.onnx", "a/wide.onnx"]
    assert dropped == {"b/tower.onnx", "b/tower.onnx.data", "c/wide.onnx"}


def test_what_a_row_lacks_is_zeros_behind_what_it_shows() -> None:
    one, two = np.full((15, 4), 1, np.float32), np.full((15, 4), 2, np.float32)
    rows = [ids for ids, _ in (PROMPTS[1], PROMPTS[0], PROMPTS[4])]
    batch = feature_batch(rows, IMAGE, PICTURE, [[one, two], [two], []], 4)
    assert batch[FEATURES].shape == (3, 30, 4)
    assert batch[FEATURES].dtype == np.float32
    assert [[float(row[0, 0]), float(row[15, 0])] for row in batch[FEATURES]] == [[1, 2], [2, 0], [0, 0]]
    alone = feature_batch(rows[2:], IMAGE, PICTURE, [[]], 4)
    assert alone[FEATURES].shape == (1, 15, 4)
    assert not alone[FEATURES].any()
