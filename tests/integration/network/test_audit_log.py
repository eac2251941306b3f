"""The audit log: a file of its own, with a line for each change, and none of the content."""

import json
import stat
from pathlib import Path

import pytest

from quizglass_client import Client, Entry, InvalidRequest, NotPermitted, Unauthenticated
from quizglass_client.local import LocalServer
from quizglass_server.cli import main
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from tests.support.bundles.tiny_bundle import write_bundle


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_changes_and_refusals_are_in_the_audit_log_whatever_the_level_of_the_log(tmp_path):
    texts = {}
    for name, may in {"writer": [Permission.WRITE, Permission.READ], "asker": [Permission.ASK]}.items():
        texts[name], token = made(name, may, None)
        TokenFile(tmp_path / "tokens").add(token)
    audit, log = tmp_path / "audit.jsonl", tmp_path / "log"
    flags = ["--tokens", str(tmp_path / "tokens"), "--audit-log", str(audit), "--log-level", "error"]
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags, log=log) as server:
        with Client(server.target, token=texts["writer"]) as writer:
            writer.add_entries([Entry("a", "Canary", "Canary sings.")])
            assert [entry.id for entry in writer.list_entries()] == ["a"]
            audit.rename(tmp_path / "rotated.jsonl")
            writer.delete_entry("a")
            with pytest.raises(InvalidRequest):
                writer.delete_entry("x" * 300)
        with Client(server.target, token=texts["asker"]) as asker, pytest.raises(NotPermitted):
            asker.delete_entry("a")
        with Client(server.target) as stranger, pytest.raises(Unauthenticated):
            stranger.delete_entry("a")
    before, after = lines(tmp_path / "rotated.jsonl"), lines(audit)
    assert [line["message"] for line in before] == ["serving", "entries added", "entries listed"]
    assert [line["message"] for line in after] == [
        "entry deleted",
        "change failed",
        "a call that its token does not allow is refused",
        "a call without a valid token is refused",
    ]
    assert [line.get("caller") for line in after] == ["writer", "writer", "asker", None]
    assert after[1]["code"] == "INVALID_FIELD"
    whole = audit.read_text() + (tmp_path / "rotated.jsonl").read_text()
    assert not any(secret in whole for secret in ("anary", *texts.values()))
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600
    assert log.read_text() == ""


def test_a_file_that_cannot_be_written_is_named_at_the_start(tmp_path, capsys):
    bundle = write_bundle(tmp_path / "bundle")
    flags = ["--bundle", str(bundle), "--knowledge", str(tmp_path / "k"), "--audit-log", str(tmp_path / "no" / "file")]
    assert main(flags) == 2
    assert "audit_log:" in capsys.readouterr().err
