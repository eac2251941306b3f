"""What runs an ONNX model: engines built ahead of time, then TensorRT, CUDA, the CPU. ONNX Runtime is a stand-in."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quizglass_server.engines.onnx import prepared, session
from quizglass_server.engines.onnx.prepared import CONTEXT, Hardware, engine_stem
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature
from quizglass_server.errors import EngineFailed, SettingsError

CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"
CARD = Hardware("NVIDIA L4", "8.9", "570.1")
RANGES = {"x": InputRange((1, 4), (1, 4), (8, 4))}


class Runtime:
    """ONNX Runtime with the given providers, of which some do not start."""

    def __init__(self, available: Sequence[str], broken: Sequence[str] = (), refused: str = "") -> None:
        self.available, self.broken, self.refused = list(available), broken, refused
        self.opened: list[tuple[str, list[str], dict[str, str]]] = []
        self.given: list[dict[str, dict[str, str]]] = []

    def get_available_providers(self) -> list[str]:
        return self.available

    def SessionOptions(self) -> Any:
        return SimpleNamespace(add_session_config_entry=lambda *_: None)

    def InferenceSession(self, path: str, options: object, providers: Sequence[Any]) -> Any:
        named = [each if isinstance(each, tuple) else (each, {}) for each in providers]
        self.opened.append((Path(path).name, [name for name, _ in named], named[0][1]))
        self.given.append(dict(named))
        if self.refused and self.refused in path:
            raise RuntimeError("wrong engine")
        node = SimpleNamespace(name="x", shape=["b", 4])
        return SimpleNamespace(
            get_providers=lambda: [name for name, _ in named if name not in self.broken],
            get_inputs=lambda: [node],
            get_outputs=lambda: [SimpleNamespace(name="y")],
            get_modelmeta=lambda: SimpleNamespace(custom_metadata_map={}),
        )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "planner" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(b"graph")
    return path


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    (tmp_path / "engines").mkdir()
    return tmp_path / "engines"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Runtime], Runtime]:
    monkeypatch.setattr(prepared, "_here", lambda _: prepared.place_key("10.9.0", CARD))

    def install(runtime: Runtime) -> Runtime:
        monkeypatch.setattr(session, "import_onnxruntime", lambda: runtime)
        return runtime

    return install


def built(folder: Path, model: Path, version: str = "10.9.0", card: Hardware = CARD, *flags: str) -> Path:
    path = folder / f"{engine_stem(model, version, card, flags)}{CONTEXT}"
    path.write_bytes(b"engine")
    return path


def opened(model: Path, engines: Path | None, provider: str = "auto") -> OnnxSession:
    return OnnxSession(model, Signature("y", RANGES), OnnxOptions(provider=provider, cache=engines))


def test_an_engine_built_for_this_place_goes_first(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime]
) -> None:
    runtime = use(Runtime([TENSORRT, CUDA, CPU]))
    older, newer = built(engines, model), built(engines, model, "10.9.0", CARD, "fp16")
    os.utime(older, (1, 1))
    assert opened(model, engines).executor == "tensorrt-engine"
    assert runtime.opened == [(newer.name, [TENSORRT, CUDA, CPU], {"device_id": "0"})]


@pytest.mark.parametrize("ahead", [False, True])
def test_the_card_that_is_named_and_float16_reach_onnx_runtime(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime], ahead: bool
) -> None:
    """Whether TensorRT builds its engine at the start or ahead of time."""
    runtime = use(Runtime([TENSORRT, CUDA, CPU]))
    if ahead:
        built(engines, model)
    how = OnnxOptions(cache=engines, device=3, float16=True)
    found = OnnxSession(model, Signature("y", RANGES), how)
    assert found.executor == ("tensorrt-engine" if ahead else "tensorrt")
    (given,) = runtime.given
    assert [given[each].get("device_id") for each in (TENSORRT, CUDA, CPU)] == ["3", "3", None]
    assert given[TENSORRT].get("trt_fp16_enable") == (None if ahead else "1"), "an engine has its precision"


WEIGHTS = ("model.onnx.data", "model.onnx_data", "weights.bin", "onnx__MatMul_12")


@pytest.mark.parametrize("other", ["model.onnx", *WEIGHTS, "version", "card", "driver", "raw"])
def test_an_engine_for_anything_else_is_never_tried(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime], other: str, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = use(Runtime([TENSORRT, CUDA, CPU]))
    if other in WEIGHTS:
        model.with_name(other).write_bytes(b"trained")
    if other == "version":
        built(engines, model, "10.9.1")
    elif other == "card":
        built(engines, model, "10.9.0", Hardware("NVIDIA L40S", "8.9", "570.1"))
    elif other == "driver":
        built(engines, model, "10.9.0", Hardware("NVIDIA L4", "8.9", "570.12"))
    elif other == "raw":
        made = built(engines, model)
        made.rename(made.with_name(made.name.removesuffix(CONTEXT) + ".engine"))
    else:
        built(engines, model)
        model.with_name(other).write_bytes(b"changed")
    with caplog.at_level(logging.WARNING):
        found = opened(model, engines)
    assert found.executor == "tensorrt"
    assert [name for name, _, _ in runtime.opened] == ["model.onnx"]
    assert runtime.opened[0][2]["trt_engine_cache_path"] == str(engines)
    assert runtime.opened[0][2]["trt_profile_max_shapes"] == "x:8x4"
    told = "engines built for it are for another place than trt10.9.0_sm89_nvidia-l4_driver570.1" in caplog.text
    assert told == (other in ("version", "card", "driver"))


def test_an_engine_is_kept_whatever_becomes_of_files_that_are_not_its_models(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime]
) -> None:
    use(Runtime([TENSORRT, CUDA, CPU]))
    built(engines, model)
    for name in ("other.onnx", "other.onnx.data", "tokenizer.json", "words.txt"):
        model.with_name(name).write_bytes(b"changed")
    assert opened(model, engines).executor == "tensorrt-engine"


def test_an_engine_that_does_not_start_gives_way_to_one_built_now(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime], caplog: pytest.LogCaptureFixture
) -> None:
    runtime = use(Runtime([TENSORRT, CPU], refused=CONTEXT))
    built(engines, model)
    assert opened(model, engines).executor == "tensorrt"
    assert len(runtime.opened) == 2
    assert "cannot be started: wrong engine" in caplog.text


def test_a_model_with_inputs_of_its_own_shapes_has_no_profile(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime]
) -> None:
    runtime = use(Runtime([TENSORRT, CPU]))
    OnnxSession(model, Signature("y", RANGES, free=frozenset(["past"])), OnnxOptions(cache=engines))
    given = runtime.opened[0][2]
    assert not [name for name in given if "profile" in name]
    assert given["trt_engine_cache_path"] == given["trt_timing_cache_path"] == str(engines)


@pytest.mark.parametrize(
    ("available", "broken", "executor"),
    [
        ([TENSORRT, CUDA, CPU], [], "tensorrt"),
        ([TENSORRT, CUDA, CPU], [TENSORRT], "cuda"),
        ([TENSORRT, CUDA, CPU], [TENSORRT, CUDA], "cpu"),
        ([CUDA, CPU], [], "cuda"),
        ([CPU], [], "cpu"),
    ],
)
def test_left_to_itself_the_best_provider_that_starts_runs_a_model(
    model: Path,
    engines: Path,
    use: Callable[[Runtime], Runtime],
    available: list[str],
    broken: list[str],
    executor: str,
) -> None:
    use(Runtime(available, broken))
    built(engines, model, "8.6.1")
    assert opened(model, engines).executor == executor
    assert opened(model, None).executor == executor


def test_a_provider_asked_for_by_name_is_had_or_refused(
    model: Path, engines: Path, use: Callable[[Runtime], Runtime]
) -> None:
    built(engines, model)
    runtime = use(Runtime([TENSORRT, CUDA, CPU], broken=[TENSORRT]))
    with pytest.raises(EngineFailed, match=r"planner/model\.onnx: TensorrtExecutionProvider .* set provider to auto"):
        opened(model, engines, "tensorrt")
    assert opened(model, engines, "cuda").executor == "cuda"
    assert opened(model, engines, "cpu").executor == "cpu"
    assert [name for name, _, _ in runtime.opened[-2:]] == ["model.onnx"] * 2
    use(Runtime([CPU]))
    with pytest.raises(
        SettingsError, match=r"provider: CUDAExecutionProvider is not in this ONNX Runtime, which has CPU"
    ):
        opened(model, None, "cuda")
    with pytest.raises(SettingsError, match="provider: 'metal' is unknown"):
        opened(model, None, "metal")


def test_without_tensorrt_or_a_card_engines_are_left_alone(
    model: Path, engines: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepared._here.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    built(engines, model)
    assert prepared.find_prepared(model, engines) is None
    assert "are not used: none of the packages tensorrt" in caplog.text
    monkeypatch.setattr(prepared, "tensorrt_version", lambda: "10.9.0")
    assert prepared.find_prepared(model, engines) is None
    assert "nvidia-smi: no NVIDIA card found" in caplog.text
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA L4, 8.9, 570.1'\n")
    smi.chmod(0o755)
    found = prepared.find_prepared(model, engines)
    assert found is not None
    assert found.name.endswith("_trt10.9.0_sm89_nvidia-l4_driver570.1_fp32.ctx.onnx")
    assert prepared.find_prepared(model, engines, 1) is None, "there is one card"
    smi.write_text("#!/bin/sh\necho 'NVIDIA L40S, 8.9, 570.1'\necho 'NVIDIA L4, 8.9, 570.1'\n")
    prepared._here.cache_clear()
    assert prepared.find_prepared(model, engines, 0) is None
    assert prepared.find_prepared(model, engines, 1) == found
    prepared._here.cache_clear()
