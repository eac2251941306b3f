"""What a bundle's names can do to the terminal of whoever runs it: nothing."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from quizglass_server.config.logs import HumanFormatter
from tests.support.bundles.tiny_bundle import write_bundle

NAME = "safe\x1b]0;pwned\x07\x1b[2J\x9b31m\u202egnp"
STEERING = ("\x1b", "\x07", "\x9b", "\u202e", "\r", "\x08")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_bundle(tmp_path_factory.mktemp("terminal") / "bundle")
    manifest = root / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**content, "name": NAME, "version": f"1{NAME}"}), encoding="utf-8")
    return root


def printed(*command: str | Path, status: int = 0) -> str:
    run = [sys.executable, "-m", *map(str, command)]
    done = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == status, output
    assert [each for each in STEERING if each in output] == []
    assert "safe" in output
    return output


def test_the_doctors_table_is_plain(bundle: Path, tmp_path: Path) -> None:
    knowledge = ("--knowledge", tmp_path / "knowledge", "--port", "0", "--provider", "cpu")
    printed("quizglass_server.cli", "doctor", "--bundle", bundle, *knowledge)


def test_what_ends_a_server_is_plain(bundle: Path, tmp_path: Path) -> None:
    flags = ("--knowledge", tmp_path / "knowledge", "--default-policy", "qa-dragon+", "--port", "0")
    printed("quizglass_server", "--bundle", bundle, *flags, status=2)


def test_an_error_in_a_manifest_is_plain(bundle: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    content = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    (odd / "manifest.json").write_text(json.dumps({**content, NAME: 1}), encoding="utf-8")
    for command in (
        ("quizglass_server", "--bundle", odd, "--knowledge", tmp_path),
        ("quizglass_export.cli", "inspect", odd),
    ):
        printed(*command, status=3 if command[0] == "quizglass_server" else 2)


def test_the_exporters_tables_are_plain(bundle: Path) -> None:
    printed("quizglass_export.cli", "inspect", bundle)


def test_a_traceback_in_the_log_is_plain() -> None:
    try:
        raise ValueError(NAME)
    except ValueError:
        record = logging.LogRecord("", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    text = HumanFormatter().format(record)
    assert "pwned" in text
    assert [each for each in STEERING if each in text] == []
