"""The commands that a user runs first print lines of their own and none of a library's."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bundles.small_build import write_recipe
from tests.support.engines.starter_server import picture

STARTER = Path(__file__).parents[3] / "models" / "starter" / "bundle"
FOREIGN = re.compile(
    r"\w*Warning\b"  # Python's
    r"|^\[?transformers\]?\b|^\[?torch\]?\b"
    r"|^\d{4}-\d\d-\d\d [\d:.]+ \[[WEI]:"  # ONNX Runtime
    r"|^[WEIF]\d{4} [\d:.]+"  # gRPC and Abseil
    r"|^WARNING: All log messages before absl"
    r"|^(load_backend|ggml_|llama_)"  # llama.cpp
    r"|site-packages/",
    re.MULTILINE,
)


def ran(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """A command that ends well, in a process of its own."""
    run = [sys.executable, "-m", *map(str, command)]
    done = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "command",
    [
        ("quizglass_client.cli", "--help"),
        ("quizglass_server", "--help"),
        ("quizglass_export.cli", "--help"),
        ("quizglass_export.cli", "inspect", STARTER),
        ("quizglass_lab.cli", "--help"),
    ],
    ids=lambda command: " ".join(str(word) for word in command[:2]),
)
def test_helps_and_tables_come_without_a_library_s_lines(command: tuple[str | Path, ...]) -> None:
    done = ran(*command)
    assert done.stdout
    assert FOREIGN.findall(done.stdout) == []
    assert done.stderr == ""


def test_a_server_that_starts_and_answers_logs_lines_of_its_own(tmp_path: Path) -> None:
    shown, log = tmp_path / "thing.png", tmp_path / "server.log"
    shown.write_bytes(picture())
    serve = ["-m", "quizglass_server", "--bundle", STARTER, "--knowledge", tmp_path / "knowledge", "--port", "0"]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, *serve, "--log-format", "json"], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        assert server.stdout is not None
        try:
            ready = json.loads(server.stdout.readline())
            asked = ran("quizglass_client.cli", "--server", ready["address"], "ask", shown, "What colour is this?")
        finally:
            server.terminate()
        assert server.stdout.read() == ""
    assert (ready["event"], asked.stderr, FOREIGN.findall(asked.stdout)) == ("ready", "", [])
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert {record["logger"].partition(".")[0] for record in records} == {"quizglass_server"}
    assert [record["message"] for record in records if record["message"].startswith("llama-server: ")] == []


def test_a_build_prints_how_far_it_is_and_nothing_of_a_library(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("optimum")
    recipe = write_recipe(tmp_path)
    done = ran("quizglass_export.cli", "build", "--recipe", recipe, "--out", tmp_path / "out" / "bundle")
    assert "text_encoder" in done.stdout + done.stderr
    assert FOREIGN.findall(done.stdout + done.stderr) == []
