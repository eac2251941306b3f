"""Execution providers that are plug-ins of ONNX Runtime: registered once, and refused by name where they cannot run."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quizglass_server.engines.onnx.plugins import PLUGINS, devices
from quizglass_server.engines.onnx.providers import choose, confirm, options, short
from quizglass_server.errors import EngineFailed, SettingsError

OPENVINO = PLUGINS["openvino"]


@dataclass
class Device:
    ep_name: str


@dataclass
class Runtime:
    """ONNX Runtime as far as plug-ins see it."""

    brings: list[Device]
    broken: str = ""
    __version__: str = "1.24.0"
    registered: list[tuple[str, str]] = field(default_factory=list)

    def get_ep_devices(self) -> list[Device]:
        return [Device("CPUExecutionProvider"), *(self.brings if self.registered else [])]

    def register_execution_provider_library(self, name: str, library: str) -> None:
        if self.broken:
            raise RuntimeError(self.broken)
        self.registered.append((name, library))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    library = str(tmp_path / "libplugin.so")
    module: Any = ModuleType(OPENVINO.package)
    module.get_library_path = lambda: library
    monkeypatch.setitem(sys.modules, OPENVINO.package, module)
    return library


def test_a_plugin_is_registered_once_and_its_devices_alone_are_taken(installed: str) -> None:
    runtime = Runtime([Device(OPENVINO.provider), Device("AnotherExecutionProvider"), Device(OPENVINO.provider)])
    for _ in range(2):
        assert [each.ep_name for each in devices(runtime, "openvino")] == [OPENVINO.provider] * 2
    assert runtime.registered == [(OPENVINO.provider, installed)]


def test_a_plugin_without_a_device_is_refused_with_what_it_needs(installed: str) -> None:
    with pytest.raises(SettingsError, match="openvino finds no device here; it needs an Intel"):
        devices(Runtime([]), "openvino")
    with pytest.raises(SettingsError, match="finds no device"):
        devices(Runtime([], broken="library is already registered under this name"), "openvino")


def test_a_card_can_be_named_where_a_plugin_runs_on_cards(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rtx = PLUGINS["tensorrt-rtx"]
    monkeypatch.setitem(sys.modules, rtx.package, sys.modules[OPENVINO.package])
    cards = [Device(rtx.provider), Device(rtx.provider)]
    runtime = Runtime(cards)
    assert [id(each) for each in devices(runtime, "tensorrt-rtx", 1)] == [id(cards[1])]
    assert len(devices(runtime, "tensorrt-rtx")) == 2
    with pytest.raises(SettingsError, match="gpu_device: tensorrt-rtx finds 2 cards, counted from 0, and none is 2"):
        devices(runtime, "tensorrt-rtx", 2)
    two = Runtime([Device(OPENVINO.provider), Device(OPENVINO.provider)])
    assert len(devices(two, "openvino", 1)) == 2, "its devices are no cards that CUDA counts"


def test_a_library_that_cannot_be_loaded_is_named(installed: str) -> None:
    with pytest.raises(EngineFailed, match=r"openvino cannot be loaded; it needs an Intel .*: libtbb"):
        devices(Runtime([], broken="libtbb.so.12: cannot open shared object file"), "openvino")


def test_a_plugin_that_is_not_installed_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime_ep_nv_tensorrt_rtx", None)
    with pytest.raises(SettingsError, match=r"tensorrt-rtx is not installed .*'\.\[rtx\]'"):
        devices(Runtime([]), "tensorrt-rtx")


def test_an_onnx_runtime_before_plugins_is_named() -> None:
    class Old:
        __version__ = "1.22.0"

    with pytest.raises(SettingsError, match=r"1\.24 or later, and this is 1\.22\.0"):
        devices(Old(), "openvino")


def test_a_named_plugin_falls_back_to_no_other_and_auto_takes_none() -> None:
    cpu = "CPUExecutionProvider"
    assert choose("openvino", [cpu]) == [OPENVINO.provider, cpu]
    assert choose("auto", [OPENVINO.provider, cpu]) == [cpu]
    assert short(OPENVINO.provider) == "openvino"
    assert confirm("openvino", [OPENVINO.provider, cpu], [OPENVINO.provider, cpu], "planner/model.onnx") == "openvino"
    with pytest.raises(EngineFailed, match="fell back to CPU"):
        confirm("openvino", [OPENVINO.provider, cpu], [cpu], "planner/model.onnx")


def test_cuda_searches_no_algorithms_and_grows_by_what_is_asked_for() -> None:
    """Searching took 2.3 GB of card for 30 MB of models."""
    given = options("CUDAExecutionProvider", {}, None)
    assert (given["cudnn_conv_algo_search"], given["arena_extend_strategy"]) == ("HEURISTIC", "kSameAsRequested")
    assert given["use_tf32"] == "0"


@pytest.mark.parametrize("setting", PLUGINS)
def test_the_real_plugin_registers(setting: str) -> None:
    """Where its package is installed: its library loads, and it serves, or says what is missing here."""
    pytest.importorskip(PLUGINS[setting].package)
    import onnxruntime

    try:
        found = {each.ep_name for each in devices(onnxruntime, setting)}
    except (EngineFailed, SettingsError) as error:
        found = {error.message.partition(";")[0]}
    nothing = {f"provider: {setting} {why}" for why in ("finds no device here", "cannot be loaded")}
    assert len(found) == 1
    assert found <= {PLUGINS[setting].provider, *nothing}
