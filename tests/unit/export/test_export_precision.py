from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from quizglass_export.bundles.onnx_graph import summarise  # noqa: E402
from quizglass_export.checks import Acceptance  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.graphs.scorer_text import TextScorer  # noqa: E402
from quizglass_export.onnx.accept import apply_precision, check_lossy_scorer  # noqa: E402
from quizglass_export.onnx.precision import to_float16, to_int8  # noqa: E402
from quizglass_export.onnx.quantise import quantise_products  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.onnx.weight_only import pack_blocks, to_weight_only  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_export.roles.shared.scorers import TEXT_AXES  # noqa: E402

ROWS = [np.random.default_rng(seed).integers(1, 99, 5 + 3 * seed % 17).tolist() for seed in range(16)]


def inputs(indices: Any) -> dict[str, np.ndarray]:
    return scorer_batch([ROWS[index] for index in indices])


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(2)
    config = transformers.Qwen3Config(
        vocab_size=100,
        hidden_size=128,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        initializer_range=0.08,
        attn_implementation="eager",
    )
    return transformers.Qwen3ForCausalLM(config).eval()


@pytest.fixture(scope="module")
def exported(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scorer") / "model.onnx"
    example = {name: torch.from_numpy(value) for name, value in inputs([0, 3]).items()}
    write_onnx(TextScorer(model, [7, 3, 11]).eval(), example, TEXT_AXES, "logits", path)
    return path


@pytest.fixture(scope="module")
def references(model: Any) -> list[np.ndarray]:
    with torch.no_grad():
        return [model(input_ids=torch.tensor([row])).logits[0, -1, [7, 3, 11]].numpy() for row in ROWS]


@pytest.mark.parametrize(
    ("precision", "named", "labels", "drift", "smaller"),
    [
        ("fp16", "fp16", 1, 2e-3, 0.6),
        ("int8", "int8 (static)", 0.9, 0.03, 0.4),
        ("int8-weights", "int8 weights", 0.9, 5e-3, 0.4),
        ("int4-weights", "int4 weights", 0.8, 0.1, 0.3),  # an untrained model's labels are close to each other
    ],
)
def test_each_precision_keeps_labels_and_rows_apart_and_is_smaller(
    exported: Path,
    references: list[np.ndarray],
    tmp_path: Path,
    precision: Any,
    named: str,
    labels: float,
    drift: float,
    smaller: float,
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(exported.read_bytes())
    notes = apply_precision(path, precision, inputs, len(ROWS))
    assert notes["precision"] == precision
    assert notes["latency_ms"] > 0
    assert path.stat().st_size < smaller * notes["float32_bytes"]
    assert summarise(path).precision == named
    checks = check_lossy_scorer("reranker", path, references, inputs, Acceptance(labels=labels, drift=drift))
    assert all(check.passed for check in checks), checks
    assert checks[1].value > 0


def test_a_model_that_lost_too_much_is_refused(exported: Path, references: list[np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(exported.read_bytes())
    apply_precision(path, "int4-weights", inputs, len(ROWS))
    checks = check_lossy_scorer("reranker", path, references, inputs, Acceptance(labels=1, drift=1e-6))
    assert not checks[1].passed
    turned = [row[::-1].copy() for row in references]
    assert not check_lossy_scorer("reranker", path, turned, inputs, Acceptance())[0].passed


def test_float16_is_as_near_after_a_long_prompt_as_after_a_short_one(exported: Path, tmp_path: Path) -> None:
    """An angle of 1,000 in float16 is wrong by up to a quarter: far tokens would stand elsewhere."""
    to_float16(exported, tmp_path / "half.onnx")
    run, half = session(exported), session(tmp_path / "half.onnx")
    apart = {}
    for length in (20, 2000):
        rows = np.random.default_rng(length).integers(1, 99, (4, length)).tolist()
        feeds = [scorer_batch([row]) for row in rows]
        whole, halved = (np.concatenate([each.run(["logits"], feed)[0] for feed in feeds]) for each in (run, half))
        apart[length] = float(np.abs(whole - halved).mean() / whole.std())
    assert apart[2000] < 2 * apart[20], apart


@pytest.mark.parametrize("value", [1e6, 2e4])  # what float16 has no number for, and what a mask has to stay beyond
def test_a_value_too_large_for_float16_is_named(tmp_path: Path, value: float) -> None:
    module = torch.nn.Linear(80, 80)
    with torch.no_grad():
        module.weight[3, 4] = value
    write_onnx(module, {"x": torch.randn(2, 80)}, {"x": {0: "b"}, "y": {0: "b"}}, "y", tmp_path / "m.onnx")
    with pytest.raises(ExportError, match=r"m\.onnx: weight has values beyond 10000; choose"):
        to_float16(tmp_path / "m.onnx", tmp_path / "half.onnx")


@given(st.integers(1, 80), st.integers(1, 5), st.sampled_from([4, 8]), st.integers(0, 100))
def test_blocks_hold_each_weight_within_one_step(rows: int, columns: int, bits: int, seed: int) -> None:
    weights = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
    weights[:, 0] = 0
    packed, scales = pack_blocks(weights, bits)
    values = packed if bits == 8 else np.stack((packed & 15, packed >> 4), -1).reshape(*packed.shape[:2], -1)
    restored = (values.astype(np.float32) - (1 << (bits - 1))) * scales[..., None]
    restored = restored.reshape(columns, -1)[:, :rows].T
    steps = np.repeat(np.abs(scales), 32, axis=1)[:, :rows].T
    assert (np.abs(restored - weights) <= steps * 1.001 + 1e-7).all()


@pytest.mark.parametrize("bits", [4, 8])
def test_onnx_runtime_reads_the_blocks_as_they_were_written(tmp_path: Path, bits: int) -> None:
    from quizglass_export.onnx.weight_only import to_weight_only

    module = torch.nn.Linear(96, 64)
    path = tmp_path / "m.onnx"
    write_onnx(module, {"x": torch.randn(2, 96)}, {"x": {0: "b"}, "y": {0: "b"}}, "y", path)
    x = np.random.default_rng(0).standard_normal((5, 96)).astype(np.float32)
    before = session(path).run(None, {"x": x})[0]
    assert to_weight_only(path, path, bits) == 1
    onnx.checker.check_model(onnx.load(str(path)))
    assert np.abs(session(path).run(None, {"x": x})[0] - before).max() < (0.3 if bits == 4 else 0.02)


@pytest.mark.parametrize("bits", [4, 8])
def test_tables_of_rows_are_stored_in_a_byte_a_number(tmp_path: Path, bits: int) -> None:
    from quizglass_export.onnx.weight_only import to_weight_only

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Embedding(200, 64), torch.nn.LayerNorm(64))
    with torch.no_grad():
        module[0].weight[5] = 0
        module[0].weight[6] *= 1000
    path = tmp_path / "m.onnx"
    places = np.array([[0, 5, 6], [7, 199, 7]])
    write_onnx(module, {"ids": torch.from_numpy(places)}, {"ids": {0: "b"}, "y": {0: "b"}}, "y", path)
    before, size = session(path).run(None, {"ids": places})[0], path.stat().st_size
    assert to_weight_only(path, path, bits) == 0
    onnx.checker.check_model(onnx.load(str(path)))
    assert path.stat().st_size < 0.45 * size
    assert np.abs(session(path).run(None, {"ids": places})[0] - before).max() < 0.05


def test_large_weights_lie_beside_the_model_and_are_the_same(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(exported.read_bytes())
    before = session(path).run(None, inputs([0, 3]))[0]
    apply_precision(path, "fp32", inputs, len(ROWS))
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    monkeypatch.setattr("quizglass_export.onnx.file._LARGE", 1 << 16)
    apply_precision(path, "fp32", inputs, len(ROWS))
    beside = path.with_name("model.onnx.data")
    assert path.stat().st_size < 1 << 16 < beside.stat().st_size
    assert beside.stat().st_mode == path.stat().st_mode
    assert summarise(path).external == ("model.onnx.data",)
    assert np.array_equal(session(path).run(None, inputs([0, 3]))[0], before)


def branching_model(path: Path) -> Path:
    """Two products without names, and a branch in a branch that alone reads the second of them and a weight."""
    chance = np.random.default_rng(0)
    weights = [
        *(numpy_helper.from_array(chance.standard_normal((128, 128)).astype(np.float32), name) for name in "vw"),
        *(numpy_helper.from_array(np.full(128, value, np.float32), name) for name, value in (("one", 1), ("two", 2))),
        numpy_helper.from_array(np.array(True), "chosen"),
    ]

    def value(name: str, shape: list[int | str] | None = None) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def branch(node: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph([node], "branch", [], [value(node.output[0])])

    adds = [branch(helper.make_node("Add", ["product", name], [f"{name}.sum"])) for name in ("one", "two")]
    inner = helper.make_node("If", ["chosen"], ["inner"], then_branch=adds[0], else_branch=adds[1])
    other = branch(helper.make_node("Identity", ["product"], ["same"]))
    nodes = [
        helper.make_node("Gemm", ["x", "v"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "w"], ["product"]),
        helper.make_node("If", ["chosen"], ["y"], then_branch=branch(inner), else_branch=other),
    ]
    graph = helper.make_graph(nodes, "g", [value("x", ["b", 128])], [value("y", ["b", 128])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize("kind", ["int8", "int8-rows", "int8-weights"])
def test_what_branches_alone_read_stays_and_products_need_no_names(tmp_path: Path, kind: str) -> None:
    source, target = branching_model(tmp_path / "m.onnx"), tmp_path / "out.onnx"
    row = {"x": np.random.default_rng(1).standard_normal((2, 128)).astype(np.float32)}
    count = {
        "int8": lambda: to_int8(source, target, [row]),
        "int8-rows": lambda: quantise_products(source, target),
        "int8-weights": lambda: to_weight_only(source, target, 8),
    }[kind]()
    assert count == 2
    (expected,), (found,) = (session(path).run(None, row) for path in (source, target))
    assert np.abs(found - expected).max() < 0.1 * expected.std()


def test_tables_are_stored_in_the_order_in_which_they_are_read(tmp_path: Path) -> None:
    places = helper.make_tensor_value_info("x", TensorProto.INT64, ["b"])
    names = [f"table.{number}" for number in range(8)]
    nodes = [helper.make_node("Gather", [name, "x"], [f"{name}.rows of x"]) for name in names]
    results = [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes]
    weights = [numpy_helper.from_array(np.ones((128, 64), np.float32), name) for name in names]
    model = helper.make_model(helper.make_graph(nodes, "g", [places], results, weights))
    onnx.save(model, str(tmp_path / "m.onnx"))
    to_weight_only(tmp_path / "m.onnx", tmp_path / "out.onnx", 8)
    stored = [tensor.name for tensor in onnx.load(str(tmp_path / "out.onnx")).graph.initializer]
    assert stored == [f"{name}.{part}" for name in names for part in ("rows", "scales")]
