"""Builds the llama-cpp-python wheel with llama-server, for every CPU of this architecture.

Run it as `python server/native/wheel.py`.

llama.cpp compiled as pip does it by itself holds only what the CPU of the building machine can do, and ends with an
illegal instruction on another. Here it is compiled once per instruction set, as `variants.cmake` lists them, and the
process that loads it takes the best one for its CPU. The wheel is kept in a cache of its own (pip's would not tell it
from one that was built otherwise), under a name that changes with the version, the compiler and these files.

Needs pip, a C and a C++ compiler and nothing of this project, so that it can run first.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PROJECT = _HERE.parent / "pyproject.toml"
_OURS = ("variants.cmake", "amx_probe.c")
_DEFINITIONS = {
    "GGML_NATIVE": "OFF",
    "GGML_BACKEND_DL": "ON",
    "GGML_CPU_ALL_VARIANTS": "ON",
    # Modules lie beside the libraries. A type, or CMake would make the path absolute.
    "CMAKE_INSTALL_BINDIR:STRING": "llama_cpp/lib",
    "CMAKE_PROJECT_ggml_INCLUDE": str(_HERE / "variants.cmake"),
    # llama-server, which brings mtmd along. It serves one socket: no page, no TLS, no programs that it would start.
    "LLAVA_BUILD": "OFF",
    "LLAMA_BUILD_TOOLS": "ON",
    "LLAMA_BUILD_SERVER": "ON",
    "LLAMA_BUILD_UI": "OFF",
    "LLAMA_USE_PREBUILT_UI": "OFF",
    "LLAMA_OPENSSL": "OFF",
    "LLAMA_SUBPROCESS": "OFF",
    "MTMD_VIDEO": "OFF",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the wheel unless it is in the cache, then print its path, install it or print CMake's arguments."""
    options = _parser().parse_args(arguments)
    definitions = [f"-D{name}={value}" for name, value in _DEFINITIONS.items()]
    definitions += [f"-D{pair}" for pair in options.define]
    if options.print_cmake_args:
        print(" ".join(definitions))
        return 0
    requirement = pinned_requirement(_PROJECT.read_text(encoding="utf-8"))
    kept = options.cache / _key(requirement, definitions)
    try:
        wheel = next(kept.glob("*.whl"), None)
        if wheel is None and options.cached:
            print("wheel.py: it is not in the cache", file=sys.stderr)
            return 1
        wheel = wheel or _build(requirement, definitions, kept)
        if options.install:
            _pip("install", "--quiet", "--force-reinstall", "--no-deps", str(wheel))
    except subprocess.CalledProcessError as error:
        print(f"wheel.py: pip ended with {error.returncode}; what it printed is above", file=sys.stderr)
        return 1
    print(wheel)
    return 0


def pinned_requirement(project: str) -> str:
    """The line of the server's pyproject.toml that pins llama-cpp-python.

    Raises:
        ValueError: there is no such line, or it pins no version.
    """
    for requirement in tomllib.loads(project)["project"].get("optional-dependencies", {}).get("llama", ()):
        if re.fullmatch(r"llama-cpp-python==[\w.]+", requirement):
            return str(requirement)
    raise ValueError("server/pyproject.toml does not pin llama-cpp-python==VERSION")


def _key(requirement: str, definitions: Sequence[str]) -> str:
    """Names everything that decides what is compiled; paths of this checkout do not count."""
    digest = hashlib.sha256()
    portable = [each for each in definitions if "CMAKE_PROJECT_ggml_INCLUDE" not in each]
    machine = (platform.machine(), platform.libc_ver()[1], os.environ.get("CMAKE_ARGS", ""))
    for part in (requirement, *machine, *portable, *map(_version, _compilers())):
        digest.update(part.encode() + b"\0")
    for name in _OURS:
        digest.update((_HERE / name).read_bytes())
    # The probe's answer depends on the CPU as well as on the compiler.
    digest.update(b"amx" if "amx_tile" in _cpu_flags() else b"")
    return digest.hexdigest()[:16]


def _compilers() -> tuple[str, str]:
    return os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")


def _version(compiler: str) -> str:
    try:
        run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"wheel.py: no C and C++ compiler ({compiler}); install one, for example Debian's build-essential")
    return run.stdout.partition("\n")[0]


def _cpu_flags() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def _build(requirement: str, definitions: Sequence[str], kept: Path) -> Path:
    """Compile, and keep the wheel under its key; a build that ends early leaves nothing there."""
    environment = dict(os.environ)
    environment["CMAKE_ARGS"] = " ".join([*filter(None, [environment.get("CMAKE_ARGS")]), *definitions])
    with tempfile.TemporaryDirectory(prefix="quizglass-wheel-") as folder:
        _pip(
            *("wheel", "--quiet", "--progress-bar", "on", "--no-deps", "--no-cache-dir"),
            *("--no-binary", "llama-cpp-python", "--wheel-dir", folder, requirement),
            environment=environment,
        )
        (built,) = Path(folder).glob("*.whl")
        kept.mkdir(parents=True, exist_ok=True)
        partial = kept / f"{built.name}.part"
        shutil.copyfile(built, partial)
        return partial.replace(kept / built.name)


def _pip(*arguments: str, environment: dict[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, env=environment, stdout=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quizglass" / "wheels"
    parser.add_argument("--install", action="store_true", help="install the wheel beside this Python's packages")
    parser.add_argument("--cached", action="store_true", help="end with 1 where it would have to be compiled")
    parser.add_argument("--cache", type=Path, default=cache, metavar="DIR", help="where wheels are kept [%(default)s]")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE", help="another option of CMake")
    parser.add_argument("--print-cmake-args", action="store_true", help="print what CMAKE_ARGS must be, and exit")
    return parser


if __name__ == "__main__":
    sys.exit(main())
