"""The commands `quizglass-server tls` and `quizglass-server token`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import shtab
from pydantic import TypeAdapter, ValidationError

from quizglass.text import plain
from quizglass_server.config.audit import Note, audited
from quizglass_server.config.load import setting_of
from quizglass_server.config.settings import TLS_PACKAGES, AddressOptions
from quizglass_server.config.sources import PREFIX
from quizglass_server.errors import SettingsError
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import (
    SETTING,
    TENANT_WANTED,
    AccessToken,
    Pairing,
    TenantName,
    TokenFile,
    load_tokens,
    made,
)
from quizglass_server.scheduling.allowances import QUOTAS, Quota

_VARIABLE = f"{PREFIX}{SETTING.upper()}"
_AUDIT_LOG = "audit_log"
_TIME = re.compile(r"([1-9][0-9]{0,4})([hdwy])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365)}
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kMGT]B)?")
_SIZES = {None: 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_QUOTAS_HELP = (
    "engine_s=SECONDS and upload_bytes=SIZE a minute, turns=N at once, stored_bytes=SIZE, with commas between"
)
_CONFIG_HELP = "TOML file of settings, the server's, that names it"
_PHONES = """\
{authority} is what a device has to trust to connect without a warning; it is no secret. Its SHA-256 is
{fingerprint}
  Android   copy it to the phone; Settings, search for "CA certificate", install it
  iPhone    send it to the phone and open it; Settings, "Profile Downloaded", install it; then Settings, General, About,
            Certificate Trust Settings, switch it on
  browser   Firefox: Settings, "View Certificates", Authorities, Import; Chrome: Settings, Security, Manage certificates
  quizglass --ca {authority}, or QUIZGLASS_CA
{key} can make other devices believe in it: leave it readable to you alone."""


def add_commands(commands: Any, parser: type[argparse.ArgumentParser]) -> None:
    """Declare them below a command line's subparsers."""
    tls = commands.add_parser("tls", help="make a certificate for this machine", allow_abbrev=False)
    _add_init(tls.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=parser))
    token = commands.add_parser("token", help="add, list and revoke the tokens that clients need", allow_abbrev=False)
    _add_tokens(token.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=parser))


def run(given: argparse.Namespace) -> int:
    """Run one of them; returns the exit status. What changes something is a line of the audit log, if there is one.

    Raises:
        SettingsError: something that was given is wrong, or a file cannot be used.
    """
    if given.action == "list":
        _list(given)
        return 0
    change: dict[str, Any] = {"init": _init, "add": _add, "pair": _pair, "revoke": _revoke, "quota": _limit}
    audit_log = _setting(given, _AUDIT_LOG)
    with audited(Path(audit_log) if audit_log else None, f"{given.command} {given.action}") as note:
        change[given.action](given, note)
    return 0


def _add_init(actions: Any) -> None:
    init = actions.add_parser(
        "init",
        help="issue a certificate for this machine's names and addresses, by an authority of its own",
        description="Writes server.pem and server.key into DIR, for --tls-cert and --tls-key. The first time it makes "
        "an authority there too, authority.pem and authority.key, which issues them; devices have to trust it. Again, "
        "it renews the certificate with the names that it had: devices that trust the authority need nothing, a server "
        "that runs takes it up.",
        allow_abbrev=False,
    )
    init.add_argument("directory", metavar="DIR", type=Path).complete = shtab.DIRECTORY
    init.add_argument(
        "--name", action="append", default=[], help="a name or an address more by which clients call this machine"
    )
    _add_audit_log(init)
    init.add_argument("--config", type=Path, default=argparse.SUPPRESS, metavar="FILE", help=_CONFIG_HELP)


def _add_tokens(actions: Any) -> None:
    names = ", ".join(Permission)
    add = actions.add_parser("add", help="make a token, and print it", argument_default=argparse.SUPPRESS)
    add.add_argument("name", metavar="NAME", help="whom or what it is for; stands in the log")
    add.add_argument("--may", required=True, metavar="LIST", help=f"what it allows, with commas between: {names}")
    add.add_argument("--tenant", metavar="TENANT", default="", help="whose data it reaches [default: the server's own]")
    add.add_argument("--expires", metavar="TIME", default=None, help="after so long: 12h, 90d, 8w, 1y [default: never]")
    add.add_argument("--quota", metavar="LIST", default="", help=f"the most that it may take, {_QUOTAS_HELP}")
    quota = actions.add_parser(
        "quota",
        help="limit what a tenant may take",
        description=f"LIST is {_QUOTAS_HELP}; an empty one takes the limits away. A server that runs follows within "
        "seconds.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    quota.add_argument("quota", metavar="LIST")
    quota.add_argument("--tenant", metavar="TENANT", default="", help="whose [default: the server's own]")
    pair = actions.add_parser(
        "pair",
        help="make a code for which a device gets its token, and print it as a QR code",
        description="A device that scans the QR code, opens the link or runs `quizglass pair LINK` within ten minutes "
        "gets a token, once. Give the server's own --tls-cert, --port and --web-port, or its --config.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    pair.add_argument("name", metavar="NAME", help="what it is for; stands in the log")
    pair.add_argument("--may", required=True, metavar="LIST", help=f"what it allows, with commas between: {names}")
    pair.add_argument("--tenant", metavar="TENANT", default="", help="whose data the device reaches")
    pair.add_argument("--expires", metavar="TIME", default=None, help="of the token, after so long [default: never]")
    pair.add_argument("--address", metavar="HOST", default="", help="by which the device reaches this machine")
    for flag, value in (("--tls-cert", "FILE"), ("--host", "TEXT"), ("--port", "N"), ("--web-port", "N")):
        pair.add_argument(flag, metavar=value, help="of the server")
    every = actions.add_parser("list", help="show them, without what is secret", argument_default=argparse.SUPPRESS)
    revoke = actions.add_parser("revoke", help="make them invalid at once", argument_default=argparse.SUPPRESS)
    revoke.add_argument("name", metavar="NAME", help="all of a name, or the one of an id")
    revoke.add_argument("--tenant", metavar="T", help="of this tenant alone; '' is none")
    for each in (add, quota, pair, every, revoke):
        file = each.add_argument(f"--{SETTING}", metavar="FILE", help=f"file that has them ({_VARIABLE})")
        file.complete = shtab.FILE
        each.add_argument("--config", type=Path, metavar="FILE", help=_CONFIG_HELP)
        if each is not every:
            _add_audit_log(each)


def _add_audit_log(parser: Any) -> None:
    told = f"file to which a line on the change is added ({PREFIX}{_AUDIT_LOG.upper()})"
    parser.add_argument("--audit-log", metavar="FILE", default=argparse.SUPPRESS, help=told).complete = shtab.FILE


def _init(given: argparse.Namespace, note: Note) -> None:
    for name in TLS_PACKAGES:
        if find_spec(name) is None:
            raise SettingsError(f"tls init: {name} is not installed; in the clone: pip install '.[tls]'")
    from quizglass_server.network import authority  # its package is an extra

    directory: Path = given.directory
    issued = authority.issue(directory, given.name)
    certificate, key = directory / authority.CERTIFICATE, directory / authority.KEY
    note("certificate issued", file=str(certificate), expires=issued.expires.isoformat())
    _say(f"{certificate} is valid until {issued.expires:%Y-%m-%d}, for {', '.join(issued.names)}")
    if issued.left_out:
        told = f"the authority may not speak for {', '.join(issued.left_out)}, which the certificate lacks"
        _warn(f"{told}; {authority.ANOTHER_AUTHORITY}")
    _say(f"serve with --tls-cert {certificate} --tls-key {key}; one that runs with them takes them up within seconds")
    if issued.new_authority:
        shown = {"authority": directory / authority.AUTHORITY, "key": directory / authority.AUTHORITY_KEY}
        _say(_PHONES.format(**shown, fingerprint=issued.fingerprint))


def _add(given: argparse.Namespace, note: Note) -> None:
    text, token = made(given.name, _permissions(given.may), _expiry(given.expires), given.tenant, _quota(given.quota))
    file = TokenFile(_path(given))
    every = file.add(token)
    note("token added", count=1, added=[token.name], **_whose(token))
    same = [each.id for each in every.every if each.name == token.name and each != token]
    _warn(f"{_described(token)}; this is the only time that it is shown")
    if same:
        _warn(f"{token.name} has others as well: {', '.join(same)}; revoke them once this one is in use")
    print(text)


def _pair(given: argparse.Namespace, note: Note) -> None:
    from quizglass_server.network import pairing  # its QR codes take some milliseconds to load

    code, record = pairing.offered(given.name, _permissions(given.may), _expiry(given.expires), tenant=given.tenant)
    usual = AddressOptions()
    host = given.address or _setting(given, "host") or usual.host
    port, web_port = _port(given, "port") or usual.port, _port(given, "web_port")
    link = pairing.PublicAddress(host, port, web_port, _chain(given)).link(code)
    TokenFile(_path(given)).offer(record)
    note("pairing offered", device=record.name, **_whose(record))
    if sys.stderr.isatty():
        sys.stderr.write(pairing.qr_text(link))
    until = record.expires.astimezone()
    _warn(f"{record.name} may {', '.join(sorted(record.may))}; until {until:%H:%M} its code is {code}, or scan or open")
    print(link)


def _port(given: argparse.Namespace, name: str) -> int | None:
    text = _setting(given, name)
    if text and not (text.isdecimal() and 0 < int(text) < 1 << 16):
        raise SettingsError(
            f"{name}: {text[:80]!r} is no port that devices can be sent to; give the one of the ready line"
        )
    return int(text) if text else None


def _chain(given: argparse.Namespace) -> bytes | None:
    certificate = _setting(given, "tls_cert")
    try:
        return Path(certificate).read_bytes() if certificate else None
    except OSError as error:
        raise SettingsError(f"tls_cert: {certificate}: {error.strerror or error}") from error


def _list(given: argparse.Namespace) -> None:
    tokens = load_tokens(_path(given))
    for each in tokens.every:
        _say(_described(each))
    for tenant, quota in sorted(tokens.quotas.items()):
        _say(f"tenant {tenant or '(the server itself)'}  at most {_listed(quota)}")


def _limit(given: argparse.Namespace, note: Note) -> None:
    tenant = given.tenant
    if tenant and not TypeAdapter(TenantName).validator.isinstance_python(tenant):
        raise SettingsError(f"{tenant[:80]!r} is no name for a tenant: {TENANT_WANTED}")
    TokenFile(_path(given)).limit(tenant, quota := _quota(given.quota))
    note("quota set", tenant=tenant, quota=_listed(quota) or "none")


def _revoke(given: argparse.Namespace, note: Note) -> None:
    gone = (file := TokenFile(_path(given))).revoke(given.name, getattr(given, "tenant", None))
    whose = {"ids": [each.id for each in gone], "tenant": next((each.tenant for each in gone), "")}
    note("token revoked", count=len(gone), revoked=[each.name for each in gone] or [given.name], **whose)
    for each in gone:
        _say(f"revoked: {_described(each)}")
    ids = {each.id for each in gone}
    for each in load_tokens(file.path).every:
        if each.paired_by in ids:
            _say(f"still valid, paired by {each.paired_by}: {_described(each)}")


def _whose(given: AccessToken | Pairing) -> dict[str, object]:
    """About a token or a code, for the audit log."""
    return {"ids": [given.id], "tenant": given.tenant, "may": sorted(given.may)}


def _path(given: argparse.Namespace) -> Path:
    """The file of tokens."""
    named = _setting(given, SETTING)
    if not named:
        raise SettingsError(f"{SETTING}: required; give --{SETTING}, {_VARIABLE} or {SETTING} in the file of settings")
    return Path(named)


def _setting(given: argparse.Namespace, name: str) -> str:
    """A setting as the server finds it, by flag, variable or file of settings; empty: it is not given."""
    return setting_of(name, getattr(given, name, None), getattr(given, "config", None))


def _permissions(given: str) -> Sequence[Permission]:
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in list(Permission):
            raise SettingsError(f"--may: {name[:80]!r} is none of {', '.join(Permission)}")
    return [Permission(name) for name in names]


def _expiry(given: str | None) -> datetime | None:
    if given is None:
        return None
    form = _TIME.fullmatch(given)
    if form is None:
        raise SettingsError(f"--expires: {given[:80]!r} is no time such as 12h, 90d, 8w or 1y")
    try:
        return (datetime.now(UTC) + int(form[1]) * _UNITS[form[2]]).replace(microsecond=0)
    except OverflowError:
        raise SettingsError(f"--expires: {given} is too far away; leave it out for never") from None


def _quota(given: str) -> Quota:
    """The quota of a list such as `turns=2,upload_bytes=500MB`."""
    most: dict[str, str] = {}
    for each in filter(None, (part.strip() for part in given.split(","))):
        name, _, text = each.partition("=")
        form = _SIZE.fullmatch(text)
        if name not in QUOTAS or form is None or (form[2] and not name.endswith("_bytes")):
            raise SettingsError(f"--quota: {each[:80]!r} is none of {_QUOTAS_HELP}")
        most[name] = str(int(float(form[1]) * _SIZES[form[2]])) if name.endswith("_bytes") else form[1]
    try:
        return TypeAdapter(Quota).validate_python(most)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise SettingsError(f"--quota: {first['loc'][0]}: {first['msg']}") from None


def _listed(quota: Quota) -> str:
    shown = ((name, getattr(quota, name)) for name in QUOTAS)
    return ",".join(f"{name}={most:g}" if isinstance(most, float) else f"{name}={most}" for name, most in shown if most)


def _described(token: AccessToken) -> str:
    until = "for ever" if token.expires is None else f"until {token.expires:%Y-%m-%d %H:%M} UTC"
    over = " (expired)" if token.is_over() else ""
    tenant = f"tenant {token.tenant}  " if token.tenant else ""
    most = f"  at most {listed}" if (listed := _listed(token.quota)) else ""
    return f"{token.id}  {token.name}  {tenant}may {', '.join(sorted(token.may))}  {until}{over}{most}"


def _say(text: str) -> None:
    print("\n".join(plain(line) for line in text.splitlines()))


def _warn(text: str) -> None:
    print(plain(text), file=sys.stderr)
