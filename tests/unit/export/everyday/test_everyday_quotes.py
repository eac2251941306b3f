"""The bundle that answers in quotes, built of random weights: whole, served as it is, and built again where it must."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quizglass_bundle.files import Bundle
from quizglass_export.errors import ExportError
from quizglass_export.everyday import quotes
from quizglass_export.everyday.weights import IMAGE_ENCODER, LABELS, TEXT_ENCODER
from quizglass_export.written_graphs.efficientnet_lite import CLASSES
from quizglass_server.config.settings import EngineOptions
from quizglass_server.policies.table import preferred, survey
from quizglass_server.roles.load import load_models
from quizglass_server.roles.reranker import RERANKER
from quizglass_server.roles.text_encoder import TEXT_ENCODER as TEXTS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from bench.everyday.efficientnet_lite import Classifier  # noqa: E402
from tests.support.bundles.tiny_checkpoints import bert_tokenizer  # noqa: E402
from tests.support.installed import without_heavy  # noqa: E402


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the packages bring, of random weights."""
    torch.manual_seed(0)
    workdir = tmp_path_factory.mktemp("work")
    texts, pictures, labels = (workdir / each.folder for each in (TEXT_ENCODER, IMAGE_ENCODER, LABELS))
    for folder in (texts, pictures, labels):
        folder.mkdir()
    size = bert_tokenizer(texts)
    config = transformers.BertConfig(
        vocab_size=size, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(texts)
    torch.save(Classifier().state_dict(), pictures / next(iter(IMAGE_ENCODER.files)))
    names = [f"n{number}" for number in range(CLASSES)]
    (labels / "imagenet_synsets.txt").write_text("\n".join(names))
    (labels / "imagenet_synset_to_lemma.txt").write_text("".join(f"{name}\tthing {name}\n" for name in names))
    return workdir


@pytest.fixture(scope="module")
def adapter(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapter")
    model = transformers.BertForSequenceClassification.from_pretrained(packages / TEXT_ENCODER.folder, num_labels=1)
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["query"], modules_to_save=["classifier"])
    peft.get_peft_model(model, config).save_pretrained(folder)
    return folder


def write_in_a_process_of_its_own(packages: Path, folder: Path, adapter: Path, environment: Mapping[str, str]) -> str:
    """Write the bundle; returns what went wrong."""
    code = (
        "import sys; from pathlib import Path; from quizglass_export.everyday.quotes import write_bundle;"
        "write_bundle(*map(Path, sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, str(packages), str(folder), str(adapter)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr


async def test_it_is_written_without_pytorch_and_its_answers_are_quotes(
    packages: Path, adapter: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    environment = without_heavy(tmp_path_factory.mktemp("without"))
    assert write_in_a_process_of_its_own(packages, tmp_path, adapter, environment) == ""
    bundle = Bundle.load(tmp_path)
    assert bundle.quotes
    assert preferred(survey(bundle.has), quotes=True) == "quote"
    assert set(json.loads((tmp_path / "parity.json").read_text())["compared"]) == set(bundle.manifest.files) - {
        "parity.json"
    }
    compared = json.loads((tmp_path / "parity.json").read_text())["checks"]
    assert "smallest cosine to float32" in [check["measure"] for check in compared]
    assert "lines read as with float32" in [check["measure"] for check in compared]
    assert bundle.roles.reader is not None
    assert bundle.roles.reader.detector in bundle.manifest.files
    models = await load_models(bundle, EngineOptions())
    try:
        assert models[TEXTS] is not None
        (reranker,) = (models[RERANKER],)
        assert reranker is not None
        assert all(0 < score < 1 for score in await reranker.score("Who made it?", ["Pot: Made by Ada.", "Pot: Blue."]))
    finally:
        await models.close()


def test_without_an_adapter_sentences_are_weighed_by_cosine(packages: Path, tmp_path: Path) -> None:
    quotes.write_bundle(packages, tmp_path, None)
    bundle = Bundle.load(tmp_path)
    assert not bundle.has("reranker")
    assert bundle.manifest.thresholds.quote_accept is not None


def test_it_is_built_again_where_something_changed_and_only_there(
    packages: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotes, "fetch", lambda *_, **__: None)
    written: list[Path | None] = []

    def write(workdir: Path, folder: Path, reranker: Path | None) -> None:
        written.append(reranker)
        (folder / "manifest.json").write_text("{}")

    monkeypatch.setattr(quotes, "write_bundle", write)
    for reranker in (tmp_path / "none", tmp_path / "none", adapter, adapter):
        assert quotes.build_quotes(tmp_path, reranker=reranker) == tmp_path / "quotes"
    assert written == [None, adapter]


def test_a_build_that_fails_leaves_the_bundle_before_it(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotes, "fetch", lambda *_, **__: None)
    (tmp_path / "quotes").mkdir()
    (tmp_path / "quotes" / "manifest.json").write_text("before")

    def fails(*_: Any) -> None:
        raise ExportError("no weights")

    monkeypatch.setattr(quotes, "write_bundle", fails)
    with pytest.raises(ExportError):
        quotes.build_quotes(tmp_path, reranker=tmp_path)
    assert (tmp_path / "quotes" / "manifest.json").read_text() == "before"
