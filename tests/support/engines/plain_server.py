"""llama-server as anybody runs it: on a port of this machine, with no other settings than its files."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quizglass_server.engines.generator.process.programs import find_program
from tests.support.knowledge.backends import free_port


@contextmanager
def plain_server(
    model: Path, projector: Path | None = None, *, port: int = 0, key: str = "", prefix: str = ""
) -> Iterator[str]:
    """Serve until the end; its address.

    Args:
        model: GGUF file.
        projector: of the part that sees.
        port: 0 takes a free one.
        key: what its callers have to know.
        prefix: what its paths begin with, as behind a proxy that has other servers, too.
    """
    port = port or free_port()
    seeing = [] if projector is None else ["--mmproj", str(projector)]
    # One thread, as tests run ours: other sums come of other divisions of the work.
    flags = ["--parallel", "1", "--ctx-size", "8192", "--threads", "1", "--threads-batch", "1"]
    command = [*find_program().command, "--model", str(model), *seeing, "--host", "127.0.0.1", "--port", str(port)]
    flags += ["--api-prefix", prefix] if prefix else []
    environment = {"LLAMA_API_KEY": key} if key else {}
    process = subprocess.Popen(
        [*command, *flags], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said: list[str] = []
    listening = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if "listening on" in line:
                listening.set()
        listening.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        listening.wait(60)
        assert process.poll() is None, "".join(said[-10:])
        yield f"http://127.0.0.1:{port}{prefix}"
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stderr.close()
