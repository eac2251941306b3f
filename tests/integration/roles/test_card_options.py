"""Settings of cards, from the server's options to the sessions of ONNX Runtime that they are handed to."""

from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from quizglass_bundle.files import Bundle
from quizglass_server.config.settings import EngineOptions
from quizglass_server.engines.onnx import session
from quizglass_server.roles.load import load_models
from tests.support.bundles.tiny_bundle import write_bundle

CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"


class OnCpu:
    """ONNX Runtime as on a machine with cards, whose providers do not start: every session falls back to the CPU."""

    def __init__(self) -> None:
        self.given: list[dict[str, dict[str, str]]] = []

    def __getattr__(self, name: str) -> Any:
        if name == "preload_dlls":  # there is nothing to load
            raise AttributeError(name)
        return getattr(onnxruntime, name)

    def get_available_providers(self) -> list[str]:
        return [TENSORRT, CUDA, CPU]

    def InferenceSession(self, path: str, options: Any, providers: list[tuple[str, dict[str, str]]]) -> Any:
        self.given.append(dict(providers))
        return onnxruntime.InferenceSession(path, options, providers=[CPU])


@pytest.mark.parametrize(("number", "said", "float16"), [(-1, "0", False), (2, "2", True)])
async def test_every_session_is_given_the_card_and_the_precision_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str, float16: bool
) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "bundle", ("planner", "reranker", "image_encoder", "text_encoder")))
    runtime = OnCpu()
    session.import_onnxruntime()
    monkeypatch.setattr(session, "import_onnxruntime", lambda: runtime)
    models = await load_models(bundle, EngineOptions(gpu_device=number, tensorrt_fp16=float16))
    try:
        assert {status.executor for status in models.statuses()} == {"cpu"}
    finally:
        await models.close()
    assert len(runtime.given) >= 4
    for given in runtime.given:
        assert (given[TENSORRT]["device_id"], given[CUDA]["device_id"], given[CPU]) == (said, said, {})
        assert given[TENSORRT].get("trt_fp16_enable") == ("1" if float16 else None)
