"""Vision towers that are files of their own: run once a picture, kept within bounds, refused where they do not fit."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any
from urllib.request import urlopen

import numpy as np
import onnx
import pytest
from PIL import Image

from quizglass_bundle.fields import Size
from quizglass_bundle.files import Bundle
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_server.config.settings import EngineOptions
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.observe import metrics
from quizglass_server.roles.load import LoadedModels, load_models, load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from tests.support.bundles.edited_bundle import changed, photo, with_tower, write_tower
from tests.support.bundles.tiny_bundle import write_bundle

prometheus = pytest.importorskip("prometheus_client", reason="the extra web is not installed")
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

ASKED: dict[str, Any] = {"question": "What?"}
JUDGED: dict[str, Any] = {"question": "What?", "answer": "b", "evidence": ["a: b"]}


def towered(root: Path, width: int = 4, **how: bool) -> Path:
    """A bundle whose planner and verifier have a vision tower in common."""

    def verified(root: Path, roles: dict[str, Any]) -> None:
        (root / "prompts" / "verify.jinja").write_text("<|im_start|>{{ image }}{{ question }}{{ answer }} Judge:")
        labels = [["incomplete", " A"], ["supported", " B"], ["contradicted", " C"], ["unsupported", " D"]]
        roles["verifier"] = {**roles["planner"], "prompt": "prompts/verify.jinja", "labels": labels}

    return changed(changed(write_bundle(root), with_tower(width, **how)), verified)


async def loaded(root: Path, **options: Any) -> LoadedModels:
    """Its deciders alone."""

    def deciders(root: Path, roles: dict[str, Any]) -> None:
        for role in set(roles) - {"planner", "verifier"}:
            del roles[role]

    return await load_models(Bundle.load(changed(root, deciders)), EngineOptions(threads=1, provider="cpu", **options))


def lookups(text: str) -> dict[str, int]:
    """Runs of towers (`miss`), and what was there already (`hit`)."""
    counted = {
        sample.labels["result"]: int(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "quizglass_cache_lookups_total" and sample.labels["cache"] == "towers"
    }
    return {"miss": 0, "hit": 0} | counted


@pytest.fixture
def runs() -> Iterator[Any]:
    """Gives how often towers ran since the test began, and how often they need not."""
    registry = metrics.collect()
    yield lambda: tuple(lookups(prometheus.generate_latest(registry).decode()).values())
    for metric in metrics.EVERY.values():
        metric.bind(None)


def weighed_by(models: LoadedModels, pictures: list[Picture]) -> Any:
    return models.deciders["planner"].probabilities(pictures, ASKED)


async def test_two_graphs_decide_as_one_does(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        root = write_bundle(tmp_path / name, ("planner",))
        models = await loaded(changed(root, with_tower(8)) if name == "two" else root)
        try:
            shown: list[list[Picture]] = [[photo(50, 50, 255)], [photo(80, 40, 9)], []]
            found.append([await weighed_by(models, pictures) for pictures in shown])
        finally:
            await models.close()
    for one, two in zip(*found, strict=True):
        assert [label for label, _ in one] == [label for label, _ in two]
        assert [p for _, p in two] == pytest.approx([p for _, p in one], abs=1e-5)


def test_a_turn_that_plans_and_judges_runs_the_tower_once(tmp_path: Path) -> None:
    content = io.BytesIO()
    Image.fromarray(photo(120, 90, 90).pixels).save(content, "JPEG")
    bundle = towered(tmp_path / "b")
    flags = ("--threads", "1", "--provider", "cpu", "--operations-port", "0", "--web-port", "0")

    def counted() -> dict[str, int]:
        with urlopen(f"{server.operations}/metrics") as answer:
            return lookups(answer.read().decode())

    with LocalServer(bundle, tmp_path / "k", flags=flags) as server, Client(server.target, timeout=60) as client:
        answer = client.answer("What is this?", content.getvalue(), policy="planning-agent", explain=True)
        steps = [step.name for step in answer.steps]
        assert {"plan", "verify"} <= set(steps), steps
        first = counted()
        assert first["miss"] == 1
        assert first["hit"] >= 1
        client.answer("And this?", content.getvalue(), policy="planning-agent")
        assert counted()["miss"] == 1, "the picture is known"


async def test_deciders_that_ask_at_once_wait_for_one_run(tmp_path: Path, runs: Any) -> None:
    models = await loaded(towered(tmp_path / "b"))
    try:
        picture = photo(60, 60, 200)
        planned = [models.deciders["planner"].probabilities([picture], ASKED) for _ in range(4)]
        judged = [models.deciders["verifier"].probabilities([picture], JUDGED) for _ in range(4)]
        found = await asyncio.gather(*planned, *judged)
        assert runs() == (1, 7)
        assert len({tuple(each) for each in found[:4]}) == len({tuple(each) for each in found[4:]}) == 1
        await models.deciders["planner"].look_at(other := photo(61, 60, 100))
        assert runs() == (2, 7)
        await weighed_by(models, [other])
        assert runs() == (2, 8)
    finally:
        await models.close()


async def test_the_least_recent_pictures_go_first(tmp_path: Path, runs: Any) -> None:
    """Of 1 MiB for pictures an eighth is kept of towers: two pictures of 64 KiB."""
    models = await loaded(towered(tmp_path / "b", 1024), picture_cache_bytes=1 << 20)
    try:
        first, second, third = (photo(60 + place, 60, 200) for place in range(3))
        for picture in (first, second, first, third):
            await weighed_by(models, [picture])
        assert runs() == (3, 1)
        await weighed_by(models, [first])
        assert runs() == (3, 2)
        await weighed_by(models, [second])
        assert runs() == (4, 2), "the third took its place"
    finally:
        await models.close()


async def test_a_tower_whose_features_do_not_fit_says_so(tmp_path: Path, runs: Any) -> None:
    models = await loaded(towered(tmp_path / "b", 4096), picture_cache_bytes=1 << 20)
    try:
        picture = photo(60, 60, 200)
        for _ in range(2):
            await weighed_by(models, [picture])
        await models.deciders["planner"].look_at(picture)
        assert runs() == (2, 0), "looking ahead would be for nothing"
        for status in models.statuses():
            assert "planner/tower.onnx" in status.notice
            assert "0.2 MiB of the 0.1" in status.notice
            assert "raise picture_cache_bytes to 2.0 times" in status.notice
    finally:
        await models.close()


@pytest.mark.parametrize("most", [2, 3])
async def test_a_cache_for_fewer_pictures_than_a_prompt_shows_says_so(tmp_path: Path, most: int) -> None:
    def several(root: Path, roles: dict[str, Any]) -> None:
        path = root / "planner" / "model.onnx"
        model = onnx.load(str(path))
        (features,) = (value for value in model.graph.input if value.name == "image_features")
        features.type.tensor_type.shape.dim[1].dim_param = "features"
        onnx.save(model, str(path))
        roles["planner"]["most_pictures"] = most

    root = changed(towered(tmp_path / "b", 1024), several)
    models = await loaded(root, picture_cache_bytes=1 << 20)  # two pictures fit
    try:
        notice = next(status.notice for status in models.statuses() if status.role == "planner")
        assert bool(notice) == (most == 3)
        if notice:
            assert "of 3 pictures, as many as a prompt may show, takes 0.2 MiB of the 0.1" in notice
            assert "runs again for pictures that it has seen; raise picture_cache_bytes to 1.5 times" in notice
    finally:
        await models.close()


async def test_a_picture_that_the_tower_gives_no_numbers_for_fails_alone(tmp_path: Path, runs: Any) -> None:
    models = await loaded(towered(tmp_path / "b", of_light=True))
    try:
        dark = photo(60, 60, 0)
        asked = [weighed_by(models, [picture]) for picture in (dark, photo(60, 60, 255), dark)]
        first, bright, last = await asyncio.gather(*asked, return_exceptions=True)
        assert [label for label, _ in bright] == ["none", "image", "text", "both"]
        for failed in (first, last):
            assert isinstance(failed, EngineFailed)
            assert "planner/tower.onnx: gives values that are not numbers" in failed.message
        before = runs()[0]
        with pytest.raises(EngineFailed):
            await weighed_by(models, [dark])
        assert runs()[0] == before + 1, "what failed is not kept"
    finally:
        await models.close()


class HeldFitter(PictureFitter):
    """Has whoever brings a picture into a model's size wait."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = Event(), Event()

    def fit(self, picture: Picture, size: Size, *, keep: bool = True) -> RGB:
        self.begun.set()
        assert self.go.wait(60)
        return super().fit(picture, size, keep=keep)


async def test_who_is_cancelled_leaves_the_run_to_others_and_no_thread_waits_for_it(tmp_path: Path, runs: Any) -> None:
    bundle = Bundle.load(towered(tmp_path / "b"))
    pool, fitter = EnginePool(2), HeldFitter()
    loading = Loading(bundle, pool, fitter, OnnxOptions(provider="cpu"))
    try:
        planner, verifier = (load_role(role, bundle.roles.part(role), loading) for role in ("planner", "verifier"))
        picture = photo(60, 60, 200)
        first = asyncio.create_task(planner.probabilities([picture], ASKED))
        await asyncio.to_thread(fitter.begun.wait, 60)
        waiting = [asyncio.create_task(verifier.probabilities([picture], JUDGED)) for _ in range(3)]
        while sum(runs()) < 4:
            assert await pool.run(lambda: "free") == "free", "the second thread runs other work meanwhile"
        for task in (first, waiting[0]):
            task.cancel()
        await asyncio.gather(first, waiting[0], return_exceptions=True)
        fitter.go.set()
        one, two = await asyncio.gather(*waiting[1:])
        assert one == two
        assert first.cancelled()
        assert waiting[0].cancelled()
        await planner.probabilities([picture], ASKED)
        assert runs() == (1, 4)
    finally:
        fitter.go.set()
        await asyncio.to_thread(pool.close)


def cut_short(root: Path, roles: dict[str, Any]) -> None:
    path = root / "planner" / "tower.onnx"
    path.write_bytes(path.read_bytes()[:90])


def of_another_size(root: Path, roles: dict[str, Any]) -> None:
    roles["planner"]["picture"] |= {"width": 168, "height": 84}


def of_another_model(root: Path, roles: dict[str, Any]) -> None:
    write_tower(root / "planner" / "other.onnx", 12)
    roles["planner"]["tower"] = "planner/other.onnx"


def of_fewer_tokens(root: Path, roles: dict[str, Any]) -> None:
    path = root / "planner" / "tower.onnx"
    model = onnx.load(str(path))
    for tensor in model.graph.initializer:
        if tensor.name == "tokens":
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.array([1, 8, 8], np.int64), "tokens"))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 8
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = 8
    onnx.save(model, str(path))


def without_one(root: Path, roles: dict[str, Any]) -> None:
    del roles["planner"]["tower"]


def the_scorer_itself(root: Path, roles: dict[str, Any]) -> None:
    roles["planner"]["tower"] = "planner/model.onnx"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (cut_short, r"planner/tower\.onnx: ONNX Runtime cannot load it"),
        (of_another_size, r"planner/tower\.onnx: pixel_values has shape \[1, 64, 1176\], not \[1, 72, 1176\]"),
        (
            of_another_model,
            r"planner/model\.onnx: image_features has .*16, 4\], not \[1, 16, 12\] .*its tower is planner/other\.onnx",
        ),
        (of_fewer_tokens, r"planner/tower\.onnx: gives values of shape \[1, 8, 8\], the manifest says \[1, 16, 8\]"),
        (without_one, r"planner/model\.onnx: has no input pixel_values"),
        (the_scorer_itself, r"planner/model\.onnx: has no input pixel_values"),
    ],
)
async def test_towers_that_do_not_fit_are_refused_by_name(tmp_path: Path, edit: Any, reason: str) -> None:
    bundle = changed(changed(write_bundle(tmp_path / "b", ("planner",)), with_tower(4)), edit)
    with pytest.raises(BundleError, match=reason):
        await loaded(bundle)


def test_a_tower_with_another_content_or_size_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    root = changed(write_bundle(tmp_path / "b", ("planner",)), with_tower(4))
    path = root / "planner" / "tower.onnx"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BundleError, match=r"planner/tower\.onnx"):
        Bundle.load(root)
    path.unlink()
    with pytest.raises(BundleError, match=r"planner/tower\.onnx"):
        Bundle.load(root)
    path.write_bytes(content)

    def grid(root: Path, roles: dict[str, Any]) -> None:
        roles["planner"]["grids"] = [{"width": 168, "height": 84, "model": "planner/model.onnx"}]

    with pytest.raises(BundleError, match=r"grids\.0\.tower: is missing; every size has a tower of its own"):
        Bundle.load(changed(root, grid))
