"""Signed bundles: an Ed25519 signature of `manifest.json`, which has the hash of every other file, beside it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import stat
from importlib.util import find_spec
from pathlib import Path

from quizglass_bundle.errors import BundleError, SettingsError
from quizglass_bundle.fields import MANIFEST

SIGNATURE = "manifest.sig"
_PURPOSE = b"quizglass bundle manifest 1\n"
"""Before what is signed, so that a signature of this key for something else is none for a bundle."""
_PUBLIC = re.compile(b"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
_MOST_BYTES = 1 << 16


def sign(root: Path, key: Path, digest: str) -> None:
    """Sign a bundle that is whole.

    Args:
        root: the bundle's directory.
        key: file of the private key.
        digest: of the manifest whose files were compared, SHA-256 in hex.

    Raises:
        BundleError: the key is none, or the manifest is another one by now.
        OSError: a file cannot be read or written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise BundleError(f"{key}: no private key in PEM without a password ({error})") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise BundleError(f"{key}: not an Ed25519 key; make one: openssl genpkey -algorithm ed25519 -out key.pem")
    content = (root / MANIFEST).read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise BundleError(f"{MANIFEST}: it was changed while its files were compared; sign it again")
    signature = private.sign(_PURPOSE + content)
    (root / SIGNATURE).write_bytes(base64.b64encode(signature) + b"\n")


def check_signature(root: Path, content: bytes, keys: Path) -> None:
    """See that a manifest is signed by one of the keys in a file.

    Args:
        root: the bundle's directory.
        content: bytes of its manifest.
        keys: public keys, PEM, one after the other.

    Raises:
        BundleError: it is not.
        SettingsError: the file has no such key, or the package that checks is missing.
    """
    if find_spec("cryptography") is None:
        raise SettingsError("require_signature: cryptography is not installed; in the clone: pip install '.[tls]'")
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        loaded = [load_pem_public_key(pem) for pem in _PUBLIC.findall(keys.read_bytes())]
    except (OSError, ValueError) as error:
        raise SettingsError(f"require_signature: {keys}: {error}") from None
    trusted = [each for each in loaded if isinstance(each, Ed25519PublicKey)]
    if not trusted:
        raise SettingsError(f"require_signature: {keys} has no public key of Ed25519 in PEM")
    signature = _read(root / SIGNATURE)
    for key in trusted:
        try:
            key.verify(signature, _PURPOSE + content)
        except InvalidSignature:
            continue
        return
    raise BundleError(f"{SIGNATURE}: not made for this {MANIFEST} by a key of {keys}; take the bundle from its maker")


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat(follow_symlinks=False).st_mode):  # reading a pipe would never end
            raise BundleError(f"{SIGNATURE}: not a plain file")
        with path.open("rb") as file:
            return base64.b64decode(file.read(_MOST_BYTES).strip(), validate=True)
    except FileNotFoundError:
        raise BundleError(f"{SIGNATURE}: missing, and --require-signature asks for it: quizglass-export sign") from None
    except (OSError, binascii.Error) as error:
        raise BundleError(f"{SIGNATURE}: cannot be read: {error}; copy the bundle again") from None
