"""The subcommands `inspect`, `verify`, `diff`, `add-role`, `repack` and `sign` of quizglass-export."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from quizglass_export.long_work import STOPPED, progress, stopping
from quizglass_export.terminal import PlainConsole, tell

if TYPE_CHECKING:
    from quizglass_export.assembly.plan import Plan

Command = Callable[[argparse.Namespace], int]
_JSON = "print JSON"


def add_commands(commands: Any) -> None:
    """Declare the subcommands and their flags."""
    inspect = _command(commands, "inspect", "show what is inside a bundle and what would run it here", run_inspect)
    inspect.add_argument("bundle", type=Path)
    verify = _command(commands, "verify", "check a bundle's hashes and models, and its parity again", run_verify)
    verify.add_argument("bundle", type=Path)
    verify.add_argument("--recipe", type=Path, help="compare again with the checkpoints of this recipe")
    diff = _command(commands, "diff", "show how two bundles differ; exit status 1 if they do", run_diff)
    diff.add_argument("first", type=Path)
    diff.add_argument("second", type=Path)
    add = _command(commands, "add-role", "export the roles of a recipe and write a bundle that has them too", run_add)
    add.add_argument("bundle", type=Path)
    add.add_argument("--recipe", type=Path, required=True, help="recipe with the roles to add")
    add.add_argument("--replace-role", action="store_true", help="take the new one of a role that is there")
    repack = _command(commands, "repack", "write a bundle with fewer roles or other settings", run_repack)
    repack.add_argument("bundle", type=Path)
    repack.add_argument("--drop", action="append", default=[], metavar="ROLE", help="leave this role out")
    repack.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the manifest, such as version=2 or thresholds.image_accept=0.4",
    )
    sign = _command(commands, "sign", "sign a bundle, for servers that require it (--require-signature)", run_sign)
    sign.add_argument("bundle", type=Path)
    sign.add_argument("--key", type=Path, required=True, help="private key of Ed25519, PEM without a password")
    for parser in (add, repack):
        parser.add_argument("--out", type=Path, required=True, help="the new bundle's directory")
        parser.add_argument("--replace", action="store_true", help="replace an existing directory")


def _command(commands: Any, name: str, text: str, run: Command) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--json", action="store_true", help=_JSON)
    parser.set_defaults(run=run)
    return parser


def _reporting(run: Command) -> Command:
    """Errors become one line and exit status 2, Ctrl-C and SIGTERM one line and 130."""

    @wraps(run)
    def wrapped(args: argparse.Namespace) -> int:
        return _reported(f"quizglass-export {args.command}", lambda: run(args))

    return wrapped


def _reported(command: str, run: Callable[[], int]) -> int:
    from quizglass_bundle.errors import BundleError
    from quizglass_bundle.inputs.prompts import PromptError
    from quizglass_export.errors import ExportError

    try:
        with stopping():
            return run()
    except (ExportError, BundleError, PromptError, OSError) as error:
        tell(f"{command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell(f"{command}: stopped; nothing was written", file=sys.stderr)
        return STOPPED


@_reporting
def run_inspect(args: argparse.Namespace) -> int:
    """Show what is inside. Returns 0, or 2 when the bundle is damaged."""
    from quizglass_bundle.files import Bundle
    from quizglass_export.bundles.inspect import describe

    found = describe(Bundle.load(args.bundle))
    if args.json:
        return _print_json(found)
    console = PlainConsole(markup=False)
    console.print(f"{found['name']} {found['version']}, format {found['format']}, {found['bytes']:,} bytes")
    console.print(f"digest {found['digest']}", soft_wrap=True)
    rows = [
        (role, each["kind"], each["precision"] or "", f"{each['bytes']:,}", " > ".join(each["runs_on"]))
        for role, each in found["roles"].items()
    ]
    console.print(_table(("role", "kind", "precision", "bytes", "would run on"), rows))
    policies = [
        (each["policy"], "yes" if each["servable"] else "no", *(", ".join(each[key]) for key in ("missing", "without")))
        for each in found["policies"]
    ]
    console.print(_table(("policy", "can be served", "missing", "works without"), policies))
    console.print(f"default policy: {found['default_policy'] or 'none, questions are refused'}")
    files = [(name, f"{entry['bytes']:,}", entry["sha256"][:16]) for name, entry in found["files"].items()]
    console.print(_table(("file", "bytes", "SHA-256 begins"), files))
    parity = found["parity"]
    console.print(
        f"parity when built: {'held' if parity['passed'] else 'unknown'}, {len(parity['checks'])} comparisons"
    )
    if not parity["hashes"]:
        console.print("parity.json names no hashes, so it cannot be told whether files were exchanged since")
    for what, names in (("exchanged since", parity["exchanged"]), ("never compared", parity["uncompared"])):
        if names:
            console.print(f"{what}: {', '.join(names)}", soft_wrap=True)
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """Check a bundle. Returns 0, or 2 when anything is wrong."""
    return verify_by("quizglass-export verify", args.bundle, lambda: _plan(args.recipe), json=args.json)


def verify_by(command: str, bundle: Path, plan: Callable[[], Plan | None], *, json: bool) -> int:
    """Check a bundle, compare it with the checkpoints of a plan where there is one, and print what was found."""
    return _reported(command, lambda: _verify(bundle, plan(), as_json=json))


def _verify(bundle: Path, plan: Plan | None, *, as_json: bool) -> int:
    from quizglass_export.bundles.verify import verification

    with progress(tuple(plan.sources)) if plan else nullcontext(lambda role: None) as advance:
        found = verification(bundle, plan, advance)
    if as_json:
        _print_json(found)
    else:
        console = PlainConsole(markup=False)
        console.print(f"{found['files']} files have their SHA-256; looked into {', '.join(found['models']) or 'none'}")
        rows = [
            (c["role"], c["measure"], f"{c['value']:.6g}", c["demand"], "yes" if c["passed"] else "NO")
            for c in found["checks"]
        ]
        if rows:
            console.print(_table(("role", "measure", "value", "demanded", "holds"), rows))
        else:
            console.print("parity not compared: pass --recipe")
    return 0 if found["passed"] else 2


@_reporting
def run_diff(args: argparse.Namespace) -> int:
    """Show differences. Returns 0 if there is none, 1 if there are, 2 when a bundle is damaged."""
    from quizglass_bundle.files import Bundle
    from quizglass_export.bundles.difference import compare

    found = compare(Bundle.load(args.first), Bundle.load(args.second))
    if args.json:
        _print_json(found)
    elif found["equal"]:
        tell("no difference")
    else:
        console = PlainConsole(markup=False)
        settings = [(each["key"], json.dumps(each["first"]), json.dumps(each["second"])) for each in found["settings"]]
        if settings:
            console.print(_table(("setting", str(args.first), str(args.second)), settings))
        files = [(each["name"], each["change"], _size(each["first_bytes"]), _size(each["second_bytes"]))
                 for each in found["files"]]  # fmt: skip
        if files:
            console.print(_table(("file", "change", str(args.first), str(args.second)), files))
        for name, lines in found["texts"].items():
            console.print(name, *lines, sep="\n", markup=False, highlight=False)
    return 0 if found["equal"] else 1


@_reporting
def run_sign(args: argparse.Namespace) -> int:
    """Sign a bundle. Returns 0, or 2 when it is damaged or the key is none."""
    from quizglass_bundle.files import Bundle
    from quizglass_bundle.signature import SIGNATURE, sign

    bundle = Bundle.load(args.bundle)
    sign(bundle.root, args.key, bundle.digest)
    if args.json:
        return _print_json({"bundle": str(args.bundle), "digest": bundle.digest, "signature": SIGNATURE})
    tell(f"{args.bundle / SIGNATURE}: signs {bundle.manifest.name} {bundle.manifest.version}, digest {bundle.digest}")
    return 0


@_reporting
def run_add(args: argparse.Namespace) -> int:
    """Add roles. Returns 0, or 2 when an input is wrong or parity does not hold."""
    from quizglass_bundle.files import Bundle
    from quizglass_export.assembly.carry_out import carry_out, step_names
    from quizglass_export.assembly.plan import make_plan
    from quizglass_export.bundles.change import add_roles, check_addition
    from quizglass_export.directory import hidden_beside
    from quizglass_export.recipe.read import read_recipe

    base, plan = Bundle.load(args.bundle), make_plan(read_recipe(args.recipe))
    how = {"replace_roles": args.replace_role, "replace": args.replace}
    check_addition(base, plan.file.recipe.roles.named(), args.out, **how)
    with hidden_beside(args.out) as folder:
        with progress(step_names(plan)) as advance:
            built = carry_out(plan, folder / "addition", advance=advance)
        made = add_roles(base, built.bundle, args.out, **how)
    return _made(made, args, built.measured)


@_reporting
def run_repack(args: argparse.Namespace) -> int:
    """Repack a bundle. Returns 0, or 2 when an input is wrong."""
    from quizglass_bundle.files import Bundle
    from quizglass_export.bundles.change import repack
    from quizglass_export.errors import ExportError

    settings = {}
    for text in args.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise ExportError(f"--set {text}: must be KEY=VALUE")
        settings[key] = _value(key, value)
    made = repack(Bundle.load(args.bundle), args.out, drop=args.drop, settings=settings, replace=args.replace)
    return _made(made, args)


def _value(key: str, text: str) -> Any:
    """A JSON value, or the text itself; names and versions are always text."""
    if key in ("name", "version", "abstain"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _made(bundle: Any, args: argparse.Namespace, measured: Mapping[str, Any] | None = None) -> int:
    """Say what was made; `measured` is by which figures precisions were chosen."""
    from quizglass_export.assembly.next_steps import chosen_precisions, next_steps

    found = {"bundle": str(args.out), "digest": bundle.digest, "roles": list(bundle.roles.names())}
    if measured:
        found["quickest"] = measured
    if args.json:
        return _print_json(found)
    tell(f"{args.out}: bundle {bundle.manifest.name} {bundle.manifest.version} with {', '.join(bundle.roles.names())}")
    tell(*chosen_precisions(measured or {}), *next_steps(bundle, args.out), sep="\n")
    return 0


def _plan(recipe: Path | None) -> Plan | None:
    if recipe is None:
        return None
    from quizglass_export.assembly.plan import make_plan
    from quizglass_export.recipe.read import read_recipe

    return make_plan(read_recipe(recipe))


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table()
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _size(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _print_json(value: Any) -> int:
    tell(json.dumps(value, indent=1))
    return 0
