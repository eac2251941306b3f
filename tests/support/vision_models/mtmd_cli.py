"""llama.cpp's own program for a question about a picture, `llama-mtmd-cli`.

The wheel has the libraries that it is linked to and not the program itself: one file of source, which is compiled here
in a few seconds.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from quizglass_server.engines.generator.process.programs import in_wheel
from tests.support.vision_models.converter import llama_source

MARKER = "<__media__>"
"""What stands for the picture in a prompt."""
_AS_IT_IS = "{{ messages[0]['content'] }}"
_BEGUN = "=== answer ==="
_INCLUDED = ("include", "ggml/include", "common", "vendor", "tools/mtmd")
_WHOLE = """\
#define main mtmd_main
#include "mtmd-cli.cpp"
#undef main
// Its logger, which prints the answer too, drops what it has not printed when the program ends.
int main(int argc, char ** argv) {
    const int status = mtmd_main(argc, argv);
    common_log_flush(common_log_main());
    return status;
}
"""
_LINKED = ("mtmd", "llama-common", "llama", "ggml", "ggml-base")


def compiled(folder: Path) -> Path:
    """Compile it into a folder.

    Raises:
        RuntimeError: llama-cpp-python is not installed, or the compiler fails; its last words.
    """
    libraries, source, program = _libraries(), llama_source(), folder / "llama-mtmd-cli"
    whole = folder / "whole.cpp"
    whole.write_text(_WHOLE)
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-DGGML_BACKEND_DL", "-DGGML_SHARED", "-DLLAMA_SHARED"]
    command += [f"-I{source / each}" for each in _INCLUDED]
    command += [str(whole), "-o", str(program), f"-L{libraries}"]
    command += [*(f"-l{each}" for each in _LINKED), f"-Wl,-rpath,{libraries}", "-pthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"llama-mtmd-cli: {done.stderr.strip()[-2000:]}")
    return program


def answered(program: Path, model: Path, projector: Path, picture: Path, prompt: str, tokens: int) -> bytes:
    """What it writes behind a prompt, greedily, special tokens included, with line ends around it.

    Args:
        program: as `compiled` made it.
        model: GGUF file.
        projector: of the part that sees.
        picture: an image file.
        prompt: the whole of it, in the model's own chat format, with `MARKER` where the picture is.
        tokens: at most so many.
    """
    command = [str(program), "--model", str(model), "--mmproj", str(projector), "--image", str(picture)]
    command += ["--jinja", "--chat-template", _AS_IT_IS, "--prompt", prompt, "--predict", str(tokens), "--temp", "0"]
    # One thread, as tests run ours: other sums come of other divisions of the work.
    command += ["--threads", "1", "--threads-batch", "1", "--ctx-size", "8192", "--log-verbosity", "0"]
    environment = {**os.environ, "MTMD_TEST_RESPONSE_MARKER": _BEGUN}
    # It looks for the CPU's module where it is started.
    done = subprocess.run(command, cwd=_libraries(), env=environment, capture_output=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"llama-mtmd-cli: {done.stderr.decode('utf-8', 'replace').strip()[-2000:]}")
    return done.stdout.partition(_BEGUN.encode())[2]


def _libraries() -> Path:
    server = in_wheel()
    if server is None:
        raise RuntimeError("llama-mtmd-cli needs the libraries of server/native/wheel.py")
    return server.folder
