"""Bundles with more or less than the starter's, each behind a whole server and its socket."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from PIL import Image

from quizglass_bundle.files import Bundle
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_server.config.settings import EngineOptions
from quizglass_server.errors import BundleError
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.load import load_models
from tests.support.bundles.edited_bundle import changed, photo
from tests.support.bundles.tiny_bundle import write_bundle

ASKED: dict[str, Any] = {"question": "What?"}
ANSWERED: dict[str, Any] = {"question": "What?", "evidence": ["a: b"], "answer": "b"}
CPU = EngineOptions(threads=1, provider="cpu")


def best(weighed: list[tuple[str, float]]) -> str:
    return max(weighed, key=lambda item: item[1])[0]


def without_projector(root: Path, roles: dict[str, Any]) -> None:
    (root / roles["generator"].pop("projector")).unlink()
    del roles["generator"]["picture"]


def wide_planner(root: Path, roles: dict[str, Any]) -> None:
    """A further size, of twelve by six patches, whose graph says "both" whatever it sees."""
    model = onnx.load(str(root / "planner" / "model.onnx"))
    (pixels,) = (value for value in model.graph.input if value.name == "pixel_values")
    pixels.type.tensor_type.shape.dim[1].dim_value = 72
    (weight,) = (each for each in model.graph.initializer if each.name == "by_length")
    weight.CopyFrom(numpy_helper.from_array(np.array([[0, 0, 0, 9]], np.float32), "by_length"))
    onnx.save(model, str(root / "planner" / "wide.onnx"))
    roles["planner"]["grids"] = [{"width": 168, "height": 84, "model": "planner/wide.onnx"}]


def huge_planner(root: Path, roles: dict[str, Any]) -> None:
    """A size beyond what clients send by default: 96 by 2 patches."""
    wide_planner(root, roles)
    path = root / "planner" / "wide.onnx"
    model = onnx.load(str(path))
    (pixels,) = (value for value in model.graph.input if value.name == "pixel_values")
    pixels.type.tensor_type.shape.dim[1].dim_value = 192
    onnx.save(model, str(path))
    roles["planner"]["grids"][0] |= {"width": 1344, "height": 28}


def wide_encoder(root: Path, roles: dict[str, Any]) -> None:
    """A further size of the image encoder, whose vectors point the other way."""
    model = onnx.load(str(root / "image_encoder" / "model.onnx"))
    for axis, size in ((2, 84), (3, 168)):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = size
    (weight,) = model.graph.initializer
    weight.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weight), weight.name))
    onnx.save(model, str(root / "image_encoder" / "wide.onnx"))
    roles["image_encoder"]["grids"] = [{"width": 168, "height": 84, "model": "image_encoder/wide.onnx"}]


def with_scorers(root: Path, roles: dict[str, Any]) -> None:
    """Tool router and verifier with the planner's graph; it weighs brightness for the second label."""
    said = "{{ image }}{{ question }}{% for t in history %}{{ t.answer }}{% endfor %}{{ words }}"
    (root / "prompts" / "route.jinja").write_text(f"<|im_start|>{said}{{{{ draft }}}} Tools:")
    (root / "prompts" / "verify.jinja").write_text(
        f"<|im_start|>{said}{{% for e in evidence %}}{{{{ e }}}}{{% endfor %}}{{{{ answer }}}} Judge:"
    )
    (root / "prompts" / "strange.jinja").write_text("{{ price }} Judge:")
    roles["tool_router"] = {**roles["planner"], "prompt": "prompts/route.jinja"}
    judgements = [["incomplete", " A"], ["supported", " B"], ["contradicted", " C"], ["unsupported", " D"]]
    roles["verifier"] = {**roles["planner"], "prompt": "prompts/verify.jinja", "labels": judgements}


@contextmanager
def client_of(bundle: Path, folder: Path) -> Iterator[Client]:
    flags = ("--threads", "1", "--provider", "cpu")
    with LocalServer(bundle, folder, flags=flags) as server, Client(server.target) as client:
        yield client


@pytest.fixture
def jpeg() -> bytes:
    content = io.BytesIO()
    Image.fromarray(photo(120, 90, 90).pixels).save(content, "JPEG")
    return content.getvalue()


async def fingerprint_of_pictures(bundle: Path) -> str:
    models = await load_models(Bundle.load(bundle), CPU)
    try:
        encoder = models[IMAGE_ENCODER]
        assert encoder is not None
        return encoder.fingerprint
    finally:
        await models.close()


async def test_pictures_go_to_the_size_that_suits_them(tmp_path: Path) -> None:
    bundle = changed(write_bundle(tmp_path / "b", ("planner", "image_encoder")), wide_planner)
    plain = await fingerprint_of_pictures(bundle)
    bundle = changed(bundle, wide_encoder)
    models = await load_models(Bundle.load(bundle), CPU)
    try:
        planner, encoder = models.deciders["planner"], models[IMAGE_ENCODER]
        assert encoder is not None
        for size in ((100, 100), (30, 40), (4000, 3900)):
            assert best(await planner.probabilities([photo(*size, 255)], ASKED)) == "image"
        for size in ((400, 200), (1000, 600), (33, 16)):
            assert best(await planner.probabilities([photo(*size, 255)], ASKED)) == "both"
        assert best(await planner.probabilities((), ASKED)) == "text"
        square, wide, again = await encoder.embed([photo(50, 50, 9), photo(90, 45, 9), photo(64, 64, 9)])
        assert square @ again == pytest.approx(1.0, abs=1e-5)
        assert square @ wide == pytest.approx(-1.0, abs=1e-5)
        assert encoder.fingerprint != plain
    finally:
        await models.close()


async def test_a_size_whose_graph_does_not_take_it_is_refused_at_the_start(tmp_path: Path) -> None:
    def wrong(root: Path, roles: dict[str, Any]) -> None:
        roles["planner"]["grids"] = [{"width": 168, "height": 84, "model": "planner/model.onnx"}]

    bundle = changed(write_bundle(tmp_path / "b", ("planner",)), wrong)
    with pytest.raises(BundleError, match=r"planner/model\.onnx: pixel_values has shape .*64, 1176.* not .*72, 1176"):
        await load_models(Bundle.load(bundle), CPU)


async def test_tool_router_and_verifier_answer_with_the_manifests_labels(tmp_path: Path) -> None:
    bundle = changed(write_bundle(tmp_path / "b", ("planner",)), with_scorers)
    models = await load_models(Bundle.load(bundle), CPU)
    try:
        bright, dark = photo(50, 50, 255), photo(50, 50, 0)
        asked = ASKED | {"words": "sign", "draft": "a draft"}
        assert best(await models.deciders["tool_router"].probabilities([bright], asked)) == "image"
        verifier = models.deciders["verifier"]
        judged = [await verifier.probabilities([picture], ANSWERED) for picture in (bright, dark)]
        assert [best(each) for each in judged] == ["supported", "contradicted"]
        assert [name for name, _ in judged[0]] == ["incomplete", "supported", "contradicted", "unsupported"]
    finally:
        await models.close()


async def test_a_verifier_of_text_alone_weighs_the_evidence_and_not_the_picture(tmp_path: Path) -> None:
    def of_text(root: Path, roles: dict[str, Any]) -> None:
        with_scorers(root, roles)
        of_text = {"prompt": "prompts/verify.jinja", "labels": [["supported", " yes"], ["unsupported", " no"]]}
        roles["verifier"] = roles["reranker"] | of_text

    bundle = changed(write_bundle(tmp_path / "b", ("planner", "reranker")), of_text)
    models = await load_models(Bundle.load(bundle), CPU)
    try:
        verifier = models.deciders["verifier"]
        shown = [[photo(50, 50, 255)], [photo(50, 50, 0)], []]
        bright, dark, none = [await verifier.probabilities(pictures, ANSWERED) for pictures in shown]
        longer = await verifier.probabilities((), ANSWERED | {"evidence": ["a: b", "c: d"]})
        assert bright == dark == none
        assert [name for name, _ in none] == ["supported", "unsupported"]
        assert sum(probability for _, probability in none) == pytest.approx(1)
        assert dict(longer) != dict(none)
        assert [each.sees_pictures for each in models.statuses() if each.role == "verifier"] == [False]
    finally:
        await models.close()


@pytest.mark.parametrize(
    ("role", "change", "reason"),
    [
        (
            "verifier",
            {"labels": [["yes", " A"], ["no", " B"]]},
            r"verifier\.labels: yes, no: none is 'supported'",
        ),
        ("tool_router", {"labels": [["x", " A"], ["y", " B"]]}, r"roles\.tool_router\.labels: x, y: not all are plans"),
        ("verifier", {"labels": [["supported", " A"], ["no", " B"]]}, r"values of shape \[1, 4\].*says \[1, 2\]"),
        (
            "verifier",
            {"prompt": "prompts/strange.jinja"},
            r"roles\.verifier: .*'price' is undefined; .* question, history",
        ),
        ("tool_router", {"image_token": "<|none|>"}, r"roles\.tool_router: .*<\|none\|>"),
    ],
)
async def test_a_scorer_that_does_not_fit_its_role_is_refused(
    tmp_path: Path, role: str, change: dict[str, Any], reason: str
) -> None:
    def edit(root: Path, roles: dict[str, Any]) -> None:
        with_scorers(root, roles)
        roles[role] |= change

    bundle = changed(write_bundle(tmp_path / "b", ("planner",)), edit)
    with pytest.raises(BundleError, match=reason):
        await load_models(Bundle.load(bundle), CPU)


def test_a_generator_of_text_alone_answers_about_pictures_by_what_is_found(tmp_path: Path, jpeg: bytes) -> None:
    bundle = changed(write_bundle(tmp_path / "b"), without_projector)
    with client_of(bundle, tmp_path / "k") as client:
        answer = client.answer("What is this?", jpeg, policy="both")
        assert answer.done.finish_reason in ("complete", "length")
        roles = {role.role: role.sees_pictures for role in client.capabilities().roles}
    assert roles == {
        "planner": True,
        "reranker": False,
        "image_encoder": True,
        "text_encoder": False,
        "generator": False,
    }


def test_a_bundle_with_every_scorer_is_served_and_says_so(tmp_path: Path, jpeg: bytes) -> None:
    bundle = changed(changed(write_bundle(tmp_path / "b"), with_scorers), huge_planner)
    with client_of(bundle, tmp_path / "k") as client:
        assert client.answer("What is this?", jpeg, policy="none").text
        told = client.capabilities()
    assert told.useful_picture_side == 1344
    roles = {role.role: (role.engine, role.executor, role.ready) for role in told.roles}
    assert roles["verifier"] == roles["tool_router"] == ("onnx", "cpu", True)
