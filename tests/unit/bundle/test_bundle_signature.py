"""Signed bundles: who signs, and a server that loads no other."""

import os
import subprocess
import sys

import pytest

from quizglass_bundle.files import Bundle
from quizglass_bundle.signature import sign
from quizglass_export.cli import main as export
from quizglass_server.errors import BundleError, SettingsError
from tests.support.bundles.tiny_bundle import write_bundle

pytest.importorskip("cryptography", reason="the extra tls is not installed")


def keys(folder, name):
    """Files of a private key and its public one."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.key", folder / f"{name}.pem"
    pem, clear = serialization.Encoding.PEM, serialization.NoEncryption()
    private.write_bytes(made.private_bytes(pem, serialization.PrivateFormat.PKCS8, clear))
    public.write_bytes(made.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.fixture
def bundle(tmp_path):
    return write_bundle(tmp_path / "bundle")


@pytest.fixture
def maker(tmp_path):
    return keys(tmp_path, "maker")


def test_a_signed_bundle_is_loaded_and_may_be_by_any_of_several_keys(bundle, maker, tmp_path, capsys):
    private, public = maker
    assert export(["sign", str(bundle), "--key", str(private)]) == 0
    assert "manifest.sig" in capsys.readouterr().out
    assert Bundle.load(bundle, signers=public).digest == Bundle.load(bundle).digest
    both = tmp_path / "both.pem"
    both.write_bytes(keys(tmp_path, "other")[1].read_bytes() + public.read_bytes())
    assert Bundle.load(bundle, signers=both)


def test_a_bundle_without_a_signature_or_with_another_is_not(bundle, maker, tmp_path):
    private, public = maker
    with pytest.raises(BundleError, match="missing"):
        Bundle.load(bundle, signers=public)
    assert export(["sign", str(bundle), "--key", str(keys(tmp_path, "other")[0])]) == 0
    with pytest.raises(BundleError, match="not made for this"):
        Bundle.load(bundle, signers=public)
    assert export(["sign", str(bundle), "--key", str(private)]) == 0
    manifest = bundle / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(BundleError, match="not made for this"):
        Bundle.load(bundle, signers=public)


@pytest.mark.parametrize("content", [b"", b"!!!", b"AAAA", b"A" * 100_000, b"\xff"])
def test_what_is_no_signature_is_refused(bundle, maker, content):
    (bundle / "manifest.sig").write_bytes(content)
    with pytest.raises(BundleError, match=r"manifest\.sig"):
        Bundle.load(bundle, signers=maker[1])


def test_a_pipe_in_place_of_a_signature_is_refused_without_reading_it(bundle, maker):
    os.mkfifo(bundle / "manifest.sig")
    code = "import sys; from pathlib import Path; from quizglass_bundle.files import Bundle\n"
    code += "Bundle.load(Path(sys.argv[1]), signers=Path(sys.argv[2]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, bundle, maker[1]], capture_output=True, text=True, timeout=60, check=False
    )
    assert "BundleError: manifest.sig: not a plain file" in ended.stderr


def test_a_manifest_that_changed_while_its_files_were_compared_is_not_signed(bundle, maker):
    compared = Bundle.load(bundle)
    manifest = bundle / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(BundleError, match="was changed"):
        sign(bundle, maker[0], compared.digest)
    assert not (bundle / "manifest.sig").exists()


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_keys_that_are_none_are_named(bundle, tmp_path, content):
    file = tmp_path / "keys.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"require_signature: .*keys\.pem"):
        Bundle.load(bundle, signers=file)


def test_a_key_that_signs_nothing_is_named(bundle, maker, tmp_path, capsys):
    for name in ("nothing.key", maker[1].name):
        assert export(["sign", str(bundle), "--key", str(tmp_path / name)]) == 2
        assert name in capsys.readouterr().err
    assert not (bundle / "manifest.sig").exists()


def test_a_server_that_requires_a_signature_ends_before_it_loads_anything(bundle, maker, tmp_path):
    command = [sys.executable, "-m", "quizglass_server", "--bundle", bundle, "--knowledge", tmp_path / "knowledge"]
    flags = ["--port", "0", "--require-signature", maker[1]]
    ended = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 3
    assert "manifest.sig: missing" in ended.stderr
