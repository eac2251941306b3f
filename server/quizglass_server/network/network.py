"""Certificate and tokens of a server that runs, and their files, which are read again when they change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from quizglass_server.config.settings import NetworkOptions
from quizglass_server.errors import SettingsError
from quizglass_server.network.login import Logins
from quizglass_server.network.pairing import Pairings, PublicAddress
from quizglass_server.network.tls import ServerTls
from quizglass_server.network.tokens import TokenFile, Tokens, load_tokens
from quizglass_server.observe import metrics

LOOK_S = 1.0
"""Between two looks at the files."""
_SOON = timedelta(days=21)
logger = logging.getLogger(__name__)


class Network:
    """What stands between a server and the network.

    Args:
        options: where the files are. Without any, all calls are answered and nothing is encrypted.

    Raises:
        SettingsError: a file cannot be used.
    """

    def __init__(self, options: NetworkOptions) -> None:
        self._options = options
        self._tokens = options.tokens
        self.tls = None if options.tls_cert is None else ServerTls(options)
        """None: connections are not encrypted."""
        self.logins = Logins(None if options.tokens is None else self._load_tokens(options.tokens))
        file = None if options.tokens is None else TokenFile(options.tokens)
        self.pairings = Pairings(file, self.logins, self._reload_tokens)
        self.place: PublicAddress | None = None
        """Where clients find the server, once it listens."""
        self._seen = self._marks()
        self._hurry = asyncio.Event()
        if self.tls is not None:
            _tell_expiry(self.tls)

    @property
    def _files(self) -> tuple[Path, ...]:
        return (*(self.tls.files if self.tls else ()), *((self._tokens,) if self._tokens else ()))

    def reload(self) -> None:
        """Have the files read again now, changed or not."""
        self._seen = ()
        self._hurry.set()

    async def watch(self) -> None:
        """Follow the files until cancelled. What cannot be used leaves in force what was, and the log says so."""
        while self._files:
            self._hurry.clear()
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._hurry.wait()
            except TimeoutError:
                pass
            marks = await asyncio.to_thread(self._marks)
            if marks != self._seen:
                self._seen = marks
                await asyncio.to_thread(_tried, self._reload_tls, "certificate")
                await asyncio.to_thread(_tried, self._reload_tokens, "tokens")

    def _marks(self) -> tuple[object, ...]:
        """What tells whether a file is still the same."""
        return tuple(_mark(path) for path in self._files)

    def _reload_tls(self) -> None:
        if self.tls is not None and self.tls.reload():
            _tell_expiry(self.tls)

    def _load_tokens(self, path: Path) -> Tokens:
        """The tokens of the file.

        Raises:
            SettingsError: as `load_tokens`, or they are of tenants, and the server has none.
        """
        tokens = load_tokens(path)
        named = {each.tenant: each.name for each in tokens.every} | {each.tenant: each.name for each in tokens.pairings}
        for tenant, name in named.items() if self._options.tenants is None else ():
            if tenant:
                raise SettingsError(f"tokens: {name} is of the tenant {tenant}, and there are none; give --tenants")
        return tokens

    def _reload_tokens(self) -> None:
        if self._tokens is None:
            return
        before, now = self.logins.tokens or Tokens(), self._load_tokens(self._tokens)
        self.logins.tokens = now
        added = sorted(each.name for each in now.every if each not in before)
        revoked = sorted(each.name for each in before.every if each not in now)
        if added or revoked:
            logger.info(
                "tokens changed", extra={"audit": True, "added": added, "revoked": revoked, "count": len(now.every)}
            )


def _mark(path: Path) -> object:
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _tried(reload: Callable[[], None], what: str) -> None:
    try:
        reload()
    except SettingsError as error:
        logger.error(
            f"the {what} stay as they were" if what == "tokens" else f"the {what} stays as it was",
            extra={"audit": True, "why": error.message},
        )


def _tell_expiry(tls: ServerTls) -> None:
    expires = tls.current.expires
    metrics.EXPIRY.set(expires.timestamp())
    soon = expires - datetime.now(UTC) < _SOON
    logger.log(
        logging.WARNING if soon else logging.INFO,
        "the certificate expires soon" if soon else "certificate in use",
        extra={"audit": True, "expires": expires.isoformat(), "file": str(tls.files[0])},
    )
