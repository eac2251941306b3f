"""TensorRT without TensorRT: operator reports, profiles, names, and what a stand-in for its package is asked."""

import json
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("torch")

from quizglass_export import cli
from quizglass_export.errors import ExportError
from quizglass_export.trt import engine
from quizglass_export.trt.engine import EngineOptions, Limits, build_engine, input_ranges
from quizglass_export.trt.operators import check_operators
from quizglass_server.engines.onnx.prepared import Hardware, engine_stem
from tests.support.bundles.tiny_bundle import write_bundle

CARD = Hardware("NVIDIA H200", "9.0", "575.51.03")


def graph(
    path: Path, *nodes: onnx.NodeProto, axes: tuple[int | str, ...] = ("batch", 4), **weights: np.ndarray
) -> Path:
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(axes))]
    wanted = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(helper.make_graph(list(nodes), "g", given, wanted, stored)), str(path))
    return path


def test_operators_are_distinguished_by_what_is_documented(tmp_path: Path) -> None:
    path = graph(
        tmp_path / "m.onnx",
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("LayerNormalization", ["a", "scale"], ["b"]),
        helper.make_node("MatMulNBits", ["b", "w", "s"], ["c"], domain="com.microsoft"),
        helper.make_node("DynamicQuantizeLinear", ["c"], ["d", "e", "f"]),
        helper.make_node("CumSum", ["c", "x"], ["g"], name="sum"),
        helper.make_node("QuantizeLinear", ["g", "s", "zero"], ["y"], name="quantise"),
        zero=np.array(3, np.uint8),
    )
    found = check_operators(path)
    assert found.unsupported == {"com.microsoft.MatMulNBits": 1, "DynamicQuantizeLinear": 1}
    assert found.later == {"LayerNormalization": "8.6"}
    assert found.restricted == (
        "CumSum sum: its input 1 must be constant",
        "QuantizeLinear quantise: its zero point must be 0",
    )
    assert not found.fits
    assert check_operators(graph(tmp_path / "n.onnx", helper.make_node("Relu", ["x"], ["y"]))).fits


def test_a_constant_may_be_a_number_of_its_own(tmp_path: Path) -> None:
    nodes = helper.make_node("Constant", [], ["axis"], value_int=0), helper.make_node("CumSum", ["x", "axis"], ["y"])
    assert check_operators(graph(tmp_path / "m.onnx", *nodes)).fits


def test_profiles_follow_the_graphs_axes(tmp_path: Path) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    path = graph(tmp_path / "m.onnx", relu, axes=("batch", "sequence", 7))
    found = input_ranges(path, Limits(batch=8, tokens=64))["x"]
    assert (found.smallest, found.usual, found.largest) == ((1, 1, 7), (1, 64, 7), (8, 64, 7))
    with pytest.raises(ExportError, match="input x has the dynamic axis 'height'"):
        input_ranges(graph(tmp_path / "h.onnx", relu, axes=("batch", "height")), Limits())


def test_a_name_changes_with_everything_an_engine_depends_on(tmp_path: Path) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    first, second = graph(tmp_path / "a" / "m.onnx", relu), graph(tmp_path / "b" / "m.onnx", relu, axes=("batch", 5))
    names = [
        engine_stem(first, "10.9.0", CARD, ()),
        engine_stem(second, "10.9.0", CARD, ()),
        engine_stem(first, "10.10.0", CARD, ()),
        engine_stem(first, "10.9.0", Hardware("NVIDIA H200", "9.0", "580.1"), ()),
        engine_stem(first, "10.9.0", Hardware("NVIDIA L4", "8.9", "575.51.03"), ()),
        engine_stem(first, "10.9.0", CARD, ("fp16",)),
    ]
    assert len(set(names)) == len(names)
    assert names[0].endswith("_trt10.9.0_sm90_nvidia-h200_driver575.51.03_fp32")


class StandIn:
    """Records calls; the documented names of TensorRT 10's Python API and nothing else."""

    def __init__(self, *, parses: bool = True, plan: bytes | None = b"plan") -> None:
        self.calls: list[tuple[str, Any]] = []
        self.parses, self.plan = parses, plan

    def module(self) -> Any:
        note = self.calls.append
        cache = SimpleNamespace(serialize=lambda: b"timings")
        profile = SimpleNamespace(set_shape=lambda *shape: note(("shape", shape)))
        config = SimpleNamespace(
            set_memory_pool_limit=lambda *limit: note(("limit", limit)),
            set_flag=lambda flag: note(("flag", flag)),
            add_optimization_profile=lambda each: 0,
            create_timing_cache=lambda content: note(("cache", content)) or cache,
            set_timing_cache=lambda given, ignore: True,
            get_timing_cache=lambda: cache,
        )
        builder = SimpleNamespace(
            create_network=lambda flags: "network",
            create_builder_config=lambda: config,
            create_optimization_profile=lambda: profile,
            build_serialized_network=lambda network, given: self.plan,
        )
        parser = SimpleNamespace(
            parse_from_file=lambda path: self.parses, num_errors=1, get_error=lambda index: "no importer for Odd"
        )
        logger = type("Logger", (), {"WARNING": 1, "__init__": lambda self, level: None})
        return SimpleNamespace(
            __version__="10.9.0",
            Logger=logger,
            Builder=lambda log: builder,
            OnnxParser=lambda network, log: parser,
            MemoryPoolType=SimpleNamespace(WORKSPACE="workspace"),
            BuilderFlag=SimpleNamespace(FP16="fp16", BF16="bf16", INT8="int8"),
        )


def test_the_builder_is_given_profile_flags_limit_and_timings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "tensorrt", stand_in.module())
    path = graph(tmp_path / "planner" / "m.onnx", helper.make_node("Relu", ["x"], ["y"]))
    how = EngineOptions(flags=("fp16",), workspace=1 << 20, timing_cache=tmp_path / "out" / "timing.cache")
    made = build_engine(path, tmp_path / "out", Limits(batch=4), how, CARD)
    assert made.read_bytes() == b"plan"
    stem = engine_stem(path, "10.9.0", CARD, ("fp16",))
    assert made.name == f"{stem}.engine"
    (node,) = onnx.load(str(tmp_path / "out" / f"{stem}.ctx.onnx")).graph.node
    said = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    assert said == {"main_context": 1, "embed_mode": 0, "ep_cache_context": made.name.encode()}
    assert (node.op_type, node.domain, node.input, node.output) == ("EPContext", "com.microsoft", ["x"], ["y"])
    assert ("shape", ("x", (1, 4), (1, 4), (4, 4))) in stand_in.calls
    assert ("flag", "fp16") in stand_in.calls
    assert ("limit", ("workspace", 1 << 20)) in stand_in.calls
    build_engine(path, tmp_path / "out", Limits(), how, CARD)
    assert [content for name, content in stand_in.calls if name == "cache"] == [b"", b"timings"]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [f"{stem}.ctx.onnx", made.name, "timing.cache"]


@pytest.mark.parametrize(
    ("stand_in", "message"),
    [
        (StandIn(parses=False), "TensorRT 10.9.0 cannot parse it: no importer for Odd"),
        (StandIn(plan=None), "built no engine"),
    ],
)
def test_what_tensorrt_refuses_is_told_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: StandIn, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", stand_in.module())
    path = graph(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"]))
    with pytest.raises(ExportError, match=message):
        build_engine(path, tmp_path / "out", Limits(), EngineOptions(), CARD)
    assert not (tmp_path / "out").exists()


def test_without_the_package_or_a_card_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    path = graph(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"]))
    with pytest.raises(ExportError, match=r"tensorrt is not installed .* in the clone: pip install '\.\[gpu\]'"):
        build_engine(path, tmp_path, Limits(), EngineOptions(), CARD)
    with pytest.raises(ExportError, match="fp8: unknown precision"):
        build_engine(path, tmp_path, Limits(), EngineOptions(flags=("fp8",)), CARD)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match="nvidia-smi: no NVIDIA card found"):
        engine.this_hardware()
    bundle = write_bundle(tmp_path / "bundle", ("image_encoder",))
    arguments = ["tensorrt", str(bundle), "--out", str(tmp_path / "engines")]
    assert cli.main(arguments) == 2
    assert cli.main([*arguments, "--context"]) == 2
    assert "onnxruntime has no TensorRT provider here" in capsys.readouterr().err


def test_the_command_reports_every_onnx_role(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write_bundle(tmp_path / "bundle", ("reranker", "image_encoder"))
    assert cli.main(["tensorrt", str(bundle), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {role: each["fits"] for role, each in found.items()} == {"reranker": True, "image_encoder": True}
    content = json.loads((bundle / "manifest.json").read_text())
    content["roles"]["image_encoder"]["grids"] = [{"width": 56, "height": 28, "model": "image_encoder/model.onnx"}]
    (bundle / "manifest.json").write_text(json.dumps(content))
    assert cli.main(["tensorrt", str(bundle), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"reranker", "image_encoder", "image_encoder.grids.0.model"}
    assert cli.main(["tensorrt", str(bundle), "--role", "planner"]) == 2
    assert "--role planner: the bundle has reranker, image_encoder" in capsys.readouterr().err


def sharing_bundle(root: Path) -> Path:
    """A planner with a second decider on its graph that reads longer prompts."""
    bundle = write_bundle(root, ("planner", "image_encoder"))
    content = json.loads((bundle / "manifest.json").read_text())
    planner = content["roles"]["planner"]
    planner["max_tokens"] = 32
    content["roles"]["deciders"] = {"act": {**planner, "max_tokens": 64}}
    (bundle / "manifest.json").write_text(json.dumps(content))
    return bundle


def test_a_graph_that_roles_share_is_built_once_for_the_longest_prompt_of_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "tensorrt", stand_in.module())
    monkeypatch.setattr(engine, "find_hardware", lambda: CARD)
    arguments = ["tensorrt", str(sharing_bundle(tmp_path / "bundle")), "--out", str(tmp_path / "engines"), "--json"]
    assert cli.main([*arguments, "--role", "planner"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"planner", "deciders.act"}
    assert found["planner"]["file"] == found["deciders.act"]["file"]
    shapes = [shape for name, shape in stand_in.calls if name == "shape"]
    assert [largest for name, *_, largest in shapes if name == "input_ids"] == [(16, 64)]
    assert cli.main(arguments) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"planner", "deciders.act", "image_encoder"}


def test_a_graph_that_no_engine_can_be_built_for_ahead_of_time_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", StandIn().module())
    monkeypatch.setattr(engine, "find_hardware", lambda: CARD)
    bundle = write_bundle(tmp_path / "bundle", ("reranker", "image_encoder"))
    model = onnx.load(str(bundle / "reranker" / "model.onnx"))
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "whole"
    onnx.save(model, str(bundle / "reranker" / "model.onnx"))
    content = json.loads((bundle / "manifest.json").read_text())
    raw = (bundle / "reranker" / "model.onnx").read_bytes()
    content["files"]["reranker/model.onnx"] = {"sha256": sha256(raw).hexdigest(), "bytes": len(raw)}
    (bundle / "manifest.json").write_text(json.dumps(content))
    assert cli.main(["tensorrt", str(bundle), "--out", str(tmp_path / "engines")]) == 1
    said = capsys.readouterr().out
    assert "has the dynamic axis 'whole'" in said
    assert len(list((tmp_path / "engines").glob("image_encoder_*.engine"))) == 1


def test_a_bundle_without_onnx_models_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tensorrt", str(write_bundle(tmp_path / "bundle", ("generator",)))]) == 2
    assert "bundle: none of its roles runs on ONNX Runtime" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--context"], "--context and --precision are of engines; say with --out where they go"),
        (["--precision", "fp16"], "say with --out where they go"),
        (["--batch", "0"], "--batch 0: must be 1 or more"),
    ],
)
def test_flags_that_would_do_nothing_are_refused(
    tmp_path: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = write_bundle(tmp_path / "bundle", ("image_encoder",))
    assert cli.main(["tensorrt", str(bundle), *flags]) == 2
    assert message in capsys.readouterr().err


def test_what_onnx_runtime_refuses_is_told_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(model: str, settings: onnxruntime.SessionOptions, providers: object) -> None:
        Path(settings.get_session_config_entry("ep.context_file_path")).write_bytes(b"half")
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["TensorrtExecutionProvider"])
    monkeypatch.setattr(onnxruntime, "InferenceSession", refuses)
    monkeypatch.setattr(engine, "tensorrt_version", lambda: "10.9.0")
    path = graph(tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"]))
    with pytest.raises(ExportError, match=r"m\.onnx: ONNX Runtime built no engine: no such kernel"):
        engine.write_context_model(path, tmp_path / "out", Limits(), lambda: CARD)
    assert list((tmp_path / "out").iterdir()) == []
