"""Models whose TensorRT engine was built ahead of time: what their files are called, and which one fits here.

An engine fits one model, one version of TensorRT, one kind of card and one driver. All of that is in the file name, so
that a wrong one is never tried. `quizglass-export tensorrt` writes them. Unverified on hardware.
"""

from __future__ import annotations

import hashlib
import logging
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from quizglass_bundle.hashes import file_sha256
from quizglass_bundle.weights import weight_files

CONTEXT = ".ctx.onnx"
"""Ending of a model for ONNX Runtime that holds its engine, or names it."""
ENGINE = ".engine"
"""Ending of an engine alone."""
_PACKAGES = ("tensorrt", "tensorrt-cu12", "tensorrt-cu13")
_QUERY = ["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hardware:
    """What an engine fits: the card's name, its compute capability and the driver."""

    name: str
    capability: str
    driver: str


def find_hardware(number: int = 0) -> Hardware:
    """A card, as `nvidia-smi` names it.

    Raises:
        LookupError: there is none, with the reason.
    """
    try:
        done = subprocess.run(_QUERY, capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
        name, capability, driver = (part.strip() for part in done.stdout.splitlines()[number].split(","))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise LookupError(f"nvidia-smi: no NVIDIA card found ({error})") from None
    return Hardware(name, capability, driver)


@lru_cache
def card_bytes(number: int = 0) -> int:
    """Memory of a card, as `nvidia-smi` says; 0 where there is none of that number."""
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
        return int(done.stdout.splitlines()[number]) << 20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return 0


def tensorrt_version() -> str:
    """Version of the installed TensorRT package.

    Raises:
        LookupError: there is none.
    """
    for package in _PACKAGES:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    raise LookupError(f"none of the packages {', '.join(_PACKAGES)} is installed")


def model_key(model: Path) -> str:
    """Beginning of the names of a model's engines: its directory, and a hash of its file and external weights."""
    digest = hashlib.sha256()
    for path in (model, *weight_files(model)):
        digest.update(bytes.fromhex(file_sha256(path)))
    return f"{model.parent.name}_{digest.hexdigest()[:12]}"


def place_key(version: str, hardware: Hardware) -> str:
    """What else an engine's name has, apart from its precisions: TensorRT's version, the card and the driver."""
    card = re.sub(r"[^a-z0-9]+", "-", hardware.name.lower()).strip("-")
    return f"trt{version}_sm{hardware.capability.replace('.', '')}_{card}_driver{hardware.driver}"


def engine_stem(model: Path, version: str, hardware: Hardware, precisions: Sequence[str]) -> str:
    """Name of an engine without its ending: everything that it depends on is in it."""
    return "_".join((model_key(model), place_key(version, hardware), "-".join(sorted(precisions)) or "fp32"))


def find_prepared(model: Path, directory: Path | None, number: int = 0) -> Path | None:
    """The context model in a directory that fits a model, TensorRT and a card; the newest of several precisions.

    None when there is none, with a line in the log if there are some that do not fit.
    """
    if directory is None or not directory.is_dir():
        return None
    key = model_key(model)
    engines = [path for path in directory.iterdir() if path.name.startswith(f"{key}_") and path.name.endswith(CONTEXT)]
    if not engines:
        return None
    try:
        here = _here(number)
    except LookupError as error:
        logger.warning("%s: engines built for it are not used: %s", key, error)
        return None
    fitting = [path for path in engines if path.name.startswith(f"{key}_{here}_")]
    if not fitting:
        names = ", ".join(sorted(path.name for path in engines))
        logger.warning("%s: engines built for it are for another place than %s: %s", key, here, names)
        return None
    return max(fitting, key=lambda path: (path.stat().st_mtime_ns, path.name))


@lru_cache
def _here(number: int) -> str:
    return place_key(tensorrt_version(), find_hardware(number))
