"""Graphs that are written node by node give what the models give in PyTorch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quizglass_export.errors import ExportError
from quizglass_export.parity import session
from quizglass_export.written_graphs import bert, efficientnet_lite
from quizglass_export.written_graphs.safetensors_file import read_safetensors, with_adapter
from quizglass_export.written_graphs.weights import NamedWeights
from quizglass_export.written_graphs.writer import GraphWriter

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from bench.everyday import efficientnet_lite as reference  # noqa: E402

_CLOSE = 1e-4


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of random weights, much as all-MiniLM-L6-v2 but smaller."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bert")
    config = transformers.BertConfig(
        vocab_size=90,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=48,
        max_position_embeddings=40,
        initializer_range=0.3,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def texts() -> dict[str, Any]:
    """Rows of several lengths, some of them pairs."""
    lengths, rng = (12, 40, 3), np.random.default_rng(1)
    ids, mask, types = (np.zeros((len(lengths), max(lengths)), np.int64) for _ in range(3))
    for row, length in enumerate(lengths):
        ids[row, :length] = rng.integers(1, 90, length)
        mask[row, :length] = 1
        types[row, length // 2 : length] = row % 2
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def tensors(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: torch.from_numpy(values) for name, values in inputs.items()}


def weights(folder: Path, arrays: Mapping[str, Any] | None = None) -> NamedWeights:
    path = folder / "model.safetensors"
    return NamedWeights(path, read_safetensors(path) if arrays is None else arrays, "this BERT")


def test_an_encoder_of_texts_gives_the_states_that_it_gives_in_pytorch(minilm: Path, tmp_path: Path) -> None:
    bert.write_text_encoder(weights(minilm), bert.read_shape(minilm), tmp_path / "model.onnx")
    inputs = texts()
    (states,) = session(tmp_path / "model.onnx").run(["last_hidden_state"], inputs)
    with torch.no_grad():
        expected = transformers.BertModel.from_pretrained(minilm).eval()(**tensors(inputs)).last_hidden_state
    shown = inputs["attention_mask"] == 1
    assert np.abs(states - expected.numpy())[shown].max() < _CLOSE


def test_a_cross_encoder_with_its_adapter_gives_the_logits_that_peft_gives(minilm: Path, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = transformers.BertForSequenceClassification.from_pretrained(minilm, num_labels=1)
    layers = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]
    config = peft.LoraConfig(r=4, lora_alpha=16, target_modules=layers, modules_to_save=["classifier"], task_type=None)
    adapted = peft.get_peft_model(model, config)
    for name, parameter in adapted.named_parameters():
        if "lora_" in name or "classifier" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    adapted.save_pretrained(tmp_path / "adapter")
    merged = with_adapter(read_safetensors(minilm / "model.safetensors"), tmp_path / "adapter")
    bert.write_cross_encoder(weights(minilm, merged), bert.read_shape(minilm), tmp_path / "model.onnx")
    inputs = texts()
    (logits,) = session(tmp_path / "model.onnx").run(["logits"], inputs)
    with torch.no_grad():
        expected = adapted.eval()(**tensors(inputs)).logits
    assert logits.shape == (3, 1)
    assert np.abs(logits - expected.numpy()).max() < _CLOSE


@pytest.mark.parametrize("head", [False, True])
def test_efficientnet_lite_gives_what_it_gives_in_pytorch(tmp_path: Path, head: bool) -> None:
    torch.manual_seed(0)
    model = reference.Classifier()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):  # as after a training: no norm that changes nothing
            torch.nn.init.uniform_(module.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 0.7, 1.3)
            torch.nn.init.uniform_(module.bias, -0.2, 0.2)
    torch.save(model.state_dict(), tmp_path / "weights.pth")
    write = efficientnet_lite.write_classifier if head else efficientnet_lite.write_encoder
    write(tmp_path / "weights.pth", tmp_path / "model.onnx")
    pictures = torch.randn(2, 3, efficientnet_lite.SIDE, efficientnet_lite.SIDE)
    (values,) = session(tmp_path / "model.onnx").run(None, {"pixel_values": pictures.numpy()})
    expected = reference.load(tmp_path / "weights.pth", reference.Classifier if head else reference.EfficientNetLite0)
    with torch.no_grad():
        assert np.abs(values - expected(pictures).numpy()).max() < _CLOSE


def test_weights_of_another_model_are_refused(minilm: Path, tmp_path: Path) -> None:
    shape, arrays = bert.read_shape(minilm), read_safetensors(minilm / "model.safetensors")
    missing = {name: array for name, array in arrays.items() if name != "encoder.layer.1.output.dense.bias"}
    with pytest.raises(ExportError, match=r"model.safetensors: .*encoder.layer.1.output.dense.bias is missing"):
        bert.write_text_encoder(weights(minilm, missing), shape, tmp_path / "model.onnx")
    more = {**arrays, "encoder.layer.2.output.dense.bias": arrays["embeddings.LayerNorm.bias"]}
    with pytest.raises(ExportError, match=r"encoder\.layer\.2\.output\.dense\.bias is unknown"):
        bert.write_text_encoder(weights(minilm, more), shape, tmp_path / "model.onnx")
    other = {**arrays, "embeddings.LayerNorm.bias": np.zeros(25, np.float32)}
    with pytest.raises(ExportError, match=r"embeddings.LayerNorm.bias is \[25\], not \[24\]"):
        bert.write_text_encoder(weights(minilm, other), shape, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("model_type", "roberta", "model_type is 'roberta'"),
        ("hidden_act", "relu", "hidden_act is 'relu'"),
        ("num_hidden_layers", "six", "num_hidden_layers is 'six'"),
        ("num_attention_heads", 5, "does not divide"),
    ],
)
def test_a_config_of_another_model_is_refused(minilm: Path, tmp_path: Path, key: str, value: Any, said: str) -> None:
    config = json.loads((minilm / "config.json").read_text()) | {key: value}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ExportError, match=said):
        bert.read_shape(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("peft_type", "IA3", "only LORA"),
        ("use_dora", True, "use_dora is set"),
        ("r", 0, "must be numbers"),
    ],
)
def test_another_kind_of_adapter_is_refused(tmp_path: Path, key: str, value: Any, said: str) -> None:
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 8} | {key: value}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ExportError, match=said):
        with_adapter({}, tmp_path)


def test_an_adapter_of_another_model_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4}))
    layer = "base_model.model.bert.encoder.layer.0.output.dense"
    halves = {
        f"{layer}.lora_A.weight": np.zeros((2, 8), np.float16),
        f"{layer}.lora_B.weight": np.zeros((4, 2), np.float16),
    }
    save_file(halves, tmp_path / "adapter_model.safetensors")
    base = {"encoder.layer.0.output.dense.weight": np.ones((4, 9), np.float32)}
    with pytest.raises(ExportError, match=r"encoder.layer.0.output.dense is no layer of the base"):
        with_adapter(base, tmp_path)


def test_a_file_that_is_no_safetensors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 40)
    with pytest.raises(ExportError, match="not a readable safetensors file"):
        read_safetensors(tmp_path / "model.safetensors")


def test_large_weights_beside_a_graph_are_as_readable_as_the_graph(tmp_path: Path) -> None:
    writer, path = GraphWriter(), tmp_path / "model.onnx"
    many = writer.weight("many", np.zeros((1, 1 << 24), np.float32))
    writer.node("Add", "x", many, output="y")
    writer.write(path, {"x": ("float32", ("b", 1))}, {"y": ("b", 1 << 24)})
    beside = path.with_name("model.onnx.data")
    assert beside.stat().st_mode == path.stat().st_mode
