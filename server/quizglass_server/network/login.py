"""Who makes a call and what they may do, known from the token that comes with it."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime

from quizglass_server.config.logs import RateLimitedLogger
from quizglass_server.errors import NotPermitted, Overloaded, Unauthenticated
from quizglass_server.network.permissions import Needs, Permission
from quizglass_server.network.tokens import UNLIMITED, AccessToken, Tokens
from quizglass_server.observe import metrics
from quizglass_server.scheduling.allowances import Allowance, Quota, allowed
from quizglass_server.scheduling.clients import asked_by, current_client
from quizglass_server.scheduling.clock import metered

logger = RateLimitedLogger(logging.getLogger(__name__))
_SCHEME = "bearer"
_LONGEST = 4096
_FAILURES, _EACH_S = 20, 3.0
"""So many failures of one address are answered, and one more every few seconds."""
_MOST_ADDRESSES = 4096
_MOST_LABELS = 100


class Login:
    """The caller of the current work. Without a token, where none is needed, it has no name and may do everything."""

    name = ""
    may: frozenset[Permission] = frozenset()
    """What its token allows; of one without, nothing is known."""
    expires: datetime | None = None
    """When its token does."""
    tenant = ""
    """Whose data it reaches; empty: the server's own."""
    quota: Quota = UNLIMITED
    """Of its token."""
    charged = ""
    """Id of the token that its requests are charged to; empty: it has none."""
    allowances: tuple[Allowance, ...] = ()
    """Of its tenant and its token; none without a token."""

    def computed(self, seconds: float) -> None:
        """Take note of engine time that was spent for it, on any thread."""

    def check(self) -> None:
        """See that the caller is still welcome. Raises Unauthenticated: its token was revoked, or its time is over."""

    def need(self, permission: Permission) -> None:
        """See that the caller may do something. Raises NotPermitted."""


class _TokenLogin(Login):
    def __init__(self, token: AccessToken, logins: Logins) -> None:
        self.allowances = logins.allowances_of(token)
        self.quota = token.quota
        self.charged = token.charged
        self.name = token.name
        self.may = token.may
        self.expires = token.expires
        self.tenant = token.tenant
        self._token = token
        self._logins = logins

    def check(self) -> None:
        self._logins.check(self._token)

    def computed(self, seconds: float) -> None:
        for each in self.allowances:
            each.computed(seconds)
        metrics.TENANT_SECONDS.add(self._logins.label_of(self.tenant), by=seconds)

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
    """Do the block's work for this caller, who is the current client from now on."""
    before = _login.set(login)
    try:
        client = replace(current_client(), tenant=login.tenant, token=login.name)
        with asked_by(client), allowed(login.allowances), metered(login.computed if login.allowances else None):
            yield
    finally:
        _login.reset(before)


class Logins:
    """Tells callers by their tokens.

    Args:
        tokens: that are valid; None: none is needed.
    """

    def __init__(self, tokens: Tokens | None = None) -> None:
        self._tokens = tokens
        self._failures = _Failures()
        self._allowances: dict[tuple[str, str], Allowance] = {}
        """By "tenant" and its name, or "token" and its id."""
        self._labels: set[str] = set()

    def enter(self, authorization: str | None, needs: Needs, *, whole_server: bool = False) -> Login:
        """The caller of a call.

        Args:
            authorization: what came with the call, `Bearer qg_…`.
            needs: what the call needs.
            whole_server: whether it shows something of all tenants, which no tenant's token allows.

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
        if needs.isdisjoint(token.may) or (whole_server and token.tenant):
            refused = {"caller": token.name, "client": current_client().address, "needs": sorted(needs)}
            logger.warning("a call that its token does not allow is refused", **refused, audit=True)
            raise NotPermitted(token.name, [f"{each} without a tenant" for each in needs] if whole_server else needs)
        return _TokenLogin(token, self)

    @property
    def tokens(self) -> Tokens | None:
        """Those that are valid. Whoever reloads them replaces them whole."""
        return self._tokens

    @tokens.setter
    def tokens(self, tokens: Tokens) -> None:
        self._tokens = tokens
        known = {("tenant", each.tenant) for each in tokens.every} | {("token", each.charged) for each in tokens.every}
        self._allowances = {key: each for key, each in self._allowances.items() if key in known}
        for token in tokens.every:
            self.allowances_of(token)

    def allowances_of(self, token: AccessToken) -> tuple[Allowance, ...]:
        """What a token's tenant and the token itself may still take, under the quotas of now. A paired device takes
        from what the token that paired it has left, also once that is revoked.
        """
        tokens = self._tokens or Tokens()
        owner = tokens.with_id(token.charged) or token
        return (
            self._allowance("tenant", token.tenant, tokens.quotas.get(token.tenant, UNLIMITED)),
            self._allowance("token", token.charged, owner.quota),
        )

    def _allowance(self, whose: str, name: str, quota: Quota) -> Allowance:
        allowance = self._allowances.get((whose, name))
        if allowance is None:
            allowance = self._allowances[whose, name] = Allowance(whose, quota)
        allowance.quota = quota
        return allowance

    def label_of(self, tenant: str) -> str:
        """A tenant's name in metrics, where there are no more than so many of them."""
        if tenant not in self._labels and len(self._labels) >= _MOST_LABELS:
            return "others"
        self._labels.add(tenant)
        return tenant

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
