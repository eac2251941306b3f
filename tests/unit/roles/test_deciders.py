"""Deciders: any number of them by name, on one graph or several, by a prompt or by numbers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from quizglass_bundle.files import Bundle
from quizglass_bundle.parts import LinearDeciderPart, VisionScorer
from quizglass_server.config.settings import EngineOptions
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.onnx import session
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.roles.load import LoadedModels, load_models, load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from tests.support.bundles.tiny_bundle import write_bundle

CPU = EngineOptions(threads=1, provider="cpu")
LINEAR = {
    "engine": "numpy",
    "kind": "linear",
    "features": ["p_min", "found", "answer"],
    "labels": ["direct", "verify", "rag"],
    "weights": [[4.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "bias": [0.0, 0.0, 0.0],
}


def photo(level: int) -> Picture:
    pixels = np.full((40, 40, 3), level, np.uint8)
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


def bundle_with(root: Path, deciders: dict[str, Any], patches: str = "", **prompts: str) -> Bundle:
    """The tiny bundle's planner, and further deciders; `{}` of one stands for the planner's own settings.

    With `patches`, the name of that axis, the graph takes any number of pictures, whose mean brightness counts.
    """
    write_bundle(root, ("planner",))
    for name, text in prompts.items():
        (root / "prompts" / f"{name}.jinja").write_text(text)
    path = root / "manifest.json"
    content = json.loads(path.read_text())
    planner = content["roles"]["planner"]
    if patches:
        model = onnx.load(root / planner["model"])
        shape = next(each.type.tensor_type.shape for each in model.graph.input if each.name == "pixel_values")
        shape.dim[1].dim_param = patches
        onnx.save(model, root / planner["model"])
    content["roles"]["deciders"] = {
        name: part if part.get("kind") == "linear" else planner | part for name, part in deciders.items()
    }
    path.unlink()
    content["files"] = {
        file.relative_to(root).as_posix(): {
            "sha256": sha256(file.read_bytes()).hexdigest(),
            "bytes": file.stat().st_size,
        }
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }
    path.write_text(json.dumps(content))
    return Bundle.load(root)


@asynccontextmanager
async def loaded(bundle: Bundle) -> AsyncIterator[LoadedModels]:
    models = await load_models(bundle, CPU)
    try:
        yield models
    finally:
        await models.close()


ACT = {"prompt": "prompts/act.jinja", "labels": [["text", " C"], ["image", " B"]], "rows": [2, 1]}
SAME = {"prompt": "prompts/same.jinja", "labels": [["yes", " yes"], ["no", " no"], ["both", " B"]], "rows": [0, 1, 3]}
PROMPTS = {"act": "{{ image }}{% for q in queries %}{{ q }}{% endfor %} Act:", "same": "{{ image }}{{ entity }} Same:"}


async def test_deciders_share_one_graph_each_with_its_own_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    original = session.OnnxSession.__init__

    def counted(self: Any, path: Path, *args: Any, **options: Any) -> None:
        opened.append(path.name)
        original(self, path, *args, **options)

    bundle = bundle_with(tmp_path / "b", {"act": ACT, "same": SAME}, **PROMPTS)
    monkeypatch.setattr(session.OnnxSession, "__init__", counted)
    async with loaded(bundle) as models:
        assert opened == ["model.onnx"]
        assert list(models.deciders) == ["planner", "act", "same"]
        values = {"question": "What?", "queries": ["What?"], "entity": "What?"}
        for level in (0, 255):
            whole = dict(await models.deciders["planner"].probabilities([photo(level)], values))
            act = dict(await models.deciders["act"].probabilities([photo(level)], values))
            assert list(act) == ["text", "image"]
            assert sum(act.values()) == pytest.approx(1)
            assert (act["image"] > act["text"]) == (whole["image"] > whole["text"]) == (level == 255)
            same = await models.deciders["same"].probabilities([photo(level)], values)
            assert [name for name, _ in same] == ["yes", "no", "both"]
        assert models.deciders["act"].needs == {"queries"}
        roles = [(each.role, each.engine, each.sees_pictures) for each in models.statuses()]
        assert roles == [(role, "onnx", True) for role in ("planner", "deciders.act", "deciders.same")]
        assert models.has("deciders.act")
        assert models.has("planner")
        assert not models.has("deciders.other")
    assert bundle.has("deciders.act")
    assert not bundle.has("deciders.other")


def test_deciders_of_one_tokenizer_read_its_file_once(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path / "b", {"act": {}})
    planner, act = bundle.roles.part("planner"), bundle.roles.part("deciders.act")
    assert isinstance(planner, VisionScorer)
    assert isinstance(act, VisionScorer)
    pool = EnginePool(1)
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(threads=1, provider="cpu"))
    load_role("planner", planner, loading)
    bundle.path(planner.tokenizer).unlink()
    assert load_role("deciders.act", act, loading).executor == "cpu"
    pool.close()


async def test_a_decider_of_other_settings_has_a_graph_of_its_own(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path / "b", {"act": ACT | {"max_tokens": 64}}, **PROMPTS)
    async with loaded(bundle) as models:
        values = {"queries": ["what is this? " * 50]}
        assert sum(p for _, p in await models.deciders["act"].probabilities([photo(9)], values)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": [2, 4]}, r"gives 4 logits, the manifest names row 4"),
        ({"rows": [2]}, r"roles\.deciders\.act.*rows"),
        ({"rows": [0, 1, 2]}, r"rows: 3 places for 2 labels"),
        ({"labels": [["text", " C"], ["text", " B"]]}, r"roles\.deciders\.act\.labels: 'text' is there twice"),
        ({"labels": [["text", " C"], ["image", " C"]]}, r"roles\.deciders\.act: labels ' C' and ' C' are one token"),
    ],
)
async def test_a_decider_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(BundleError, match=reason):
        await load_models(bundle_with(tmp_path / "b", {"act": ACT | change}, **PROMPTS), CPU)


SELECT = {"prompt": "prompts/select.jinja", "labels": [["1", " A"], ["2", " B"]], "rows": [2, 1]}
SHOWING = (
    "{{ image }}{% for l in seen %}{% if images[loop.index] is defined %}{{ images[loop.index] }}{% endif %}{{ l }}"
)
SHOWING += "{% endfor %}{{ question }}"
FOUR = {"most_pictures": 4}


async def test_a_prompt_of_several_pictures_sees_them_all(tmp_path: Path) -> None:
    deciders = {"select": SELECT | FOUR, "act": ACT | FOUR}
    async with loaded(bundle_with(tmp_path / "b", deciders, "n", select=SHOWING, **PROMPTS)) as models:
        select = models.deciders["select"]
        showing = {name: each.shows_several for name, each in models.deciders.items()}
        assert showing == {"planner": False, "select": True, "act": False}

        async def bright(*levels: int, lines: int = 5) -> float:
            values = {"seen": ["a"] * lines, "question": ""}
            return dict(await select.probabilities([photo(level) for level in levels], values))["2"]

        assert await bright(0) < await bright(0, 255) < await bright(0, 255, 255) < await bright(0, 255, 255, 255)
        assert await bright(0, 255, 255, 255, 255) == await bright(0, 255, 255, 255)  # no more than it takes
        assert await bright(0, 255, 255, lines=1) == await bright(0, 255, lines=1)  # as many as lines
        assert await bright(255, 0) == pytest.approx(await bright(0, 255), abs=1e-3)


async def test_pictures_of_entries_that_would_make_a_prompt_too_long_are_left_out(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path / "b", {"select": SELECT | FOUR}, "n", select=SHOWING)
    async with loaded(bundle) as models:
        select = models.deciders["select"]
        for words, shown in ((3, True), (60, False)):
            values = {"seen": ["a", "b"], "question": "what is this " * words}
            alone = await select.probabilities([photo(0)], values)
            assert (await select.probabilities([photo(0), photo(255)], values) != alone) is shown


async def test_a_graph_of_one_picture_is_shown_the_wearers_alone_whatever_its_prompt_shows(tmp_path: Path) -> None:
    async with loaded(bundle_with(tmp_path / "b", {"select": SELECT}, "n", select=SHOWING)) as models:
        select, values = models.deciders["select"], {"seen": ["a", "b"]}
        assert not select.shows_several
        alone = await select.probabilities([photo(0)], values)
        assert await select.probabilities([photo(0), photo(255)], values) == alone


@pytest.mark.parametrize(
    ("patches", "change", "prompt", "reason"),
    [
        (
            "",
            FOUR,
            SHOWING,
            r"planner/model\.onnx: takes one picture a prompt, not 4 as the manifest says; export it again",
        ),
        ("", {}, "{{ image }}{{ image }}", r"roles\.deciders\.select: .*select\.jinja: shows 2 pictures of 1"),
        ("n", {"most_pictures": 1}, SHOWING, r"most_pictures"),
    ],
)
async def test_more_pictures_than_a_graph_takes_are_refused_by_name(
    tmp_path: Path, patches: str, change: dict[str, Any], prompt: str, reason: str
) -> None:
    with pytest.raises(BundleError, match=reason):
        await load_models(bundle_with(tmp_path / "b", {"select": SELECT | change}, patches, select=prompt), CPU)


async def test_a_prompt_that_names_what_there_is_none_of_is_named(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path / "b", {"act": ACT}, act="{{ image }}{{ price }} Act:")
    with pytest.raises(
        BundleError, match=r"roles\.deciders\.act: .*act\.jinja: 'price' is undefined; a prompt may name"
    ):
        await load_models(bundle, CPU)


def test_a_name_with_a_place_of_its_own_is_no_further_decider(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"deciders: verifier has a place of its own; give it as roles\.verifier"):
        bundle_with(tmp_path / "b", {"verifier": ACT}, **PROMPTS)


async def test_a_linear_decider_weighs_numbers_lengths_and_words(tmp_path: Path) -> None:
    async with loaded(bundle_with(tmp_path / "b", {"search_router": LINEAR})) as models:
        router = models.deciders["search_router"]
        assert router.needs == {"p_min", "found", "answer"}
        values: dict[str, Any] = {"p_min": 0.5, "found": ["a: b", "c: d"], "answer": "in the year 1974"}
        weighed = await router.probabilities((), values)
        sums = np.exp([2.0, 2.0, 4.0])
        assert [name for name, _ in weighed] == ["direct", "verify", "rag"]
        assert [p for _, p in weighed] == pytest.approx(list(sums / sums.sum()))
        assert [each.executor for each in models.statuses()] == ["cpu", "cpu"]
        with pytest.raises(EngineFailed, match=r"roles\.deciders\.search_router: feature 'p_min' is missing; .*answer"):
            await router.probabilities((), {"found": [], "answer": ""})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"weights": [[1.0]] * 3}, "weights: must have 3 rows of 3 numbers"),
        ({"bias": [0.0, 0.0]}, "bias: must have 3 numbers"),
        ({"labels": ["a", "a", "b"]}, "labels: 'a' is there twice"),
        ({"features": ["x", "x", "y"]}, "features: 'x' is there twice"),
    ],
)
def test_a_linear_decider_whose_shapes_do_not_fit_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        LinearDeciderPart.model_validate(LINEAR | change)


def test_what_is_loaded_once_is_shared_by_key() -> None:
    loading: Any = Loading(None, None, None, None)  # type: ignore[arg-type]
    made: list[int] = []
    assert loading.once("a", lambda: made.append(1) or 7) == loading.once("a", lambda: made.append(2) or 8) == 7
    assert (loading.once("b", lambda: 9), made) == (9, [1])
