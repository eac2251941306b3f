"""Execution providers that packages bring as plug-ins of ONNX Runtime: TensorRT for RTX, and OpenVINO.

A plug-in's library is registered once a process; the devices that it then finds are given to sessions. Source: ONNX
Runtime's documentation of plug-in execution provider libraries (1.24 and later).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from quizglass_server.errors import EngineFailed, SettingsError


@dataclass(frozen=True, slots=True)
class Plugin:
    """A provider that a package of its own brings."""

    provider: str
    """ONNX Runtime's name of it."""
    package: str
    """Module that knows where its library is."""
    extra: str
    """What installs it."""
    needs: str
    """The hardware it runs on, for the error where there is none."""
    cards: bool = False
    """Whether its devices are NVIDIA's cards, of which one can be named by its number."""


PLUGINS = {
    "tensorrt-rtx": Plugin(
        "NvTensorRTRTXExecutionProvider",
        "onnxruntime_ep_nv_tensorrt_rtx",
        "rtx",
        "an NVIDIA card from Ampere on",
        cards=True,
    ),
    "openvino": Plugin(
        "OpenVINOExecutionProvider", "onnxruntime_ep_openvino", "openvino", "an Intel processor, GPU or NPU"
    ),
}
"""By the name that settings have for it."""


def devices(ort: Any, setting: str, number: int = -1) -> list[Any]:
    """ONNX Runtime's devices of a plug-in; its library is registered when this is first asked.

    Args:
        ort: the package onnxruntime.
        setting: a name of `PLUGINS`.
        number: of a card, where the plug-in runs on cards; -1: every device.

    Raises:
        EngineFailed: the library cannot be loaded.
        SettingsError: the plug-in is not installed, this ONNX Runtime is too old for it, it finds no device, or none
            of that number.
    """
    plugin = PLUGINS[setting]
    if not hasattr(ort, "get_ep_devices"):
        raise SettingsError(f"provider: {setting} needs onnxruntime 1.24 or later, and this is {ort.__version__}")
    if not (found := _of(plugin, ort.get_ep_devices())):
        _register(ort, setting, plugin)
        found = _of(plugin, ort.get_ep_devices())
    if not found:
        raise SettingsError(
            f"provider: {setting} finds no device here; it needs {plugin.needs}. Set provider to auto or cpu"
        )
    if not plugin.cards or number < 0:
        return found
    if number >= len(found):
        raise SettingsError(f"gpu_device: {setting} finds {len(found)} cards, counted from 0, and none is {number}")
    return [found[number]]


def _of(plugin: Plugin, devices: Iterable[Any]) -> list[Any]:
    return [device for device in devices if device.ep_name == plugin.provider]


def _register(ort: Any, setting: str, plugin: Plugin) -> None:
    try:
        library = import_module(plugin.package).get_library_path()
    except (ImportError, OSError) as error:
        raise SettingsError(
            f"provider: {setting} is not installed ({error}); in the clone: pip install '.[{plugin.extra}]'"
        ) from error
    try:
        ort.register_execution_provider_library(plugin.provider, str(library))
    except Exception as error:
        if "already registered" in str(error):  # it is, and found no device
            return
        raise EngineFailed(
            f"provider: {setting} cannot be loaded; it needs {plugin.needs}, with its driver: {error}"
        ) from error
