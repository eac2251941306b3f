"""`quizglass-server doctor` as a process."""

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.bundles.tiny_bundle import write_bundle

_LONG_S = 300


def _doctor(*arguments: str | Path, status: int = 0) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "quizglass_server.cli", "doctor", "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONG_S, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("doctor") / "bundle")


def test_it_starts_the_models_once_and_says_what_runs_them(bundle: Path, tmp_path: Path) -> None:
    findings = _doctor("--bundle", bundle, "--knowledge", tmp_path / "knowledge", "--port", "0")
    assert set(findings["bundle"]["values"]["roles"]) == set(findings["models"]["values"]["roles"])
    assert findings["policies"]["values"]["default"] == "planning-agent"
    assert findings["policies"]["values"]["not_served"]["draft-first"] == ["tool_router"]
    assert findings["policies"]["values"]["works_without"]["image"] == ["detector", "reader"]
    assert findings["models"]["values"]["roles"]["generator"] == "llama, cpu"
    assert findings["llama.cpp"]["values"]["in_use"]
    assert not (tmp_path / "knowledge").exists()


def test_without_settings_it_looks_at_the_machine_alone() -> None:
    findings = _doctor()
    assert findings["serving"]["status"] == "unknown"
    assert "--bundle" in findings["serving"]["remedy"]
    assert {"processor", "cores", "memory", "descriptors", "llama.cpp", "ONNX Runtime"} <= findings.keys()


def test_a_damaged_bundle_is_wrong_and_nothing_of_it_is_started(bundle: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(bundle, tmp_path / "bundle")
    (damaged / "prompts" / "plan.jinja").write_text("changed")
    findings = _doctor("--bundle", damaged, "--knowledge", tmp_path / "knowledge", "--port", "0", status=1)
    assert findings["bundle"]["status"] == "wrong"
    assert "plan.jinja" in findings["bundle"]["text"]
    assert "models" not in findings


def test_a_model_that_cannot_be_loaded_is_named(bundle: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(bundle, tmp_path / "bundle")
    manifest = json.loads((broken / "manifest.json").read_text())
    manifest["roles"]["generator"]["context"] = 4
    (broken / "manifest.json").write_text(json.dumps(manifest))
    findings = _doctor("--bundle", broken, "--knowledge", tmp_path / "knowledge", "--port", "0", status=1)
    assert findings["bundle"]["status"] == "ok"
    assert findings["models"]["status"] == "wrong"


def test_an_address_in_use_is_wrong(bundle: Path, tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        findings = _doctor("--bundle", bundle, "--knowledge", tmp_path / "knowledge", "--port", str(port), status=1)
    assert findings["address"]["status"] == "wrong"


def test_a_person_gets_a_table_with_remedies(bundle: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quizglass_server.cli", "doctor", "--bundle", str(tmp_path / "none")]
    command += ["--knowledge", str(tmp_path / "knowledge")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONG_S, check=False)
    assert done.returncode == 1
    assert "→" in done.stdout
    assert "wrong" in done.stdout
