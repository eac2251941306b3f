"""A model that is run in steps asks for a CUDA graph where the CUDA provider runs all of it, and nowhere else."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quizglass_server.engines.onnx import session
from quizglass_server.engines.onnx.providers import NAMES, InputRange

IDS = InputRange((1, 1), (1, 64), (16, 256))


@pytest.mark.parametrize(
    ("available", "asked"),
    [(("cuda", "cpu"), True), (("tensorrt", "cuda", "cpu"), False), (("cpu",), False)],
)
def test_a_graph_is_captured_by_the_first_provider_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, available: tuple[str, ...], asked: bool
) -> None:
    given: list[list[tuple[str, dict[str, str]]]] = []
    names = [NAMES[each] for each in available]

    class Session:
        def __init__(self, path: str, settings: Any, providers: list[tuple[str, dict[str, str]]]) -> None:
            given.append(providers)

        def get_providers(self) -> list[str]:
            return names

        def get_inputs(self) -> list[Any]:
            return [SimpleNamespace(name="input_ids", shape=["batch", "sequence"])]

        def get_outputs(self) -> list[Any]:
            return [SimpleNamespace(name="logits", shape=["batch", 2])]

        def get_modelmeta(self) -> Any:
            return SimpleNamespace(custom_metadata_map={})

    class Settings:
        def add_session_config_entry(self, name: str, value: str) -> None:
            pass

    class Runtime:
        InferenceSession, SessionOptions = Session, Settings

        def get_available_providers(self) -> list[str]:
            return names

    runtime = Runtime()
    monkeypatch.setattr(session, "import_onnxruntime", lambda: runtime)
    session.OnnxSession(
        tmp_path / "model.onnx", session.Signature("logits", {"input_ids": IDS}, stepped=True), session.OnnxOptions()
    )
    assert any("enable_cuda_graph" in options for _, options in given[0]) is asked


def test_a_model_that_cuda_runs_in_part_is_run_without_a_graph_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As ONNX Runtime refuses one made for TensorRT, whose shape arithmetic stays on the CPU."""
    names = [NAMES["cuda"], NAMES["cpu"]]

    class Session:
        def __init__(self, path: str, settings: Any, providers: list[tuple[str, dict[str, str]]]) -> None:
            if "enable_cuda_graph" in providers[0][1]:
                raise RuntimeError("all compute graph nodes have not been partitioned to the CUDAExecutionProvider")

        def get_providers(self) -> list[str]:
            return names

        def get_inputs(self) -> list[Any]:
            return [SimpleNamespace(name="input_ids", shape=["batch", "sequence"])]

        def get_outputs(self) -> list[Any]:
            return [SimpleNamespace(name="logits", shape=["batch", 2])]

        def get_modelmeta(self) -> Any:
            return SimpleNamespace(custom_metadata_map={})

    class Runtime:
        InferenceSession, SessionOptions = Session, _Settings

        def get_available_providers(self) -> list[str]:
            return names

    runtime = Runtime()
    monkeypatch.setattr(session, "import_onnxruntime", lambda: runtime)
    signature = session.Signature("logits", {"input_ids": IDS}, stepped=True)
    opened = session.OnnxSession(tmp_path / "model.onnx", signature, session.OnnxOptions(provider="cuda"))
    assert opened.executor == "cuda"
    assert "cannot be launched as one: all compute graph nodes have not been partitioned" in caplog.text


class _Settings:
    def add_session_config_entry(self, name: str, value: str) -> None:
        pass
