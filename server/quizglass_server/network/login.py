"""Who makes a call and what they may do, known from the token that comes with it."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from quizglass_server.config.logs import RateLimitedLogger
from quizglass_server.errors import NotPermitted, Overloaded, Unauthenticated
from quizglass_server.network.permissions import Needs, Permission
from quizglass_server.network.tokens import AccessToken, Tokens
from quizglass_server.scheduling.clients import current_client

logger = RateLimitedLogger(logging.getLogger(__name__))
_SCHEME = "bearer"
_LONGEST = 4096
_FAILURES, _EACH_S = 20, 3.0
"""So many failures of one address are answered, and one more every few seconds."""
_MOST_ADDRESSES = 4096


class Login:
    """The caller of the current work. Without a token, where none is needed, it has no name and may do everything."""

    name = ""
    may: frozenset[Permission] = frozenset()
    """What its token allows; of one without, nothing is known."""
    expires: datetime | None = None
    """When its token does."""

    def check(self) -> None:
        """See that the caller is still welcome. Raises Unauthenticated: its token was revoked, or its time is over."""

    def need(self, permission: Permission) -> None:
        """See that the caller may do something. Raises NotPermitted."""


class _TokenLogin(Login):
    def __init__(self, token: AccessToken, logins: Logins) -> None:
        self.name = token.name
        self.may = token.may
        self.expires = token.expires
        self._token = token
        self._logins = logins

    def check(self) -> None:
        self._logins.check(self._token)

    def need(self, permission: Permission) -> None:
        if permission not in self._token.may:
            raise NotPermitted(self.name, (permission,))


_ANYONE = Login()
_login: ContextVar[Login] = ContextVar("login", default=_ANYONE)


def current_login() -> Login:
    """The caller of the current work; one without a name where that is the server's own."""
    return _login.get()


@contextmanager
def logged_in(login: Login) -> Iterator[None]:
    """Do the block's work for this caller."""
    before = _login.set(login)
    try:
        yield
    finally:
        _login.reset(before)


class Logins:
    """Tells callers by their tokens.

    Args:
        tokens: that are valid; None: none is needed.
    """

    def __init__(self, tokens: Tokens | None = None) -> None:
        self.tokens = tokens
        """Whoever reloads them replaces them whole."""
        self._failures = _Failures()

    def enter(self, authorization: str | None, needs: Needs) -> Login:
        """The caller of a call.

        Args:
            authorization: what came with the call, `Bearer qg_…`.
            needs: what the call needs.

        Raises:
            Unauthenticated: no valid token came.
            NotPermitted: it does not allow this call.
            Overloaded: no valid token came, and too often so from the current client's address.
        """
        if self.tokens is None or needs is None:
            return _ANYONE
        try:
            token = _token(authorization, self.tokens)
        except Unauthenticated as refusal:
            self.failed(refusal)
            raise
        if needs.isdisjoint(token.may):
            refused = {"caller": token.name, "client": current_client().address, "needs": sorted(needs)}
            logger.warning("a call that its token does not allow is refused", **refused, audit=True)
            raise NotPermitted(token.name, needs)
        return _TokenLogin(token, self)

    def failed(self, refusal: Unauthenticated) -> None:
        """Count a failure of the current client's address. Raises Overloaded: there were too many."""
        self._failures.count(current_client().address, refusal)

    def check(self, token: AccessToken) -> None:
        """See that a token is still valid. Raises Unauthenticated."""
        if self.tokens is not None and token not in self.tokens:
            raise Unauthenticated("the token was revoked", "REVOKED")
        if token.is_over():
            raise Unauthenticated("the token has expired", "EXPIRED")


def _token(authorization: str | None, tokens: Tokens) -> AccessToken:
    if not authorization:
        raise Unauthenticated("this server asks for a token, and none came", "MISSING")
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() != _SCHEME or len(authorization) > _LONGEST:
        raise Unauthenticated("what came as `authorization` is not of the form `Bearer TOKEN`", "MALFORMED")
    token = tokens.of(text.strip())
    if token is None:
        raise Unauthenticated("the token is none of this server's", "UNKNOWN")
    if token.is_over(datetime.now(UTC)):
        raise Unauthenticated("the token has expired", "EXPIRED")
    return token


class _Failures:
    """Failed attempts by address. Valid tokens of the same address are not held up by them."""

    def __init__(self) -> None:
        self._forgiven_at: OrderedDict[str, float] = OrderedDict()
        """When all failures of an address will be forgiven: each adds a few seconds to that."""

    def count(self, address: str, refusal: Unauthenticated) -> None:
        """Count one in. Raises Overloaded: there were too many."""
        now = time.monotonic()
        wait = max(self._forgiven_at.pop(address, now), now) - now
        full = wait > _FAILURES * _EACH_S
        self._forgiven_at[address] = now + wait + (0.0 if full else _EACH_S)
        if len(self._forgiven_at) > _MOST_ADDRESSES:
            self._forgiven_at.popitem(last=False)
        why = refusal.metadata["why"]
        logger.warning("a call without a valid token is refused", client=address, why=why, audit=True)
        if full:
            raise Overloaded("too many calls without a valid token came from your address", _EACH_S) from None
