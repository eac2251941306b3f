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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints, ValidationError

from quizglass_server.errors import SettingsError
from quizglass_server.network.files import replace_file
from quizglass_server.network.permissions import Permission

PREFIX = "qg_"
_SECRET_BYTES = 32
_FORM = re.compile(rf"{PREFIX}([0-9a-f]{{8}})_([A-Za-z0-9_-]{{43}})")
_MOST_BYTES = 4 << 20
_MOST_PAIRINGS = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
SETTING = "tokens"
NAME_WANTED = "1 to 64 letters, digits, '.', '_', '@' and '-', of which the first is a letter or digit"


TokenName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]


class AccessToken(BaseModel):
    """What is kept of a token."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$")]
    """Stands in the token itself, and is no secret."""
    name: TokenName
    """Of whom or what uses it. Two tokens of one name are valid at once while one takes the other's place."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    may: frozenset[Permission]
    created: AwareDatetime
    expires: AwareDatetime | None = None
    """None: never."""

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


class Tokens:
    """Tokens by their id, and codes that may be redeemed for one.

    Raises:
        SettingsError: two have the same id.
    """

    def __init__(self, tokens: Iterable[AccessToken] = (), pairings: Iterable[Pairing] = ()) -> None:
        self.every = tuple(tokens)
        self.pairings = tuple(pairings)
        self._by_id = {each.id: each for each in self.every}
        if len(self._by_id) != len(self.every):
            raise SettingsError(f"{SETTING}: two tokens have the same id")

    def of(self, text: str) -> AccessToken | None:
        """The record of a token as its holder sends it, whether or not its time is over; None: there is none."""
        form = _FORM.fullmatch(text)
        record = self._by_id.get(form[1]) if form else None
        return record if record is not None and hmac.compare_digest(record.sha256, _hash(text)) else None

    def __contains__(self, token: AccessToken) -> bool:
        return self._by_id.get(token.id) == token


def made(name: str, may: Iterable[Permission], expires: datetime | None) -> tuple[str, AccessToken]:
    """A new token: its text, which is kept nowhere, and its record.

    Raises:
        SettingsError: the name is none.
    """
    id = secrets.token_hex(4)
    text = f"{PREFIX}{id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    created = datetime.now(UTC).replace(microsecond=0)
    try:
        record = AccessToken(id=id, name=name, sha256=_hash(text), may=frozenset(may), created=created, expires=expires)
    except ValidationError:
        raise SettingsError(f"{name[:80]!r} is no name for a token: {NAME_WANTED}") from None
    return text, record


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
        return Tokens(whole.tokens, whole.pairings)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise SettingsError(f"{SETTING}: {path} is no whole file of tokens ({where}: {first['msg']})") from None


class TokenFile:
    """Changes a file of tokens, which only this user may then read. Changes at the same time wait for each other."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def add(self, token: AccessToken) -> Tokens:
        """Add one; the file is made where there is none. Gives all that there are now. Raises SettingsError."""
        with self._locked():
            before = self._before()
            return self._write((*before.every, token), before.pairings)

    def offer(self, pairing: Pairing) -> None:
        """Let a code be redeemed, in place of one of the same name. Raises SettingsError."""
        with self._locked():
            before = self._before()
            others = [each for each in before.pairings if pairing.id != each.id and pairing.name != each.name]
            if len(others) >= _MOST_PAIRINGS:
                raise SettingsError(f"{SETTING}: {len(others)} codes wait for their devices; try again in some minutes")
            self._write(before.every, (*others, pairing))

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
            self._write((*before.every, *added), (each for each in before.pairings if each != pairing))
            return True

    def _before(self) -> Tokens:
        return load_tokens(self.path) if self.path.exists() else Tokens()

    def revoke(self, named: str) -> tuple[AccessToken, ...]:
        """Remove the token of an id, or all of a name with its code; gives the tokens that were removed.

        Raises:
            SettingsError: there is none.
        """
        with self._locked():
            before = load_tokens(self.path)
            gone = tuple(each for each in before.every if named in (each.id, each.name))
            kept = [each for each in before.pairings if each.name != named]
            if not gone and len(kept) == len(before.pairings):
                raise SettingsError(f"{self.path} has no token with the name or id {named[:80]!r}")
            self._write((each for each in before.every if each not in gone), kept)
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

    def _write(self, tokens: Iterable[AccessToken], pairings: Iterable[Pairing]) -> Tokens:
        every = Tokens(tokens, (each for each in pairings if not each.is_over()))
        whole = _TokensFile(tokens=every.every, pairings=every.pairings)
        content = whole.model_dump_json(indent=2, exclude=None if every.pairings else {"pairings"})
        replace_file(self.path, f"{content}\n".encode())
        return every


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
