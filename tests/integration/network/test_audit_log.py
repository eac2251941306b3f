"""The audit log: a file of its own, with a line for each change, and none of the content."""

import json
import os
import pwd
import signal
import stat
import time
from pathlib import Path

import grpc
import pytest

from quizglass.v1 import pairing_pb2, pairing_pb2_grpc
from quizglass_client import Client, Entry, InvalidRequest, NotPermitted, Unauthenticated
from quizglass_client.local import LocalServer
from quizglass_client.pairing import PairingLink
from quizglass_server.cli import main
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, load_tokens, made
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.tls import certificate


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


def test_commands_add_lines_beside_a_running_server(tmp_path, capsys, monkeypatch):
    tokens, audit, config = tmp_path / "tokens", tmp_path / "audit.jsonl", tmp_path / "quizglass.toml"
    config.write_text(f'tokens = "{tokens}"\naudit_log = "{audit}"\n')
    assert main(["token", "add", "lead", "--may", "write,read", "--config", str(config)]) == 0
    text = capsys.readouterr().out.strip()
    (lead,) = load_tokens(tokens).every
    flags = ["--config", str(config)]
    with (
        LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as server,
        Client(server.target, token=text) as client,
    ):
        assert main(["token", "pair", "glasses", "--may", "read", "--config", str(config)]) == 0
        client.add_entries([Entry("a", "Canary", "Canary sings.")])
        monkeypatch.setenv("QUIZGLASS_CONFIG", str(config))
        assert main(["token", "quota", "turns=2", "--tenant", "north"]) == 0
        assert main(["token", "revoke", "stranger"]) == 2
        assert main(["token", "list"]) == 0
        client.delete_entry("a")
        assert main(["token", "revoke", "lead"]) == 0
    own = [line for line in lines(audit) if line.get("peer") == "command line"]
    assert {line["user"] for line in own} == {pwd.getpwuid(os.geteuid()).pw_name}
    assert [(line["command"], line["message"]) for line in own] == [
        ("token add", "token added"),
        ("token pair", "pairing offered"),
        ("token quota", "quota set"),
        ("token revoke", "change failed"),
        ("token revoke", "token revoked"),
    ]
    added, offered, limited, failed, revoked = own
    assert (added["added"], added["ids"], added["may"], added["count"]) == (["lead"], [lead.id], ["read", "write"], 1)
    assert (offered["device"], offered["may"]) == ("glasses", ["read"])
    assert (limited["tenant"], limited["quota"]) == ("north", "turns=2")
    assert failed["code"] == "SETTING_INVALID"
    assert (revoked["revoked"], revoked["ids"], revoked["count"]) == (["lead"], [lead.id], 1)
    messages = [line["message"] for line in lines(audit)]
    assert {"serving", "entries added", "entry deleted"} <= set(messages)
    assert messages.index("quota set") < messages.index("entry deleted") < messages.index("token revoked")
    assert text not in audit.read_text()
    assert lead.sha256 not in audit.read_text()


def test_whose_device_was_paired_is_in_the_audit_log(tmp_path, capsys):
    """Several tenants may call theirs alike, and a device that redeems a code has no token yet that would say whose."""
    tokens, audit = tmp_path / "tokens", tmp_path / "audit.jsonl"
    links = []
    for tenant in ("north", "south"):
        offer = ["token", "pair", "glasses", "--may", "ask", "--tenant", tenant, "--tokens", str(tokens)]
        assert main(offer) == 0
        links.append(PairingLink.of(capsys.readouterr().out.strip()))
    flags = ["--tokens", str(tokens), "--audit-log", str(audit), "--tenants", str(tmp_path / "tenants")]
    with (
        LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        redeem = pairing_pb2_grpc.PairingServiceStub(channel).RedeemPairing
        redeem(pairing_pb2.RedeemPairingRequest(code=links[1].code))
        for _ in range(5):
            with pytest.raises(grpc.RpcError):
                redeem(pairing_pb2.RedeemPairingRequest(code=f"{links[0].code[:4]}-0000-0000"))
    (device,) = load_tokens(tokens).every
    told = {line["message"]: line for line in lines(audit)}
    paired, ended = told["device paired"], told["too many wrong tries at a code"]
    assert (paired["device"], paired["tenant"], paired["ids"]) == ("glasses", "south", [device.id])
    assert (ended["device"], ended["tenant"]) == ("glasses", "north")
    assert told["a call without a valid token is refused"]["client"] == "127.0.0.1"


def test_a_certificate_that_is_issued_is_in_the_audit_log(tmp_path):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    audit = tmp_path / "audit.jsonl"
    assert main(["tls", "init", str(tmp_path / "tls"), "--audit-log", str(audit)]) == 0
    (line,) = lines(audit)
    assert (line["message"], line["file"]) == ("certificate issued", str(tmp_path / "tls" / "server.pem"))
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600


def test_what_cannot_be_used_at_a_reload_is_in_the_audit_log(tmp_path):
    shown, audit, config = certificate(tmp_path), tmp_path / "audit.jsonl", tmp_path / "quizglass.toml"
    tokens = tmp_path / "tokens"
    TokenFile(tokens).add(made("reader", [Permission.READ], None)[1])
    given = {"tokens": tokens, "audit_log": audit, "tls_cert": shown.path, "tls_key": shown.key}
    config.write_text("".join(f'{name} = "{path}"\n' for name, path in given.items()))
    spoilt = {
        "the tokens stay as they were": (tokens, "is no whole file of tokens"),
        "the certificate stays as it was": (shown.key, "is no file of PEM"),
        "the settings stay as they were": (config, "not valid TOML"),
    }
    flags = ["--config", str(config)]
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as server:
        for message, (path, why) in spoilt.items():
            path.write_text("{")
            os.kill(server.pid, signal.SIGHUP)
            line = awaited(audit, message)
            assert (line["level"], why in line["why"]) == ("error", True)


def awaited(audit, message):
    """The first line with a message, once there is one."""
    while not (found := [line for line in lines(audit) if line["message"] == message]):
        time.sleep(0.05)
    return found[0]


def test_a_command_changes_nothing_that_it_cannot_write_down(tmp_path, capsys):
    tokens = tmp_path / "tokens"
    words = ["token", "add", "lead", "--may", "read", "--tokens", str(tokens)]
    assert main([*words, "--audit-log", str(tmp_path / "no" / "file")]) == 2
    assert "audit_log:" in capsys.readouterr().err
    assert not tokens.exists()


def test_a_command_warns_of_a_change_that_the_full_disk_keeps_out_of_the_audit_log(tmp_path, caplog):
    tokens = tmp_path / "tokens"
    words = ["token", "add", "lead", "--may", "read", "--tokens", str(tokens)]
    assert main([*words, "--audit-log", "/dev/full"]) == 0
    assert "token added is not in the audit log" in caplog.text
    assert [each.name for each in load_tokens(tokens).every] == ["lead"]


def test_a_server_goes_on_where_its_audit_log_cannot_be_begun_anew(tmp_path):
    (tmp_path / "logs").mkdir()
    log, flags = tmp_path / "log", ["--audit-log", str(tmp_path / "logs" / "audit.jsonl")]
    with (
        LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags, log=log) as server,
        Client(server.target) as client,
    ):
        (tmp_path / "logs").rename(tmp_path / "away")
        client.add_entries([Entry("a", "Canary", "Canary sings.")])
        assert "the audit log cannot be written" in log.read_text()
        (tmp_path / "logs").mkdir()
        client.delete_entry("a")
    assert [line["message"] for line in lines(tmp_path / "logs" / "audit.jsonl")] == ["entry deleted"]


def test_a_server_goes_on_where_a_full_disk_keeps_what_was_moved_away(tmp_path):
    """Lines that the file did not take wait in the server, and cannot be written once it was moved away either."""
    audit, log = tmp_path / "audit.jsonl", tmp_path / "log"
    audit.symlink_to("/dev/full")
    flags = ["--audit-log", str(audit)]
    with (
        LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags, log=log) as server,
        Client(server.target) as client,
    ):
        client.add_entries([Entry("a", "Canary", "Canary sings.")])
        assert "the audit log cannot be written" in log.read_text()
        audit.unlink()
        client.delete_entry("a")
    assert [line["message"] for line in lines(audit)] == ["entry deleted"]


def test_a_file_that_cannot_be_written_is_named_at_the_start(tmp_path, capsys):
    bundle = write_bundle(tmp_path / "bundle")
    flags = ["--bundle", str(bundle), "--knowledge", str(tmp_path / "k"), "--audit-log", str(tmp_path / "no" / "file")]
    assert main(flags) == 2
    assert "audit_log:" in capsys.readouterr().err
