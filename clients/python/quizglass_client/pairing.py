"""Pairing: how a device without a token gets one, from the link or the code that an operator shows it.

A link is https://HOST:PORT/#code=CODE&grpc=PORT&sha256=HEX, or quizglass://HOST:PORT/#code=CODE&sha256=HEX of a server
without a page. `sha256` is the fingerprint of the certificate that the server will show: it is compared before anything
is said, and the authority that comes back with the token is trusted from then on.
"""

from __future__ import annotations

import json
import ssl
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

import grpc

from quizglass import PORT
from quizglass.v1 import pairing_pb2, pairing_pb2_grpc
from quizglass_client.access import Access, is_local, tls
from quizglass_client.channel import open_channel
from quizglass_client.errors import InvalidRequest, ServerUnavailable, translated
from quizglass_client.files import read_file, write_private

_SCHEMES = ("https", "http", "quizglass")
_PORTS = {"https": 443, "http": 80, "quizglass": PORT}
_MOST_BYTES = 1 << 20
_LONGEST_LINK = 4096


@dataclass(frozen=True, slots=True)
class PairingLink:
    """What a link says."""

    target: str
    """Address for gRPC, "host:port"."""
    code: str = field(repr=False)
    fingerprint: str = ""
    """SHA-256 of the server's certificate, hexadecimal; empty: public authorities vouch for it."""
    encrypted: bool = True

    @classmethod
    def of(cls, text: str) -> Self:
        """Read one.

        Raises:
            InvalidRequest: it is none.
        """
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
            said = {name: values[-1] for name, values in parse_qs(parts.fragment, max_num_fields=8).items()}
            port = int(said.get("grpc", port))
            fingerprint = said.get("sha256", "").replace(":", "").lower()
            right = len(bytes.fromhex(fingerprint)) in (0, sha256().digest_size) and 0 < port < 1 << 16
        except ValueError:
            right = False
        if not right or len(text) > _LONGEST_LINK or parts.scheme not in _SCHEMES or not host or not said.get("code"):
            raise InvalidRequest.of("link", "is none for pairing, which is https://HOST:PORT/#code=… or quizglass://…")
        name = f"[{host}]" if ":" in host else host
        encrypted = parts.scheme == "https" or bool(fingerprint)
        return cls(f"{name}:{port}", said["code"], fingerprint, encrypted)


@dataclass(frozen=True, slots=True)
class Paired:
    """What a device keeps."""

    target: str
    """Address of the server."""
    token: str = field(repr=False)
    name: str
    """That the operator gave the device."""
    may: tuple[str, ...] = ()
    """What the token allows."""
    expires: int = 0
    """When the token expires, in seconds since 1970-01-01 UTC; 0: never."""
    encrypted: bool = True
    authority: str = ""
    """To trust, PEM; empty where public authorities vouch for the server."""

    @property
    def access(self) -> Access:
        """What goes to the server with every call."""
        credentials = tls(self.authority.encode() or None) if self.encrypted else None
        return Access(credentials, [("authorization", f"Bearer {self.token}")])

    def save(self, path: Path) -> None:
        """Write it to a file that this user alone can read. Raises OSError."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """Read such a file; None: there is none. Raises InvalidRequest: it does not hold what it should."""
        try:
            said = json.loads(read_file(path, _MOST_BYTES))
            return cls(**{**said, "may": tuple(said["may"])})
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            raise InvalidRequest.of(
                "pairing", f"{path} does not hold what `quizglass pair` writes; remove it"
            ) from None


def pair(link: PairingLink, *, access: Access | None = None, timeout: float = 30.0) -> Paired:
    """Get the token that a link is good for. Its code is then spent.

    Args:
        link: what the operator shows, as `PairingLink.of` reads it.
        access: TLS of a server whose certificate is trusted already, in place of the link's fingerprint.
        timeout: seconds.

    Raises:
        InvalidRequest: the link would send its code in clear, or the server shows another certificate than it names.
        ClientError: the code is not valid, or the server does not answer.
    """
    access = access or Access(_credentials(link, timeout) if link.encrypted else None)
    if access.credentials is None and not is_local(link.target):
        raise InvalidRequest.of("link", f"would send the code to {link.target} in clear; have one of https://")
    with open_channel(link.target, access=access) as channel, translated():
        stub = pairing_pb2_grpc.PairingServiceStub(channel)  # type: ignore[no-untyped-call]
        said = stub.RedeemPairing(pairing_pb2.RedeemPairingRequest(code=link.code), timeout=timeout)
    encrypted = access.credentials is not None
    return Paired(link.target, said.token, said.name, tuple(said.may), said.expires, encrypted, said.authority)


def _credentials(link: PairingLink, timeout: float) -> grpc.ChannelCredentials:
    """TLS with the one certificate that the link names."""
    if not link.fingerprint:
        return tls()
    host, _, port = link.target.rpartition(":")
    try:
        shown = ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=timeout)
    except OSError as error:
        raise ServerUnavailable(f"{link.target} does not answer over TLS: {error}", status="UNAVAILABLE") from error
    if sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest() != link.fingerprint:
        told = f"names another certificate than {link.target} shows: it is not that server, or the link is an old one"
        raise InvalidRequest.of("link", told)
    return tls(shown.encode())
