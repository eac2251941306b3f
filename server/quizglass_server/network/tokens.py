"""The file of tokens: who may come, until when, and what they may do. The tokens themselves are not in it.

A token is 256 random bits behind a prefix and an id, `qg_1f2e3d4c_…`. The file has its SHA-256. A slow hash (scrypt,
argon2) protects passwords, which can be guessed; 256 random bits cannot, and a slow hash at every call would let
anyone who sends wrong tokens keep a core busy.

Beside them are codes that devices may redeem for a token, for some minutes and once (`pairing`). A person types those,
so that they have 40 secret bits, behind a slow hash.
"""

from __future__ import annotations

import fcntl
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints, ValidationError

from quizglass_server.errors import SettingsError
from quizglass_server.network.files import replace_file
from quizglass_server.network.permissions import Permission
from quizglass_server.scheduling.allowances import Quota

PREFIX = "qg_"
_SECRET_BYTES = 32
_FORM = re.compile(rf"{PREFIX}([0-9a-f]{{8}})_([A-Za-z0-9_-]{{43}})")
_MOST_BYTES = 4 << 20
_MOST_PAIRINGS = 32
_MOST_OF_TENANT = 1000
"""Tokens of a tenant beyond which its devices are given none, so that no tenant fills the file that all share."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
SETTING = "tokens"
UNLIMITED = Quota()
NAME_WANTED = "1 to 64 letters, digits, '.', '_', '@' and '-', of which the first is a letter or digit"


TokenId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$")]
TokenName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
TenantName = Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-z0-9-]{0,31})?$")]
"""Also the name of a directory. Empty: the server's own."""
TENANT_WANTED = "1 to 32 small letters, digits and '-', of which the first is a letter or digit"


class AccessToken(BaseModel):
    """What is kept of a token."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: TokenId
    """Stands in the token itself, and is no secret."""
    name: TokenName
    """Of whom or what uses it. Two tokens of one name are valid at once while one takes the other's place."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    may: frozenset[Permission]
    tenant: TenantName = ""
    """Whose data it reaches, and no other's."""
    quota: Quota = UNLIMITED
    paired_by: TokenId | Literal[""] = ""
    """The token whose quota this one, a paired device's, shares; empty: its quota is its own."""
    created: AwareDatetime
    expires: AwareDatetime | None = None
    """None: never."""

    @property
    def charged(self) -> str:
        """Id of the token that its requests are charged to."""
        return self.paired_by or self.id

    def is_over(self, now: datetime | None = None) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= (now or datetime.now(UTC))


class Pairing(BaseModel):
    """A code that a device may redeem for a token, without the code."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, StringConstraints(pattern=r"^[0-9A-Z]{4}$")]
    """What the code begins with; no secret."""
    scrypt: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    name: TokenName
    may: frozenset[Permission]
    tenant: TenantName = ""
    quota: Quota = UNLIMITED
    paired_by: TokenId | Literal[""] = ""
    """The token that the device's requests are charged to; empty: its own."""
    token_expires: AwareDatetime | None = None
    expires: AwareDatetime

    def is_over(self, now: datetime | None = None) -> bool:
        """Whether the code's time is over."""
        return self.expires <= (now or datetime.now(UTC))


class _TokensFile(BaseModel):
    """A field that is not known is refused: it may say that a token may less than it seems."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    tokens: tuple[AccessToken, ...] = ()
    pairings: tuple[Pairing, ...] = ()
    quotas: Mapping[TenantName, Quota] = {}
    """Of tenants."""


class Tokens:
    """Tokens by their id, and codes that may be redeemed for one.

    Raises:
        SettingsError: two have the same id.
    """

    def __init__(
        self,
        tokens: Iterable[AccessToken] = (),
        pairings: Iterable[Pairing] = (),
        quotas: Mapping[str, Quota] | None = None,
    ) -> None:
        self.every = tuple(tokens)
        self.pairings = tuple(pairings)
        self.quotas = dict(quotas or {})
        """Of tenants; of those that are not named nothing is limited."""
        self._by_id = {each.id: each for each in self.every}
        if len(self._by_id) != len(self.every):
            raise SettingsError(f"{SETTING}: two tokens have the same id")

    def of(self, text: str) -> AccessToken | None:
        """The record of a token as its holder sends it, whether or not its time is over; None: there is none."""
        form = _FORM.fullmatch(text)
        record = self._by_id.get(form[1]) if form else None
        return record if record is not None and hmac.compare_digest(record.sha256, _hash(text)) else None

    def with_id(self, id: str) -> AccessToken | None:
        """The record of an id; None: there is none."""
        return self._by_id.get(id)

    def __contains__(self, token: AccessToken) -> bool:
        return self._by_id.get(token.id) == token


def made(
    name: str,
    may: Iterable[Permission],
    expires: datetime | None,
    tenant: str = "",
    quota: Quota = UNLIMITED,
    paired_by: str = "",
) -> tuple[str, AccessToken]:
    """A new token: its text, which is kept nowhere, and its record.

    Raises:
        SettingsError: the name is none, or the tenant's is none.
    """
    id = secrets.token_hex(4)
    text = f"{PREFIX}{id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    created = datetime.now(UTC).replace(microsecond=0)
    whose = {"name": name, "tenant": tenant, "quota": quota, "paired_by": paired_by}
    given = {"id": id, "sha256": _hash(text), "may": frozenset(may), "created": created, "expires": expires}
    try:
        record = AccessToken.model_validate({**whose, **given})
    except ValidationError as error:
        raise SettingsError(unnamed(error, name, tenant)) from None
    return text, record


def unnamed(error: ValidationError, name: str, tenant: str) -> str:
    """Which name a token or a code cannot have, and why."""
    if error.errors()[0]["loc"] == ("tenant",):
        return f"{tenant[:80]!r} is no name for a tenant: {TENANT_WANTED}"
    return f"{name[:80]!r} is no name for a token: {NAME_WANTED}"


def load_tokens(path: Path) -> Tokens:
    """The tokens of a file.

    Raises:
        SettingsError: it cannot be read, is not whole, or may be written by others; the message names what is wrong.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        made_by = "`quizglass-server token add` makes it"
        raise SettingsError(f"{SETTING}: {path}: {error.strerror or error}; {made_by}") from error
    if mode & _OTHERS_WRITE:
        raise SettingsError(f"{SETTING}: {path} can be written by other users; chmod 600 it")
    if len(content) > _MOST_BYTES:
        raise SettingsError(f"{SETTING}: {path} has more than {_MOST_BYTES >> 20} MiB")
    try:
        whole = _TokensFile.model_validate_json(content)
        return Tokens(whole.tokens, whole.pairings, whole.quotas)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise SettingsError(f"{SETTING}: {path} is no whole file of tokens ({where}: {first['msg']})") from None


class TokenFile:
    """Changes a file of tokens, which only this user, and maybe its group, may then read. Changes at the same time wait
    for each other.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def add(self, token: AccessToken) -> Tokens:
        """Add one; the file is made where there is none. Gives all that there are now. Raises SettingsError."""
        with self._locked():
            before = self._before()
            return self._write(before, (*before.every, token), before.pairings)

    def limit(self, tenant: str, quota: Quota) -> None:
        """Give a tenant a quota, in place of the one it has. Raises SettingsError."""
        with self._locked():
            before = self._before()
            quotas = {**before.quotas, tenant: quota}
            kept = {name: each for name, each in quotas.items() if each != UNLIMITED}
            self._write(Tokens(quotas=kept), before.every, before.pairings)

    def offer(self, pairing: Pairing) -> None:
        """Let a code be redeemed, in place of one of the same tenant and name. Raises SettingsError."""
        with self._locked():
            before = self._before()
            name = pairing.tenant, pairing.name
            others = [each for each in before.pairings if pairing.id != each.id and name != (each.tenant, each.name)]
            waiting = sum(each.tenant == pairing.tenant and not each.is_over() for each in others)
            if waiting >= _MOST_PAIRINGS:
                raise SettingsError(f"{SETTING}: {waiting} codes wait for their devices; try again in some minutes")
            given = sum(each.tenant == pairing.tenant for each in before.every)
            if pairing.tenant and waiting + given >= _MOST_OF_TENANT:
                raise SettingsError(f"{SETTING}: the tenant {pairing.tenant} has {given} tokens; revoke some")
            self._write(before, before.every, (*others, pairing))

    def settle(self, pairing: Pairing, token: AccessToken | None) -> bool:
        """Take a code back, and add the token that was given for it; whether it was still there.

        Raises:
            SettingsError: the file cannot be written; nothing has changed.
        """
        with self._locked():
            before = self._before()
            if pairing not in before.pairings:
                return False
            added = () if token is None else (token,)
            self._write(before, (*before.every, *added), (each for each in before.pairings if each != pairing))
            return True

    def _before(self) -> Tokens:
        return load_tokens(self.path) if self.path.exists() else Tokens()

    def revoke(self, named: str, tenant: str | None = None) -> tuple[AccessToken, ...]:
        """Remove the token of an id, or all of a name with their codes; gives the tokens that were removed.

        Codes that wait and that they may have offered go with them.

        Args:
            named: the id or the name.
            tenant: whose they are; None: of whichever tenant, as long as one alone has the name.

        Raises:
            SettingsError: there is none, or several tenants have the name: each may call its devices what it likes.
        """
        with self._locked():
            before = load_tokens(self.path)
            gone = tuple(
                each
                for each in before.every
                if named in (each.id, each.name) and (tenant is None or each.tenant == tenant)
            )
            codes = [
                each for each in before.pairings if each.name == named and (tenant is None or each.tenant == tenant)
            ]
            if not gone and not codes:
                raise SettingsError(f"{self.path} has no token with the name or id {named[:80]!r}")
            if len(tenants := {each.tenant for each in gone} | {each.tenant for each in codes}) > 1:
                told = ", ".join(each or "''" for each in sorted(tenants))
                raise SettingsError(f"{self.path}: the tenants {told} have tokens called {named[:80]!r}; give --tenant")
            offering = {each.charged for each in gone if Permission.OPERATE in each.may}
            kept = [each for each in before.pairings if each not in codes and each.paired_by not in offering]
            self._write(before, (each for each in before.every if each not in gone), kept)
            return gone

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
        except OSError as error:
            raise SettingsError(f"{SETTING}: {self.path.parent}: {error.strerror or error}") from error
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
            os.fsync(folder)
        except OSError as error:
            raise SettingsError(f"{SETTING}: {self.path}: {error.strerror or error}") from error
        finally:
            os.close(folder)

    def _write(self, before: Tokens, tokens: Iterable[AccessToken], pairings: Iterable[Pairing]) -> Tokens:
        """Write these, with the quotas that there were before."""
        every = Tokens(tokens, (each for each in pairings if not each.is_over()), before.quotas)
        whole = _TokensFile(tokens=every.every, pairings=every.pairings, quotas=every.quotas)
        content = f"{whole.model_dump_json(indent=2, exclude_defaults=True)}\n".encode()
        if len(content) > _MOST_BYTES:  # it could not be read any more, be it to revoke one
            raise SettingsError(f"{SETTING}: {self.path} would have more than {_MOST_BYTES >> 20} MiB; revoke some")
        replace_file(self.path, content)
        return every


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
