"""Pairing: a device that has no token gets one for a code, which its operator reads out to it or shows as a QR code.

A code is an id of four characters and eight secret ones (40 bits). It is valid for minutes, once, and ends with the
fifth wrong try at it, so that guessing one takes luck of one in 2 x 10^11. The file of tokens has its scrypt, since
whoever reads that file could try all codes while one is valid. Only tries that name a code which is there are hashed.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import scrypt, sha256
from io import BytesIO, StringIO
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import segno
from pydantic import ValidationError

from quizglass.hosts import is_loopback
from quizglass_server.errors import InvalidInput, SettingsError, Unauthenticated
from quizglass_server.network.login import Login, Logins
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import NAME_WANTED, UNLIMITED, AccessToken, Pairing, TokenFile, made, unnamed
from quizglass_server.scheduling.allowances import Quota

VALID = timedelta(minutes=10)
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no letter that is taken for a digit."""
_ID, _SECRET, _GROUP = 4, 8, 4
_FORM = re.compile(rf"[{_ALPHABET}]{{{_ID + _SECRET}}}")
_MISREAD = str.maketrans("OIL", "011", "- ")
_MOST_TRIES = 5
_LONGEST_PAGE = 255
_USUAL_PORT = {"http": 80, "https": 443}
_ANYWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses for documentation, which nothing is sent to."""
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


def offered(
    name: str,
    may: Iterable[Permission],
    token_expires: datetime | None,
    valid: timedelta = VALID,
    tenant: str = "",
    quota: Quota = UNLIMITED,
    paired_by: str = "",
) -> tuple[str, Pairing]:
    """A new code, which is kept nowhere, and its record.

    Args:
        name: of the device.
        may: what its token will allow.
        token_expires: when that ends; None: never.
        valid: how long the code is.
        tenant: of the device.
        quota: of the token.
        paired_by: id of the token that shares its quota with the device; empty: the device has its own.

    Raises:
        SettingsError: the name is none, or the tenant's is none.
    """
    code = "".join(secrets.choice(_ALPHABET) for _ in range(_ID + _SECRET))
    expires = (datetime.now(UTC) + valid).replace(microsecond=0)
    try:
        record = Pairing(
            id=code[:_ID],
            scrypt=_hash(code),
            name=name,
            may=frozenset(may),
            tenant=tenant,
            quota=quota,
            paired_by=paired_by,
            token_expires=token_expires,
            expires=expires,
        )
    except ValidationError as error:
        raise SettingsError(unnamed(error, name, tenant)) from None
    return "-".join(code[at : at + _GROUP] for at in range(0, len(code), _GROUP)), record


def read_code(text: str) -> str:
    """A code as a person types it, without hyphens and with what is easily misread put right.

    Raises:
        InvalidInput: it has not the form of one.
    """
    code = text[:64].upper().translate(_MISREAD)
    if not _FORM.fullmatch(code):
        raise InvalidInput("code", "is none, which has twelve letters and digits: 7K3M-9QXD-2FTV")
    return code


def _hash(code: str) -> str:
    return scrypt(code.encode(), salt=b"quizglass pairing", n=1 << 14, r=8, p=1, dklen=32).hex()


class Pairings:
    """The codes of a server that runs.

    Args:
        file: of tokens; None: the server asks for none.
        logins: know the tokens and codes that are valid, and count failures.
        changed: has the file read again.
    """

    def __init__(self, file: TokenFile | None, logins: Logins, changed: Callable[[], None]) -> None:
        self._file = file
        self._logins = logins
        self._changed = changed
        self._tries: Counter[str] = Counter()

    async def create(self, name: str, may: frozenset[Permission], expires: datetime | None, by: Login) -> str:
        """A code for a device of the caller's tenant, which may do no more and no longer than the caller.

        Raises:
            InvalidInput: the name is none.
            NotPermitted: the caller may not do that itself.
            SettingsError: the server asks for no tokens, too many codes wait, or the file cannot be written.
        """
        file = self._there()
        for permission in may:
            by.need(permission)
        expires = min(filter(None, (expires, by.expires)), default=None)
        try:
            code, pairing = await asyncio.to_thread(
                offered, name, may, expires, tenant=by.tenant, quota=by.quota, paired_by=by.charged
            )
        except SettingsError:
            raise InvalidInput("name", f"is none for a device: {NAME_WANTED}") from None
        await asyncio.to_thread(self._kept, partial(file.offer, pairing))
        logger.info("pairing offered", extra=_about(pairing))
        return code

    async def redeem(self, text: str) -> tuple[str, AccessToken]:
        """The token that a code is good for, which is then spent.

        Raises:
            InvalidInput: it has not the form of a code.
            Unauthenticated: it is not valid.
            Overloaded: it is not valid, and too many of its client's address were not.
            SettingsError: the server asks for no tokens, or the file cannot be written.
        """
        file, code = self._there(), read_code(text)
        pairing = self._tried(code)
        if pairing is None or not await asyncio.to_thread(_fits, pairing, code):
            if pairing is not None and self._tries[pairing.scrypt] >= _MOST_TRIES:
                await asyncio.to_thread(self._kept, partial(file.settle, pairing, None))
                logger.warning("too many wrong tries at a code", extra=_about(pairing))
            raise self._refused()
        whose = pairing.tenant, pairing.quota, pairing.paired_by
        token, record = made(pairing.name, pairing.may, pairing.token_expires, *whose)
        if not await asyncio.to_thread(self._kept, partial(file.settle, pairing, record)):
            raise self._refused()
        logger.info("device paired", extra=_about(record))
        return token, record

    def _tried(self, code: str) -> Pairing | None:
        """The pairing that a code names, if there is one that may be tried. Counted first: tries may come at once."""
        waiting = () if self._logins.tokens is None else self._logins.tokens.pairings
        hashes = {each.scrypt for each in waiting}
        for gone in self._tries.keys() - hashes:
            del self._tries[gone]
        for each in waiting:
            if each.id == code[:_ID] and not each.is_over() and self._tries[each.scrypt] < _MOST_TRIES:
                self._tries[each.scrypt] += 1
                return each
        return None

    def _refused(self) -> Unauthenticated:
        """Why a code is refused: whether it is wrong, spent or late is not for those who guess."""
        told = "the code is not valid: it is mistyped, was used, or is older than its time"
        refusal = Unauthenticated(told, "CODE", "have the operator make a new one")
        self._logins.failed(refusal)
        return refusal

    def _there(self) -> TokenFile:
        if self._file is None:
            raise SettingsError("this server asks for no tokens, so that there is nothing to pair for")
        return self._file

    def _kept(self, change: Callable[[], Result]) -> Result:
        """Change the file and take it up. Clients are not told where it is."""
        try:
            result = change()
            self._changed()
        except SettingsError as error:
            told = "the file of tokens cannot be changed; the server's log says why"
            raise SettingsError(told) from error
        return result


def _about(given: Pairing | AccessToken) -> dict[str, object]:
    """A device in the log: its tenant too, which one that redeems a code does not say."""
    named = {"device": given.name, "ids": [given.id], "tenant": given.tenant}
    return {"audit": True, **named, "may": sorted(given.may)}


def _fits(pairing: Pairing, code: str) -> bool:
    return hmac.compare_digest(pairing.scrypt, _hash(code))


@dataclass(frozen=True, slots=True)
class PublicAddress:
    """Where devices find a server."""

    host: str
    """That it listens on, for gRPC or, where that is for this machine alone, for the page."""
    port: int
    """For gRPC."""
    web_port: int | None = None
    """For the page; None: there is none."""
    chain: bytes | None = None
    """Its certificate, PEM; None: its connections are not encrypted, unless a proxy does."""

    def link(self, code: str, page: str = "") -> str:
        """What a QR code has for a device: where to redeem a code, and the certificate it will be shown.

        Args:
            code: to redeem.
            page: origin of the page, as a browser has it that reaches the server; empty: the server's own.

        Raises:
            InvalidInput: that is no origin.
        """
        more = {} if self.chain is None else {"sha256": fingerprint(self.chain)}
        reached = _reached(page)
        if reached and self.chain is None:  # a proxy may stand between: the port for gRPC is its own matter
            return f"{reached}/#{urlencode({'code': code})}"
        parts = urlsplit(reached)
        host, web_port = parts.hostname, parts.port or _USUAL_PORT.get(parts.scheme)
        if host is None or is_loopback(host):
            host, web_port = self._address(), self.web_port
        host = f"[{host}]" if ":" in host else host
        if web_port is None:
            return f"quizglass://{host}:{self.port}/#{urlencode({'code': code, **more})}"
        scheme = "http" if self.chain is None else "https"
        return f"{scheme}://{host}:{web_port}/#{urlencode({'code': code, 'grpc': self.port, **more})}"

    def _address(self) -> str:
        """By which other machines may reach this one, unless the server does not listen to them."""
        if self.host not in ("0.0.0.0", "::"):  # noqa: S104  # asks, and binds nothing
            return self.host
        return next(own_addresses(), "localhost")


def own_addresses() -> Iterator[str]:
    """Addresses of this machine that lead to other machines; nothing is sent to find them."""
    for family, anywhere in _ANYWHERE:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as outward:
            outward.connect((anywhere, 9))
            yield outward.getsockname()[0]


def _reached(page: str) -> str:
    """An origin. Raises InvalidInput: it is none."""
    if not page:
        return ""
    try:
        parts = urlsplit(page)
        named = bool(parts.hostname) and parts.scheme in ("http", "https") and (parts.port or 1) > 0
    except ValueError:
        named = False
    if not named or len(page) > _LONGEST_PAGE or f"{parts.scheme}://{parts.netloc}" != page.rstrip("/"):
        raise InvalidInput("page", "is no origin such as https://glasses.local:50062")
    return page.rstrip("/")


def fingerprint(chain: bytes) -> str:
    """SHA-256 of a chain's first certificate, hexadecimal."""
    first = _CERTIFICATE.search(chain.decode("ascii", "ignore"))
    return "" if first is None else sha256(ssl.PEM_cert_to_DER_cert(first[0])).hexdigest()


def own_authority(chain: bytes) -> str:
    """The authority in a chain that vouches for itself, PEM; empty where public authorities vouch for the chain."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=chain.decode("ascii", "ignore"))
    encoded: list[bytes] = context.get_ca_certs(binary_form=True)
    for about, der in zip(context.get_ca_certs(), encoded, strict=True):
        if about["subject"] == about["issuer"]:
            return ssl.DER_cert_to_PEM_cert(der)
    return ""


def qr_svg(link: str) -> bytes:
    """A link as a QR code, black on white."""
    out = BytesIO()
    segno.make(link, error="m", micro=False).save(out, kind="svg", border=2, scale=4, light="white", xmldecl=False)
    return out.getvalue()


def qr_text(link: str) -> str:
    """The same for a terminal."""
    out = StringIO()
    segno.make(link, error="m", micro=False).terminal(out, border=2, compact=True)
    return out.getvalue()
