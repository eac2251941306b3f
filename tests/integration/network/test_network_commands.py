"""`quizglass-server tls` and `token`, and a server that is started with what they make."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from quizglass_client import Client, ServerUnavailable, Unauthenticated
from quizglass_client.cli import main as client
from quizglass_client.local import LocalServer
from quizglass_server.cli import main
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, load_tokens, made
from tests.support.bundles.tiny_bundle import write_bundle


@pytest.fixture
def tls(tmp_path, capsys):
    """A directory with a certificate of this machine."""
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    assert main(["tls", "init", str(tmp_path / "tls")]) == 0
    assert "authority.pem" in capsys.readouterr().out
    return tmp_path / "tls"


def test_a_token_is_printed_once_and_listed_without_what_is_secret(tmp_path, capsys):
    tokens = ["--tokens", str(tmp_path / "tokens")]
    assert main(["token", "add", "glasses", "--may", "ask, read", "--expires", "90d", *tokens]) == 0
    text = capsys.readouterr().out.strip()
    (record,) = load_tokens(tmp_path / "tokens").every
    assert load_tokens(tmp_path / "tokens").of(text) == record
    assert record.may == {"ask", "read"}
    assert timedelta(days=89) < record.expires - datetime.now(UTC) <= timedelta(days=90)
    assert main(["token", "list", *tokens]) == 0
    listed = capsys.readouterr().out
    assert re.match(rf"{record.id}  glasses  may ask, read  until \d{{4}}-", listed)
    assert text not in listed
    assert record.sha256 not in listed
    assert main(["token", "revoke", "glasses", *tokens]) == 0
    assert load_tokens(tmp_path / "tokens").every == ()


def test_the_file_of_tokens_is_found_where_the_server_finds_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("QUIZGLASS_TOKENS", str(tmp_path / "one"))
    assert main(["token", "add", "glasses", "--may", "ask"]) == 0
    assert load_tokens(tmp_path / "one").every
    monkeypatch.delenv("QUIZGLASS_TOKENS")
    config = tmp_path / "quizglass.toml"
    config.write_text(f'tokens = "{tmp_path / "two"}"\n')
    assert main(["token", "add", "glasses", "--may", "ask", "--config", str(config)]) == 0
    assert load_tokens(tmp_path / "two").every


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["token", "add", "glasses", "--may", "ask"], "tokens: required; give --tokens, QUIZGLASS_TOKENS"),
        (["token", "add", "glasses", "--may", "asking", "--tokens", "FILE"], "--may: 'asking' is none of ask, read,"),
        (["token", "add", "glasses", "--tokens", "FILE"], "required: --may"),
        (["token", "add", "a b", "--may", "ask", "--tokens", "FILE"], "'a b' is no name for a token"),
        (["token", "add", "a", "--may", "ask", "--expires", "soon", "--tokens", "FILE"], "'soon' is no time such as"),
        (["token", "add", "a", "--may", "ask", "--expires", "99999y", "--tokens", "FILE"], "too far away"),
        (["token", "revoke", "glasses", "--tokens", "FILE"], "No such file"),
        (["token", "add", "a", "--may", "ask", "--tokens", "FILE/none"], "No such file or directory"),
        (["token", "forget", "glasses"], "invalid choice: 'forget'"),
        (["token", "add", "a", "--expire", "9d"], "--expire: no such flag; did you mean --expires?"),
        (["tls", "init", "FILE", "--name", "a b"], "'a b' is neither the name of a host nor an address"),
    ],
)
def test_what_is_given_wrong_is_named(words, says, tmp_path, capsys):
    assert main([str(tmp_path / word) if word.startswith("FILE") else word for word in words]) == 2
    assert says in capsys.readouterr().err


def test_keys_are_this_users_alone_and_a_certificate_is_renewed_by_the_same_authority(tls, capsys):
    assert {path.name for path in tls.iterdir()} == {"authority.pem", "authority.key", "server.pem", "server.key"}
    for path in tls.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if path.suffix == ".key" else 0o644)
    before = {path.name: path.read_bytes() for path in tls.iterdir()}
    assert main(["tls", "init", str(tls), "--name", "192.0.2.7"]) == 0
    told = capsys.readouterr().out
    assert "192.0.2.7" in told
    after = {path.name: path.read_bytes() for path in tls.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"server.pem", "server.key"}


def names_of(certificate):
    from cryptography import x509

    names = x509.load_pem_x509_certificate(certificate.read_bytes()).extensions
    given = names.get_extension_for_class(x509.SubjectAlternativeName).value
    return {*given.get_values_for_type(x509.DNSName), *map(str, given.get_values_for_type(x509.IPAddress))}


def test_a_certificate_that_is_renewed_keeps_the_names_that_devices_call(tmp_path, capsys):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    folder = tmp_path / "tls"
    assert main(["tls", "init", str(folder), "--name", "glasses.example", "--name", "192.0.2.7"]) == 0
    before = names_of(folder / "server.pem")
    assert {"glasses.example", "192.0.2.7", "localhost"} <= before
    assert main(["tls", "init", str(folder), "--name", "192.0.2.8"]) == 0
    assert names_of(folder / "server.pem") == before | {"192.0.2.8"}
    (folder / "server.pem").write_text("no certificate")
    assert main(["tls", "init", str(folder)]) == 0
    assert "glasses.example" not in names_of(folder / "server.pem")


def test_a_machine_that_is_renamed_renews_its_certificate_and_is_warned(tls, capsys, monkeypatch):
    before = names_of(tls / "server.pem")
    monkeypatch.setattr(socket, "gethostname", lambda: "renamed")
    assert main(["tls", "init", str(tls)]) == 0
    assert "may not speak for renamed, which the certificate lacks; remove authority.pem" in capsys.readouterr().err
    assert names_of(tls / "server.pem") >= before | {"renamed.local"}


@pytest.mark.parametrize(
    ("host", "named"), [("living_room", {"living_room", "living_room.local"}), ("(none)", set()), ("a" * 64, set())]
)
def test_a_machine_with_an_unusual_name_gets_a_certificate(host, named, tmp_path, monkeypatch):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    assert main(["tls", "init", str(tmp_path / "tls")]) == 0
    given = names_of(tmp_path / "tls" / "server.pem")
    assert {name for name in given if host in name} == named
    assert {"localhost", "127.0.0.1"} <= given


def test_who_revokes_a_token_learns_which_devices_it_paired(tmp_path, capsys):
    file = TokenFile(tmp_path / "tokens")
    for record in (boss := made("boss", Permission, None)[1], made("other", Permission, None)[1]):
        file.add(record)
    phone = made("phone", [Permission.ASK], None, paired_by=boss.id)[1]
    file.add(phone)
    assert main(["token", "revoke", "boss", "--tokens", str(file.path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"revoked: {boss.id}  boss")
    assert told[1].startswith(f"still valid, paired by {boss.id}: {phone.id}  phone")
    assert len(told) == 2


def test_a_name_that_the_authority_may_not_speak_for_is_refused(tls, capsys):
    """Whoever steals its key cannot pass for the rest of the web."""
    before = (tls / "server.pem").read_bytes()
    assert main(["tls", "init", str(tls), "--name", "bank.example"]) == 2
    assert "may not speak for bank.example; remove authority.pem and authority.key" in capsys.readouterr().err
    assert (tls / "server.pem").read_bytes() == before


def test_an_authority_that_is_damaged_is_not_replaced_without_a_word(tls, capsys):
    (tls / "authority.key").write_bytes((tls / "server.key").read_bytes())
    assert main(["tls", "init", str(tls)]) == 2
    assert "is not the key of authority.pem" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["--host", "--web-host"])
def test_a_server_that_others_would_reach_unprotected_does_not_start(host, tmp_path):
    command = [sys.executable, "-m", "quizglass_server", "--bundle", write_bundle(tmp_path / "bundle")]
    flags = ["--knowledge", tmp_path / "knowledge", "--port", "0", "--web-port", "0", host, "0.0.0.0"]
    ended = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2
    assert "can be reached from other machines" in ended.stderr


def test_a_server_beyond_this_machine_with_certificate_and_tokens(tls, tmp_path, capsys):
    tokens = tmp_path / "tokens"
    assert main(["token", "add", "glasses", "--may", "ask", "--tokens", str(tokens)]) == 0
    token = tmp_path / "token"
    token.write_text(capsys.readouterr().out)
    flags = ["--host", "0.0.0.0", "--tls-cert", str(tls / "server.pem"), "--tls-key", str(tls / "server.key")]
    bundle, log = write_bundle(tmp_path / "bundle"), tmp_path / "log"
    with LocalServer(bundle, tmp_path / "knowledge", flags=[*flags, "--tokens", str(tokens)], log=log) as server:
        port = server.target.rpartition(":")[2]
        here = f"127.0.0.1:{port}"
        access = ["--server", here, "--ca", str(tls / "authority.pem")]
        assert client([*access, "health"]) == 0
        assert client([*access, "--token-file", str(token), "capabilities"]) == 0
        assert client([*access, "capabilities"]) == 1
        assert "--token-file FILE, or QUIZGLASS_TOKEN_FILE" in capsys.readouterr().err.replace("\n", " ")
        with pytest.raises(ServerUnavailable), Client(here, timeout=20) as clear:
            clear.capabilities()
        assert main(["token", "revoke", "glasses", "--tokens", str(tokens)]) == 0
        os.kill(server.pid, signal.SIGHUP)
        with Client(here, ca=tls / "authority.pem", token_file=token) as revoked, pytest.raises(Unauthenticated):
            _call_until_refused(revoked)
    assert '"tokens changed"' in log.read_text()


def _call_until_refused(client):
    while True:
        client.capabilities()
