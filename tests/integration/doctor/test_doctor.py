"""`quizglass-server doctor` as a process."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quizglass_server.knowledge.database.schema import FILE
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.bundles.tiny_models import write_llama
from tests.support.knowledge.stores import add, another

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
    assert findings["policies"]["values"]["default"] == "planning-agent+"
    assert findings["policies"]["values"]["not_served"]["draft-first"] == ["tool_router"]
    assert findings["policies"]["values"]["works_without"]["image"] == ["detector", "reader"]
    assert findings["models"]["values"]["roles"]["generator"] == "llama, cpu"
    assert findings["executors"]["values"]["executors"] == {"cpu": list(findings["models"]["values"]["roles"])}
    assert findings["executors"]["text"].startswith("cpu ran planner, reranker")
    assert findings["ONNX Runtime"]["text"].startswith("offers ")
    assert findings["llama.cpp"]["values"]["in_use"]
    assert not (tmp_path / "knowledge").exists()


def test_memory_is_counted_for_the_generator_that_is_named_and_not_for_the_bundles_own(
    bundle: Path, tmp_path: Path
) -> None:
    files = json.loads((bundle / "manifest.json").read_text())["files"]
    others = sum(entry["bytes"] for name, entry in files.items() if not name.endswith(".gguf"))
    model = write_llama(tmp_path / "model.gguf", words=20_000)
    for arguments, beside in ((("--bundle", bundle), others), ((), 0)):
        findings = _doctor(*arguments, "--generator", model, "--knowledge", tmp_path / "knowledge", "--port", "0")
        assert findings["memory"]["values"]["needed_bytes"] == beside + model.stat().st_size


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
    assert findings["bundle"]["remedy"] == "copy it again"
    assert "models" not in findings


def test_a_model_that_cannot_be_loaded_is_named(bundle: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(bundle, tmp_path / "bundle")
    manifest = json.loads((broken / "manifest.json").read_text())
    manifest["roles"]["generator"]["context"] = 1 << 40  # no machine has the memory
    (broken / "manifest.json").write_text(json.dumps(manifest))
    findings = _doctor("--bundle", broken, "--knowledge", tmp_path / "knowledge", "--port", "0", status=1)
    assert findings["bundle"]["status"] == "ok"
    assert findings["models"]["status"] == "wrong"


def test_a_store_that_a_process_has_open_or_that_is_damaged_is_wrong(tmp_path: Path) -> None:
    asyncio.run(add(tmp_path / "damaged", "a", "b"))
    os.truncate(tmp_path / "damaged" / FILE, 10_000)
    asyncio.run(add(tmp_path / "open", "a"))
    arguments = ("--bundle", tmp_path / "none", "--port", "0")  # no models are started
    with another("write", tmp_path / "open", 1) as child:
        assert child.stdout.readline() == "open\n"
        found = _doctor(
            *arguments, "--knowledge", tmp_path / "open", "--memory-directory", tmp_path / "damaged", status=1
        )
    assert (found["knowledge"]["status"], found["visual memory"]["status"]) == ("wrong", "wrong")
    assert found["knowledge"]["text"].endswith(f"{tmp_path / 'open'} is in use by another server (process {child.pid})")
    assert found["knowledge"]["remedy"] == "stop that server or give this one another directory"
    assert str(tmp_path / "damaged") in found["visual memory"]["text"]
    assert "quizglass knowledge repair" in found["visual memory"]["remedy"]


def test_a_store_of_another_bundle_is_told_to_be_embedded_anew(bundle: Path, tmp_path: Path) -> None:
    asyncio.run(add(tmp_path / "knowledge", "a", "b"))
    findings = _doctor("--bundle", bundle, "--knowledge", tmp_path / "knowledge", "--port", "0")
    assert findings["knowledge"]["values"]["entries"] == 2
    vectors = findings["vectors of the knowledge"]
    assert (vectors["status"], vectors["values"]) == ("slow", {"kind": "chunks", "count": 2})
    assert "another encoder than the bundle's text_encoder has embedded: 2" in vectors["text"]
    assert "embeds them anew in the background" in vectors["remedy"]


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
