"""Roles beyond the starter's: exported from tiny checkpoints, loaded as a server does, compared with transformers."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("optimum")

from safetensors.torch import save_file  # noqa: E402

from quizglass_bundle.fields import Size  # noqa: E402
from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_bundle.inputs.vision_inputs import channels, fit  # noqa: E402
from quizglass_bundle.parts import DetectorPart  # noqa: E402
from quizglass_client import Client, Entry  # noqa: E402
from quizglass_client.local import LocalServer  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_server.config.settings import EngineOptions  # noqa: E402
from quizglass_server.domain.turns import RGB, Picture  # noqa: E402
from quizglass_server.errors import BundleError  # noqa: E402
from quizglass_server.roles.coarse_reranker import COARSE_RERANKER  # noqa: E402
from quizglass_server.roles.detector import DETECTOR  # noqa: E402
from quizglass_server.roles.domain_router import DOMAIN_ROUTER  # noqa: E402
from quizglass_server.roles.load import LoadedModels, load_models  # noqa: E402
from quizglass_server.roles.reranker import RERANKER  # noqa: E402
from quizglass_server.scheduling.ledger import ByteLedger, entered_in  # noqa: E402
from tests.support.bundles.exported_bundle import exported_bundle, write_manifest  # noqa: E402
from tests.support.bundles.tiny_bundle import write_bundle  # noqa: E402
from tests.support.bundles.tiny_checkpoints import bert_tokenizer, blip2, grounding_dino, owlv2, text_model  # noqa: E402

CPU = EngineOptions(threads=1, provider="cpu")
PASSAGES = ["red car", "a blue boat", "the tower costs 45 " * 12, "a", "built"]


def noise(width: int, height: int, seed: int = 0) -> Picture:
    pixels: RGB = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


@asynccontextmanager
async def loaded(bundle: Bundle) -> AsyncIterator[LoadedModels]:
    models = await load_models(bundle, CPU)
    try:
        yield models
    finally:
        await models.close()


@pytest.mark.parametrize(("kind", "labels"), [("bert", 3), ("xlm-roberta", 1), ("modernbert", 2)])
async def test_a_cross_encoder_scores_pairs_as_transformers_does(tmp_path: Path, kind: str, labels: int) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", kind, labels)
    bundle = exported_bundle(tmp_path / "b", {"reranker": {"checkpoint": checkpoint, "max_tokens": 24}})
    model = transformers.AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    expected = []
    for passage in PASSAGES:
        given = tokenizer("what costs", passage.strip(), truncation="longest_first", max_length=24, return_tensors="pt")
        with torch.no_grad():
            logits = model(**given).logits[0]
        expected.append(float(logits.sigmoid()[0] if labels == 1 else logits.softmax(-1)[labels - 1]))
    async with loaded(bundle) as models:
        reranker = models[RERANKER]
        assert reranker is not None
        assert await reranker.score("what costs", PASSAGES) == pytest.approx(expected, abs=1e-4)
        alone = [(await reranker.score("what costs", [passage]))[0] for passage in PASSAGES]
        assert await reranker.score("what costs", PASSAGES) == pytest.approx(alone, abs=1e-5)
        assert await reranker.score("what costs", []) == []
        assert 0 < (await reranker.score("", [""]))[0] < 1
    assert len({round(score, 6) for score in expected}) > 2


async def test_a_cross_encoder_whose_logits_are_not_as_the_manifest_says_is_refused(tmp_path: Path) -> None:
    checkpoint = text_model(tmp_path / "checkpoint", "bert", 3)
    bundle = exported_bundle(tmp_path / "b", {"reranker": {"checkpoint": checkpoint, "max_tokens": 24}})
    part = bundle.manifest.roles.reranker.model_dump(exclude_none=True) | {"logits": 2, "relevant": 0}
    changed = write_manifest(bundle.root, {"reranker": part})
    with pytest.raises(BundleError, match=r"reranker/model\.onnx: gives values of shape \[1, 3\].*says \[1, 2\]"):
        await load_models(changed, CPU)
    short = write_manifest(bundle.root, {"reranker": part | {"max_tokens": 3}})
    with pytest.raises(BundleError, match=r"tokenizer\.json: .* max_tokens is 3"):
        await load_models(short, CPU)


async def test_the_q_former_compares_passages_with_a_picture_and_names_its_domain(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    model = blip2(bert_tokenizer(folder))
    model.save_pretrained(folder)
    head = {"weight": torch.randn(3, 32), "bias": torch.randn(3)}
    save_file(head, folder / "classifier.safetensors")
    domains = ["food", "plants", "vehicles"]
    roles = {"coarse_reranker": {"checkpoint": folder}, "domain_router": {"checkpoint": folder, "labels": domains}}
    bundle = exported_bundle(tmp_path / "b", roles)
    spec = bundle.manifest.roles.coarse_reranker
    picture, tokenizer = noise(60, 40), transformers.AutoTokenizer.from_pretrained(folder)
    pixels = torch.from_numpy(channels(picture.pixels, spec.picture))[None]
    given = tokenizer("what is this", return_tensors="pt")
    caught: list[Any] = []
    hook = model.qformer.register_forward_hook(lambda *call: caught.append(call[2].last_hidden_state))
    expected = []
    with torch.no_grad():
        model(pixels, given.input_ids, given.attention_mask, use_image_text_matching_head=True)
        hook.remove()
        queries = model.vision_projection(caught[0][0, : model.config.num_query_tokens])
        queries = torch.nn.functional.normalize(queries, dim=-1)
        for passage in PASSAGES:
            text = tokenizer(passage.strip(), truncation=True, max_length=spec.max_tokens, return_tensors="pt")
            vector = model(pixels, text.input_ids, text.attention_mask).text_embeds[0]
            expected.append(float((queries @ vector).max()))
    model.itm_head = torch.nn.Linear(32, 3)
    model.itm_head.load_state_dict(head)
    with torch.no_grad():
        output = model(pixels, given.input_ids, given.attention_mask, use_image_text_matching_head=True)
    async with loaded(bundle) as models:
        coarse_reranker = models[COARSE_RERANKER]
        assert coarse_reranker is not None
        domain_router = models[DOMAIN_ROUTER]
        assert domain_router is not None
        assert await coarse_reranker.compare(picture, "what is this", PASSAGES) == pytest.approx(expected, abs=1e-4)
        assert await coarse_reranker.compare(picture, "a car", PASSAGES) != pytest.approx(expected, abs=1e-4)
        found = await domain_router.domains(picture, "what is this")
    assert [name for name, _ in found] == domains
    assert [value for _, value in found] == pytest.approx(output.logits_per_image[0].softmax(-1).tolist(), abs=1e-4)


class PictureAlone(torch.nn.Module):
    """The graph that earlier exporters wrote for a coarse reranker: it does not read the question."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Any) -> Any:
        seen = self.model.vision_model(pixel_values=pixel_values).last_hidden_state
        tokens = self.model.query_tokens.expand(seen.shape[0], -1, -1)
        states = self.model.qformer(query_embeds=tokens, encoder_hidden_states=seen).last_hidden_state
        return torch.nn.functional.normalize(self.model.vision_projection(states), dim=-1)


async def test_a_coarse_reranker_of_the_picture_alone_still_works(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    model = blip2(bert_tokenizer(folder))
    model.save_pretrained(folder)
    bundle = exported_bundle(tmp_path / "b", {"coarse_reranker": {"checkpoint": folder}})
    part = bundle.roles.coarse_reranker
    path = bundle.path(part.model)
    path.unlink()
    picture = noise(60, 40)
    pixels = torch.from_numpy(channels(picture.pixels, part.picture))[None]
    axes = {"pixel_values": {0: "batch"}, "image_embeds": {0: "batch"}}
    write_onnx(PictureAlone(model).eval(), {"pixel_values": torch.cat([pixels] * 2)}, axes, "image_embeds", path)
    bundle = write_manifest(bundle.root, {"coarse_reranker": part.model_dump(mode="json", exclude_none=True)})
    tokenizer, expected = transformers.AutoTokenizer.from_pretrained(folder), []
    for passage in PASSAGES:
        text = tokenizer(passage.strip(), truncation=True, max_length=part.max_tokens, return_tensors="pt")
        with torch.no_grad():
            expected.append(float(model(pixels, text.input_ids, text.attention_mask).logits_per_image.max()))
    async with loaded(bundle) as models:
        coarse_reranker = models[COARSE_RERANKER]
        assert coarse_reranker is not None
        for question in ("what is this", "a car"):
            scores = await coarse_reranker.compare(picture, question, PASSAGES)
            assert scores == pytest.approx(expected, abs=1e-4)


def handed_to(ledger: ByteLedger, role: str) -> int:
    return sum(entry.bytes for entry in ledger.entries() if entry.to == role)


def boxes_of(detections: list[Any]) -> np.ndarray:
    return np.array([[d.region.left, d.region.top, d.region.right, d.region.bottom] for d in detections])


async def test_grounding_dino_finds_phrases_where_transformers_does(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    bert_tokenizer(folder)
    # The model's own numbers of the tokens that end a phrase are those of BERT's real vocabulary.
    words = [f"[unused{n}]" for n in range(1013)]
    words[0], words[100:104] = "[PAD]", ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words[1012], words[200:206] = ".", ["red", "car", "blue", "boat", "a", "tower"]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    model = grounding_dino()
    model.save_pretrained(folder)
    recipe = {"checkpoint": folder, "picture": {"width": 128, "height": 128}}
    bundle = exported_bundle(tmp_path / "b", {"detector": recipe})
    spec, picture = bundle.manifest.roles.detector, noise(90, 70)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    given = tokenizer("red car . boat .", return_tensors="pt")
    with torch.no_grad():
        output = model(torch.from_numpy(channels(picture.pixels, spec.picture))[None], **given)
    # [CLS] red car . boat . [SEP]
    likely = output.logits[0].sigmoid()
    scores = torch.stack([likely[:, 1:3].amax(1), likely[:, 4]], 1).amax(1)
    async with loaded(bundle) as models:
        detector = models[DETECTOR]
        assert detector is not None
        found = await detector.detect(picture, ["Red  car.", "boat"])
        assert await detector.detect(picture, [" . "]) == []
        assert len(await detector.detect(picture, ["tower"] * 40)) >= 1
    x, y, width, height = output.pred_boxes[0, int(scores.argmax())].tolist()
    sides = np.clip([x - width / 2, y - height / 2, x + width / 2, y + height / 2], 0, 1)
    assert found[0].score == pytest.approx(float(scores.max()), abs=1e-4)
    assert boxes_of(found)[0] == pytest.approx(sides, abs=1e-3)
    assert {each.phrase for each in found} <= {"Red car", "boat"}
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


async def test_owlv2_sees_a_picture_padded_to_a_square(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    model = owlv2(bert_tokenizer(folder))
    model.save_pretrained(folder)
    bundle = exported_bundle(tmp_path / "b", {"detector": {"checkpoint": folder}})
    spec, picture = bundle.manifest.roles.detector, noise(80, 40)
    assert spec is not None
    side = spec.picture.width
    square = np.full((side, side, 3), 128, np.uint8)
    square[: side // 2] = fit(picture.pixels, Size(width=side, height=side // 2))
    ids = transformers.AutoTokenizer.from_pretrained(folder)(["red car", "boat"], padding="max_length", max_length=16)
    given = {name: torch.tensor(ids[name]) for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        output = model(pixel_values=torch.from_numpy(channels(square, spec.picture))[None], **given)
    scores = output.logits[0].sigmoid().amax(1)
    x, y, width, height = output.pred_boxes[0].numpy().T
    sides = np.clip([x - width / 2, 2 * (y - height / 2), x + width / 2, 2 * (y + height / 2)], 0, 1).T
    # Boxes that lie in what the picture was padded with show nothing of it.
    scores[np.prod(sides[:, 2:] - sides[:, :2], axis=1) == 0] = 0
    async with loaded(bundle) as models:
        detector = models[DETECTOR]
        assert detector is not None
        found = await detector.detect(picture, ["red car", "boat"])
        again = await detector.detect(picture, ["boat", "red car", "boat"])
    assert found[0].score == pytest.approx(float(scores.max()), abs=1e-3)
    assert boxes_of(found)[0] == pytest.approx(sides[int(scores.argmax())], abs=1e-3)
    assert again == found


async def test_owlv2_looks_at_a_picture_once_whatever_is_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    owlv2(bert_tokenizer(folder)).save_pretrained(folder)
    bundle = exported_bundle(tmp_path / "b", {"detector": {"checkpoint": folder}})
    spec = bundle.manifest.roles.detector
    assert spec is not None
    assert spec.text_model
    ledger = ByteLedger()
    async with loaded(bundle) as models:
        detector = models[DETECTOR]
        assert detector is not None
        with entered_in(ledger):
            assert await detector.guess(noise(80, 40), 0.0, 1) == []  # nothing was looked for before
            looked = handed_to(ledger, "detector")
            for phrases in (["red car"], ["boat", "red car"]):
                boxes = await detector.detect(noise(80, 40), phrases)
            guessed = await detector.guess(noise(80, 40), 0.0, 1)
    assert {each.phrase for each in guessed} == {"boat", "red car"}
    assert (guessed[0].region, guessed[0].score) == (boxes[0].region, boxes[0].score)
    size, ids = spec.picture, 2 * spec.max_tokens * 8
    assert looked == 3 * size.width * size.height * 4
    assert handed_to(ledger, "detector") == looked + 2 * ids  # each phrase was read once


def test_only_owlv2_has_a_graph_for_phrases_of_its_own() -> None:
    picture = {"width": 8, "height": 8, "mean": [0, 0, 0], "std": [1, 1, 1]}
    part = {"engine": "onnx", "model": "m", "tokenizer": "t", "picture": picture, "boxes": 1, "max_tokens": 16}
    assert DetectorPart.model_validate({**part, "kind": "owlv2", "text_model": "p"}).text_model == "p"
    with pytest.raises(ValueError, match="text_model: only OWLv2"):
        DetectorPart.model_validate({**part, "kind": "grounding-dino", "text_model": "p"})


def test_a_turn_uses_every_role_that_its_bundle_has(tmp_path: Path) -> None:
    checkpoint, detector = tmp_path / "blip", tmp_path / "owl"
    blip2(bert_tokenizer(checkpoint)).save_pretrained(checkpoint)
    save_file({"weight": torch.randn(2, 32), "bias": torch.randn(2)}, checkpoint / "classifier.safetensors")
    owlv2(bert_tokenizer(detector)).save_pretrained(detector)
    root = write_bundle(tmp_path / "bundle", ("image_encoder", "text_encoder", "generator"))
    base = json.loads((root / "manifest.json").read_text())["roles"]
    (root / "manifest.json").unlink()
    roles = {
        "domain_router": {"checkpoint": checkpoint, "labels": ["food", "vehicles"]},
        "coarse_reranker": {"checkpoint": checkpoint},
        "reranker": {"checkpoint": text_model(tmp_path / "bert", "bert", 1), "max_tokens": 24},
        "detector": {"checkpoint": detector},
    }
    exported_bundle(root, roles, base, thresholds={"detect_accept": 0.0}, evidence={"coarse_candidates": 1, "found": 2})
    jpeg = io.BytesIO()
    Image.fromarray(noise(96, 64).pixels).save(jpeg, "JPEG")
    entries = [Entry(f"e{n}", f"car {n}", text=f"this is the red car {n}", pictures=(jpeg.getvalue(),)) for n in (1, 2)]
    flags = ("--threads", "1", "--provider", "cpu")
    with LocalServer(root, tmp_path / "k", flags=flags) as server, Client(server.target) as client:
        assert client.add_entries(entries).added == 2
        answer = client.answer("What is this red car?", jpeg.getvalue(), policy="both")
        told = {role.role: (role.executor, role.sees_pictures) for role in client.capabilities().roles}
    assert answer.done.skipped == ()
    stages = {timing.stage for timing in answer.done.timings}
    assert {"detect", "embed", "coarse_rerank", "rerank", "generate"} <= stages
    passages = [item for item in answer.evidence if item.origin == "text_search"]
    assert [item.rerank_score > 0 for item in passages] == [True, False]  # only the first was worth a closer look
    assert {role: told[role] for role in roles} == {
        "domain_router": ("cpu", True),
        "coarse_reranker": ("cpu", True),
        "reranker": ("cpu", False),
        "detector": ("cpu", True),
    }
