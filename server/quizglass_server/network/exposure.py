"""What may be reached from other machines: nothing without encryption and login, unless the operator says so."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator

from quizglass.hosts import is_loopback
from quizglass_server.config.address import MilvusAddress
from quizglass_server.config.load import Settings
from quizglass_server.errors import SettingsError

logger = logging.getLogger(__name__)
_ENCRYPTION = "encryption (--tls-cert and --tls-key, made by `quizglass-server tls init`)"
_LOGIN = "a login (--tokens, made by `quizglass-server token add`)"


def check_exposure(settings: Settings) -> None:
    """Refuse a server that others could reach and that lacks encryption or login, or warn where that is wanted.

    Raises:
        SettingsError: it is not wanted, or files are named of which others are missing.
    """
    if (settings.tls_cert is None) != (settings.tls_key is None):
        given, missing = ("cert", "key") if settings.tls_key is None else ("key", "cert")
        raise SettingsError(f"tls_{missing}: required with tls_{given}; give --tls-{missing}")
    if settings.tls_client_ca is not None and settings.tls_cert is None:
        raise SettingsError("tls_client_ca: clients show certificates over TLS only; give --tls-cert and --tls-key")
    if settings.tenants is not None and settings.tokens is None:
        raise SettingsError("tenants: tokens say whose caller is whose; give --tokens")
    lacking = " and ".join(_lacking(settings))
    for setting, host in _open_hosts(settings):
        if lacking and not settings.insecure:
            raise SettingsError(
                f"{setting}: {host} can be reached from other machines, which takes {lacking}; in a network that you "
                "trust, or behind a proxy that has both, say --insecure"
            )
        if lacking:
            logger.warning("listening beyond this machine", extra={"host": host, "without": lacking})


def parts_elsewhere(settings: Settings) -> tuple[str, ...]:
    """What the settings have behind a network address, be it of this machine, as the ledger names it."""
    behind = {
        "knowledge": isinstance(settings.knowledge, MilvusAddress) and not settings.knowledge.in_process,
        "generator": bool(settings.generator_url),
        "hearing": settings.hearing is not None and settings.hearing.elsewhere,
        "voice": settings.voice is not None and settings.voice.elsewhere,
    }
    return tuple(name for name, is_elsewhere in behind.items() if is_elsewhere)


def check_local(settings: Settings, elsewhere: Collection[str]) -> None:
    """Raise SettingsError where nothing may leave this machine and a part of the server is elsewhere."""
    if settings.local_only and elsewhere:
        named = " and ".join(elsewhere)
        raise SettingsError(f"local_only: {named} would be behind a network address; have it on this machine")


def _lacking(settings: Settings) -> Iterator[str]:
    if settings.tls_cert is None:
        yield _ENCRYPTION
    if settings.tokens is None and settings.tls_client_ca is None:
        yield _LOGIN


def _open_hosts(settings: Settings) -> Iterator[tuple[str, str]]:
    if not is_loopback(settings.host):
        yield "host", settings.host
    if settings.web_port is not None and not is_loopback(settings.web_host):
        yield "web_host", settings.web_host
    if settings.operations_port is not None and not is_loopback(settings.operations_host):
        yield "operations_host", settings.operations_host
