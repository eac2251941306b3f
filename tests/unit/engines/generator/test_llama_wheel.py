"""The script that compiles llama.cpp for every CPU, as far as nothing is compiled."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

NATIVE = Path(__file__).parents[4] / "server" / "native"


@pytest.fixture(scope="module")
def wheel() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheel", NATIVE / "wheel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_one_that_the_project_pins(wheel: ModuleType) -> None:
    project = (NATIVE.parent / "pyproject.toml").read_text()
    assert wheel.pinned_requirement(project) in project
    with pytest.raises(ValueError, match="does not pin"):
        wheel.pinned_requirement('[project.optional-dependencies]\nllama = ["llama-cpp-python>=0.3"]')


def test_the_cache_tells_builds_apart_that_would_differ(wheel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "_cpu_flags", lambda: "flags : avx2")
    usual = wheel._key("llama-cpp-python==1", ["-DA=1"])
    assert wheel._key("llama-cpp-python==1", ["-DA=1"]) == usual
    assert wheel._key("llama-cpp-python==2", ["-DA=1"]) != usual
    assert wheel._key("llama-cpp-python==1", ["-DA=2"]) != usual
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=ON")
    assert wheel._key("llama-cpp-python==1", ["-DA=1"]) != usual
    monkeypatch.delenv("CMAKE_ARGS")
    monkeypatch.setattr(wheel, "_cpu_flags", lambda: "flags : amx_tile")
    assert wheel._key("llama-cpp-python==1", ["-DA=1"]) != usual


def test_a_wheel_in_the_cache_is_not_compiled_again(
    wheel: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requirement = wheel.pinned_requirement((NATIVE.parent / "pyproject.toml").read_text())
    definitions = [f"-D{name}={value}" for name, value in wheel._DEFINITIONS.items()]
    kept = tmp_path / wheel._key(requirement, definitions) / "llama_cpp_python-1-py3-none-any.whl"
    kept.parent.mkdir()
    kept.touch()
    assert wheel.main(["--cache", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(kept)


def test_what_is_not_in_the_cache_is_not_compiled_where_only_that_is_wanted(
    wheel: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wheel.main(["--cache", str(tmp_path), "--cached", "--install"]) == 1
    assert "not in the cache" in capsys.readouterr().err


def test_a_machine_without_a_compiler_is_told_so(wheel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SystemExit, match="no-such-compiler"):
        wheel.main([])


def test_plain_pip_can_be_told_the_same(wheel: ModuleType) -> None:
    command = [sys.executable, str(NATIVE / "wheel.py"), "--print-cmake-args", "--define", "GGML_CUDA=ON"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "-DGGML_CPU_ALL_VARIANTS=ON" in printed
    assert "-DLLAMA_BUILD_SERVER=ON" in printed
    assert printed.endswith("-DGGML_CUDA=ON\n")


def test_the_probe_says_whether_this_compiler_and_cpu_get_amx_right(tmp_path: Path) -> None:
    program = tmp_path / "probe"
    flags = Path("/proc/cpuinfo").read_text()
    options = ["-O2", "-mamx-tile", "-mamx-int8"]
    built = subprocess.run(["cc", *options, str(NATIVE / "amx_probe.c"), "-o", str(program)], check=False)
    if built.returncode:
        pytest.skip("this compiler knows no AMX")
    status = subprocess.run([str(program)], check=False).returncode
    wrong = (1, -signal.SIGILL, -signal.SIGSEGV)  # half a configuration is another one, or none that the CPU takes
    assert status in ((0, *wrong) if "amx_int8" in flags else (2,))
