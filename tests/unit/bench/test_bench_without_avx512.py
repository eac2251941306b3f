"""How a process is kept from AVX-512, and that it then finds none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.everyday import without_avx512
from bench.everyday.without_avx512 import CPU, way_without

CPUINFO = Path("/proc/cpuinfo")


def has_cpuid_fault() -> bool:
    return CPUINFO.exists() and "cpuid_fault" in CPUINFO.read_text()


def test_a_cpu_that_cannot_fault_or_a_machine_without_compiler_is_emulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(without_avx512, "unpacked", lambda name, _: (tmp_path / name, "1"))
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor : 0\nflags : fpu avx2 avx512f\n")
    emulated = way_without(tmp_path, cpuinfo)
    assert emulated.under[-2:] == ["-cpu", CPU]
    assert CPU in emulated.name
    assert way_without(tmp_path, tmp_path / "missing") == emulated
    cpuinfo.write_text("processor : 0\nflags : fpu avx2 cpuid_fault\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert way_without(tmp_path, cpuinfo) == emulated


@pytest.mark.skipif(not has_cpuid_fault(), reason="needs a CPU whose CPUID can fault")
def test_numpy_and_its_threads_find_no_avx512_where_cpuid_is_answered_without_it(tmp_path: Path) -> None:
    way = way_without(tmp_path)
    assert not way.under
    asked = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from bench.everyday.without_avx512 import has_avx512\n"
        "import numpy as np\n"
        "square = np.ones((64, 64), np.float32)\n"
        "assert ThreadPoolExecutor(2).submit(lambda: (square @ square)[0, 0]).result() == 64\n"
        "print(has_avx512())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **way.environment}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "False"
