"""The server's certificate: read from its files, tried, and replaced while the server runs."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from quizglass_server.config.settings import NetworkOptions
from quizglass_server.errors import SettingsError

_MOST_BYTES = 1 << 20
_READS = 5
_ROUNDS = 16
_HTTP = "http/1.1"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that works: its key fits, and a client that trusts it can connect now."""

    chain: bytes
    """PEM, the server's own certificate first."""
    key: bytes = field(repr=False)
    """PEM."""
    client_authorities: bytes | None
    """PEM of the authorities whose certificates clients have to show; None: they need none."""
    context: ssl.SSLContext = field(repr=False)
    """For the listener of HTTP."""
    expires: datetime


class ServerTls:
    """The certificate that new connections are shown. Connections that are open keep the one they were shown.

    Raises:
        SettingsError: as `reload`.
    """

    def __init__(self, options: NetworkOptions) -> None:
        self._options = options
        self.current = _load(options)

    @property
    def files(self) -> tuple[Path, ...]:
        """Whose change makes a reload due."""
        given = (self._options.tls_cert, self._options.tls_key, self._options.tls_client_ca)
        return tuple(path for path in given if path is not None)

    def reload(self) -> bool:
        """Read the files again; whether they hold another certificate.

        Raises:
            SettingsError: what is there cannot be used; the certificate stays as it is.
        """
        found, now = _load(self._options), self.current
        if (found.chain, found.key, found.client_authorities) == (now.chain, now.key, now.client_authorities):
            return False
        self.current = found
        return True


def _load(options: NetworkOptions) -> Certificate:
    """The certificate in the files. They are read until they are found unchanged: they may be about to be replaced."""
    certificate, key = options.tls_cert, options.tls_key
    if certificate is None or key is None:
        raise SettingsError("tls_cert, tls_key: one is no use without the other; give both")
    for _ in range(_READS):
        chain, secret = _read(certificate, "tls_cert"), _read(key, "tls_key")
        context = _context(certificate, key)
        if (chain, secret) == (_read(certificate, "tls_cert"), _read(key, "tls_key")):
            break
    else:
        raise SettingsError(f"tls_cert, tls_key: {certificate} and {key} change all the time")
    expires = _expiry(context, chain, certificate)
    authorities = None
    if options.tls_client_ca is not None:
        authorities = _read(options.tls_client_ca, "tls_client_ca")
        _demand_clients(context, authorities, options.tls_client_ca)
    return Certificate(chain, secret, authorities, context, expires)


def _read(path: Path, setting: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{setting}: {path}: {error.strerror or error}; name a file of PEM") from error
    if b"-----BEGIN " not in content or len(content) > _MOST_BYTES:
        raise SettingsError(f"{setting}: {path} is no file of PEM, which has lines of BEGIN and END")
    return content


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([_HTTP])
    try:
        context.load_cert_chain(certificate, key, _no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            told = f"tls_key: {key} is not the key of {certificate}; give the two that belong together"
        else:
            told = f"tls_cert, tls_key: {certificate} and {key} cannot be used ({error.reason or error})"
        raise SettingsError(told) from None
    except ValueError as error:
        raise SettingsError(f"tls_key: {key} {error}") from None
    except OSError as error:
        raise SettingsError(f"tls_cert, tls_key: {error.strerror or error}") from error
    return context


def _no_password() -> str:
    raise ValueError("has a password; give one without, since a server cannot type it")


def _expiry(context: ssl.SSLContext, chain: bytes, path: Path) -> datetime:
    """When a certificate expires, known from a handshake with a client in memory that trusts it.

    Raises:
        SettingsError: no client could connect, since it has expired, is not valid yet, or is not for servers.
    """
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        trusting.load_verify_locations(cadata=chain.decode("ascii", "ignore"))
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting.wrap_bio(back, there)
        waiting = [client, context.wrap_bio(there, back, server_side=True)]
        for _ in range(_ROUNDS):
            waiting = [side for side in waiting if not _agreed(side)]
        shown = client.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        raise SettingsError(f"tls_cert: {path}: {error.verify_message}; have a new one issued") from None
    except (ssl.SSLError, ValueError) as error:
        raise SettingsError(f"tls_cert: {path} cannot be used ({error})") from None
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown["notAfter"])), UTC)


def _agreed(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _demand_clients(context: ssl.SSLContext, authorities: bytes, path: Path) -> None:
    """Have clients show a certificate of these authorities."""
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    except ssl.SSLError as error:
        raise SettingsError(f"tls_client_ca: {path} has no certificate that can be used ({error.reason})") from None
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0  # a resumed session would not be asked for its certificate again
