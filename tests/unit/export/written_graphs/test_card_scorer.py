"""Scorers for a card give what the models give in PyTorch; on the CPU, which has the same operators."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from quizglass_export.checkpoints.merged import MergedWeights  # noqa: E402
from quizglass_export.checkpoints.source import Source  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_export.roles.shared.card_scorers import write_for_cuda, write_for_tensorrt  # noqa: E402
from quizglass_export.roles.shared.scorers import TEXT_CLASSES  # noqa: E402
from quizglass_server.engines.onnx.stepped import SteppedRuns  # noqa: E402
from quizglass_server.roles.shared.packing import packed, pays  # noqa: E402

_LABELS = [7, 3, 11]
_POSITIONS = 96
_ROWS = [np.random.default_rng(seed).integers(1, 99, 4 + 5 * seed).tolist() for seed in range(8)]
_SHAPE: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.06,
    "max_position_embeddings": 128,
}
_FORMS: dict[str, dict[str, Any]] = {
    "qwen3": {"head_dim": 16},
    "qwen2": {},
    "llama": {"rope_theta": 5e5, "mlp_bias": True, "attention_bias": True},
    "gemma": {"head_dim": 16},
    "sliding": {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
}


@pytest.fixture(params=sorted(_FORMS), scope="module")
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(3)
    kind = {"sliding": "qwen2"}.get(request.param, request.param)
    config = transformers.AutoConfig.for_model(kind, **(_SHAPE | _FORMS[request.param]))
    model = getattr(transformers, TEXT_CLASSES[kind])(config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                value.add_(torch.randn_like(value) * 0.1)
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    return folder


def expected(folder: Path, rows: Sequence[Sequence[int]] = _ROWS) -> np.ndarray:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        return np.stack([model(input_ids=torch.tensor([row])).logits[0, -1, _LABELS].numpy() for row in rows])


def weights(folder: Path) -> MergedWeights:
    kind = TEXT_CLASSES[transformers.AutoConfig.from_pretrained(folder).model_type]
    return MergedWeights(Source(folder), kind)


def found(path: Path) -> np.ndarray:
    """Logits of rows alone; of all together, with padding, they are equal to a float16's step."""
    run = session(path)
    alone = np.concatenate([run.run(["logits"], scorer_batch([row]))[0] for row in _ROWS])
    together = run.run(["logits"], scorer_batch(_ROWS))[0]
    np.testing.assert_allclose(together, alone, atol=2e-3)
    return np.asarray(alone)


def test_fused_operators_compute_the_model_in_few_nodes(checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_for_cuda(weights(checkpoint), _LABELS, _POSITIONS, path)
    np.testing.assert_allclose(found(path), expected(checkpoint), atol=5e-3)
    graph = onnx.load(str(path)).graph
    counts = Counter(node.op_type for node in graph.node)
    layers = _SHAPE["num_hidden_layers"]
    assert counts["GroupQueryAttention"] == layers
    assert counts["SkipSimplifiedLayerNormalization"] == 2 * layers
    free = {"Reshape"}  # a view of the same memory
    biases = counts["Add"]
    assert sum(counts.values()) - sum(counts[each] for each in free) - biases <= 13 * layers + 13, counts
    types = {tensor.data_type for tensor in graph.initializer if len(tensor.dims) > 1}
    assert types == {onnx.TensorProto.FLOAT16}


def test_prompts_that_begin_alike_are_packed_over_the_same_weights(checkpoint: Path, tmp_path: Path) -> None:
    """Rows with one beginning, two that are equal, one that is another's beginning, and one that shares nothing."""
    whole, path = tmp_path / "model.onnx", tmp_path / "packed.onnx"
    write_for_cuda(weights(checkpoint), _LABELS, _POSITIONS, whole, packed=path)
    begun = list(range(20, 50))
    rows = [[*begun, *row] for row in _ROWS[:4]] + [begun, [*begun, *_ROWS[2]], _ROWS[7]]
    inputs = packed(rows)
    assert len(inputs["tokens"]) == len(begun) + sum(map(len, _ROWS[:4])) + len(_ROWS[7])
    assert pays(inputs)
    (logits,) = session(path).run(["logits"], inputs)
    np.testing.assert_allclose(logits, expected(checkpoint, rows), atol=5e-3)
    plain = session(whole).run(["logits"], scorer_batch(rows))[0]
    np.testing.assert_allclose(logits, plain, atol=2e-3)
    shared = tmp_path / "weights.data"
    assert path.stat().st_size + whole.stat().st_size < shared.stat().st_size / 2
    named = [each.external_data for each in onnx.load(str(path), load_external_data=False).graph.initializer]
    assert {entry.value for place in named for entry in place if entry.key == "location"} == {shared.name}


def test_packed_prompts_are_padded_to_steps(checkpoint: Path, tmp_path: Path) -> None:
    """As a card is given them: tensors that stay, of a few shapes; on the CPU, whose binding is the same."""
    path = tmp_path / "packed.onnx"
    write_for_cuda(weights(checkpoint), _LABELS, _POSITIONS, tmp_path / "model.onnx", packed=path)
    runs = SteppedRuns(onnxruntime, session(path), "cpu")
    for count in (8, 3, 5):
        rows = [[*range(20, 30), *row] for row in _ROWS[:count]]
        (found,) = runs.run(["logits"], packed(rows))
        np.testing.assert_allclose(found, expected(checkpoint, rows), atol=5e-3)
    assert runs.shapes == [(4, 32, 64), (8, 64, 96), (8, 64, 192)]


def test_standard_operators_compute_it_for_tensorrt(checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, attn_implementation="eager").eval()
    write_for_tensorrt(model, _LABELS, path)
    np.testing.assert_allclose(found(path), expected(checkpoint), atol=5e-3)
    model = onnx.load(str(path))
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx"}
    assert [each.name for each in model.graph.input] == ["input_ids", "attention_mask"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"head_dim": 24}, "head_dim 24 is no multiple of 16"), ({"hidden_act": "relu"}, "hidden_act 'relu' has no")],
)
def test_a_form_that_has_no_fused_operators_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    config = transformers.AutoConfig.for_model("qwen3", **(_SHAPE | {"head_dim": 16} | changes))
    transformers.Qwen3ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(ExportError, match=f"{said}.*choose precision fp16"):
        write_for_cuda(weights(tmp_path), _LABELS, _POSITIONS, tmp_path / "model.onnx")


def test_a_weight_without_a_float16_is_named(tmp_path: Path) -> None:
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**_SHAPE, head_dim=16))
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[2, 3] = 1e6
    model.save_pretrained(tmp_path)
    with pytest.raises(ExportError, match=r"layers\.1\.mlp\.up_proj\.weight has values beyond 65504"):
        write_for_cuda(weights(tmp_path), _LABELS, _POSITIONS, tmp_path / "model.onnx")
