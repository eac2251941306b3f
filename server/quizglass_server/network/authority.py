"""An authority of this machine's own, and certificates that it issues, for servers that no public authority knows."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from quizglass_server.errors import SettingsError
from quizglass_server.network.files import replace_file
from quizglass_server.network.pairing import own_addresses

AUTHORITY, AUTHORITY_KEY = "authority.pem", "authority.key"
CERTIFICATE, KEY = "server.pem", "server.key"
_AUTHORITY_DAYS = 3650
DAYS = 397
"""Devices of some makers take no certificate that is valid for much longer."""
_BEFORE = timedelta(hours=1)
"""Clocks differ."""
_LOCAL = ("localhost", "local")
_READABLE = 0o644
_LABEL = 63
"""Characters between two dots at most."""
_BESIDE_LETTERS = str.maketrans("", "", "-_")
ANOTHER_AUTHORITY = (
    f"remove {AUTHORITY} and {AUTHORITY_KEY} there to have another one made, which every device has to trust anew"
)
Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Issued:
    """What was made."""

    names: tuple[str, ...]
    """Of the machine, in the certificate."""
    left_out: tuple[str, ...]
    """Names of the machine, or of the certificate before, that the authority may not speak for."""
    expires: datetime
    fingerprint: str
    """SHA-256 of the authority's certificate, as devices show it."""
    new_authority: bool
    """Whether devices have to be made to trust it."""


def issue(directory: Path, more_names: Iterable[str] = ()) -> Issued:
    """Make a certificate for this machine's names and addresses, and an authority before it where there is none.

    Args:
        directory: made if it does not exist. Names of a certificate that is there are kept.
        more_names: that the server is called by: names of hosts, or addresses.

    Raises:
        SettingsError: it cannot be written or read, or the authority that is there may not speak for one of these.
    """
    wanted = _sorted(more_names)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        hosts, addresses = _sorted({*_own_names(), *_names_before(directory), *more_names})
        new = not (directory / AUTHORITY).exists()
        authority, key = _make_authority(directory, hosts) if new else _load_authority(directory)
        left_out = tuple(_beyond(authority, hosts))
        for host in set(left_out).intersection(wanted[0]):
            raise SettingsError(f"the authority in {directory} may not speak for {host}; {ANOTHER_AUTHORITY}")
        hosts = [host for host in hosts if host not in left_out]
        expires = _make_certificate(directory, authority, key, hosts, addresses)
    except OSError as error:
        raise SettingsError(f"{error.filename or directory}: {error.strerror or error}") from error
    print_ = authority.fingerprint(hashes.SHA256()).hex(":").upper()
    return Issued((*hosts, *map(str, addresses)), left_out, expires, print_, new)


def _own_names() -> Iterator[str]:
    """Names and addresses by which this machine may be called; nothing is sent to find them."""
    yield from ("localhost", "127.0.0.1", "::1")
    host = socket.gethostname()
    if _host(host):  # a system calls itself what it likes
        yield host
        if "." not in host:
            yield f"{host}.local"
    with suppress(OSError, ValueError):
        for _, _, _, _, address in socket.getaddrinfo(host, None):
            yield str(address[0]).partition("%")[0]
    yield from own_addresses()


def _names_before(directory: Path) -> Iterator[str]:
    """Names and addresses in the certificate that is there; none where it cannot be read."""
    with suppress(OSError, ValueError, x509.ExtensionNotFound):
        certificate = x509.load_pem_x509_certificate((directory / CERTIFICATE).read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        yield from filter(_host, names.get_values_for_type(x509.DNSName))
        yield from map(str, names.get_values_for_type(x509.IPAddress))


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _sorted(names: Iterable[str]) -> tuple[list[str], list[Address]]:
    """Names of hosts, and addresses. Raises SettingsError: one is neither."""
    hosts, addresses = set(), set()
    for name in names:
        try:
            addresses.add(ipaddress.ip_address(name))
            continue
        except ValueError:
            pass
        if not (host := _host(name)):
            raise SettingsError(f"--name {name[:80]!r} is neither the name of a host nor an address")
        hosts.add(host)
    return sorted(hosts), sorted(addresses, key=str)


def _host(name: str) -> str:
    """A host's name as certificates have it; empty: it is none."""
    try:
        x509.DNSName(name)
        plain = name.encode("ascii").decode().lower().rstrip(".")
    except ValueError:
        return ""
    labels = plain.removeprefix("*.").split(".")
    return plain if all(len(each) <= _LABEL and each.translate(_BESIDE_LETTERS).isalnum() for each in labels) else ""


def _make_authority(directory: Path, hosts: Iterable[str]) -> tuple[x509.Certificate, Key]:
    """It may speak for these hosts and local names alone: who steals its key cannot pass for the rest of the web."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"quizglass on {socket.gethostname()}"[:64])])
    permitted = [x509.DNSName(host) for host in sorted({*_LOCAL, *(host.removeprefix("*.") for host in hosts)})]
    certificate = (
        _builder(name, name, key.public_key(), _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
        .sign(key, hashes.SHA256())
    )
    replace_file(directory / AUTHORITY_KEY, _pem(key))
    replace_file(directory / AUTHORITY, certificate.public_bytes(Encoding.PEM), _READABLE)
    return certificate, key


def _load_authority(directory: Path) -> tuple[x509.Certificate, Key]:
    try:
        certificate = x509.load_pem_x509_certificate((directory / AUTHORITY).read_bytes())
        key = load_pem_private_key((directory / AUTHORITY_KEY).read_bytes(), None)
    except (ValueError, TypeError) as error:
        told = f"{directory / AUTHORITY} and {AUTHORITY_KEY} are no authority ({error}); remove both to have one made"
        raise SettingsError(told) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise SettingsError(f"{directory / AUTHORITY_KEY} is not the key of {AUTHORITY}; remove both to have one made")
    return certificate, key


def _beyond(authority: x509.Certificate, hosts: Iterable[str]) -> Iterator[str]:
    """The hosts that an authority may not speak for."""
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    permitted = [name.value for name in constraints.permitted_subtrees or ()]
    for host in hosts:
        bare = host.removeprefix("*.")
        if not any(bare == name or bare.endswith(f".{name}") for name in permitted):
            yield host


def _make_certificate(
    directory: Path, authority: x509.Certificate, signing: Key, hosts: Iterable[str], addresses: Iterable[Address]
) -> datetime:
    """Issue a certificate with a key of its own; when it expires."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [*map(x509.DNSName, hosts), *map(x509.IPAddress, addresses)]
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "quizglass")])
    issuer = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    certificate = (
        _builder(name, authority.subject, key.public_key(), DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False)
        .sign(signing, hashes.SHA256())
    )
    replace_file(directory / KEY, _pem(key))
    chain = certificate.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM)
    replace_file(directory / CERTIFICATE, chain, _READABLE)
    return certificate.not_valid_after_utc


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
