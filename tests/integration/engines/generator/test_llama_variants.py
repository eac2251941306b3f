"""Which compiled variant of llama.cpp a process takes."""

import shutil
import subprocess
import sys
from pathlib import Path

import llama_cpp

from quizglass_server.engines.generator.checks.backends import NATIVE, variant_in_use, variants

_LOADED = """
from quizglass_server.engines.generator.checks.backends import load_backends
load_backends()
load_backends()
import llama_cpp.llama_cpp as llama
print(llama._lib.ggml_backend_reg_count())
print(*{line.split()[-1] for line in open("/proc/self/maps") if "libggml-cpu" in line})
"""


def test_the_best_variant_for_this_cpu_is_taken() -> None:
    if not variants():
        assert variant_in_use() == NATIVE
        return
    assert variant_in_use() == max(variants(), key=lambda variant: variant.score).name
    assert {variant.name for variant in variants()} >= {"haswell", "zen4"}


def test_what_lies_in_the_working_directory_is_not_loaded(tmp_path: Path) -> None:
    for module in (Path(llama_cpp.__file__).parent / "lib").glob("libggml-cpu-*.so"):
        shutil.copy(module, tmp_path)
        (tmp_path / "llama_cpp" / "lib").mkdir(parents=True, exist_ok=True)
        shutil.copy(module, tmp_path / "llama_cpp" / "lib")
    run = subprocess.run(
        [sys.executable, "-P", "-c", _LOADED], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    count, *paths = run.stdout.split()
    assert int(count) >= 1
    assert not [path for path in paths if path.startswith(str(tmp_path))]
