"""`add-role` and `repack`: a new bundle from parts of finished ones. The old ones stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from quizglass_bundle.fields import MANIFEST
from quizglass_bundle.files import Bundle
from quizglass_bundle.manifest import FileEntry, Manifest, nested
from quizglass_export.assembly.manifest import entries, files, write_json
from quizglass_export.assembly.parity_report import ParityReport, markdown
from quizglass_export.bundles.inspect import role_files, settings_of
from quizglass_export.checks import Check
from quizglass_export.directory import check_free, fresh_directory, place
from quizglass_export.errors import ExportError
from quizglass_export.roles.shared.towers import share_towers, tower_files

REPORT = "report.md"
_FIXED = ("files", "format", "parity", "provenance", "roles")
"""Top-level keys of the manifest that no option may replace as a whole."""


def _check_start(bundle: Bundle) -> None:
    """As of `roles.starting`, imported here since most changes need no engine."""
    from quizglass_export.roles import starting

    starting.check_start(bundle)


def check_addition(base: Bundle, roles: Sequence[str], out: Path, *, replace_roles: bool, replace: bool) -> None:
    """Raise ExportError where roles cannot be added, which is known before they are exported."""
    both = [role for role in roles if base.has(role)]
    if both and not replace_roles:
        raise ExportError(f"roles.{both[0]}: already in {base.root}; pass --replace-role to take the new one")
    check_free(out, replace)


def add_roles(
    base: Bundle, addition: Bundle, out: Path, *, replace_roles: bool = False, replace: bool = False
) -> Bundle:
    """A bundle with the roles of both.

    Args:
        base: gives name, settings and its roles.
        addition: gives the roles that are added.
        out: directory to write.
        replace_roles: whether a role that both have is taken from the addition.
        replace: whether an existing `out` may be replaced.

    Raises:
        ExportError, BundleError: both have a role, a prompt of one name differs, or a server would refuse the result.
    """
    check_addition(base, addition.roles.names(), out, replace_roles=replace_roles, replace=replace)
    kept = [role for role in base.roles.names() if role not in addition.roles.names()]
    content = base.manifest.model_dump(mode="json", exclude_none=True)
    parts = {role: settings_of(base, role) for role in kept}

    def fill(folder: Path) -> dict[str, Any]:
        placed = {name: base.manifest.files[name] for name in _needed(base, kept)}
        for name in placed:
            place(base.path(name), folder / name)
        for role in addition.roles.names():
            parts[role] = _bring(base, addition, role, folder, placed)
        shared, dropped = share_towers(
            parts, lambda tower: {name: placed[name].sha256 for name in tower_files(folder, tower)}
        )
        for name in dropped:
            (folder / name).unlink()
        content["roles"] = nested(shared)
        content["provenance"] = _joined(base, addition)
        _write_parity(folder, content, [(base, kept), (addition, addition.roles.names())])
        return content

    return _write(out, fill, replace, _check_start)


def repack(
    bundle: Bundle,
    out: Path,
    *,
    drop: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Bundle:
    """A bundle without some roles or with other settings.

    Args:
        bundle: what to repack.
        out: directory to write.
        drop: roles to leave out, with the files that only they need.
        settings: dotted key of the manifest to its new value, such as `thresholds.image_accept`.
        replace: whether an existing `out` may be replaced.

    Raises:
        ExportError, BundleError: a role is not there, a key unknown, a value out of range, or one of a role that a
            server would refuse.
    """
    for role in drop:
        if role not in bundle.roles.names():
            raise ExportError(f"--drop {role}: the bundle has {', '.join(bundle.roles.names())}")
    kept = [role for role in bundle.roles.names() if role not in drop]
    content = bundle.manifest.model_dump(mode="json", exclude_none=True)
    content["roles"] = nested({role: settings_of(bundle, role) for role in kept})
    for key, value in (settings or {}).items():
        _set(content, key, value)

    def fill(folder: Path) -> dict[str, Any]:
        for name in _needed(bundle, kept):
            place(bundle.path(name), folder / name)
        _write_parity(folder, content, [(bundle, kept)])
        return content

    changed = any(key.startswith("roles.") for key in settings or {})
    return _write(out, fill, replace, _check_start if changed else lambda made: None)


def _write(out: Path, fill: Callable[[Path], dict[str, Any]], replace: bool, check: Callable[[Bundle], None]) -> Bundle:
    check_free(out, replace)
    with fresh_directory(out) as folder:
        content = fill(folder)
        content["files"] = {name: entry.model_dump() for name, entry in entries(folder).items()}
        try:
            manifest = Manifest.model_validate(content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ExportError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from None
        write_json(folder / MANIFEST, manifest.model_dump(mode="json", exclude_none=True))
        check(Bundle.load(folder))
    return Bundle.load(out, hashes=False)  # they were compared before it took its place


def _needed(bundle: Bundle, roles: Sequence[str]) -> list[str]:
    return sorted({name for role in roles for name in role_files(bundle, role)})


def _bring(base: Bundle, addition: Bundle, role: str, folder: Path, placed: dict[str, FileEntry]) -> dict[str, Any]:
    """Place a role's files beside those that are there; a tokenizer whose name another one has gets a free name, and a
    vision tower, which a role that stays may run on, a directory of its own."""
    part = settings_of(addition, role)
    moved = _move_towers(addition, role, part, placed)
    for name in role_files(addition, role):
        entry, target = addition.manifest.files[name], moved.get(name, name)
        if placed.get(target, entry) != entry:
            if name != part.get("tokenizer"):
                raise ExportError(_differs(base, addition, name))
            part["tokenizer"] = target = _free_name(role, entry, placed)
        if target not in placed:
            place(addition.path(name), folder / target)
            placed[target] = entry
    return dict(part)


def _move_towers(addition: Bundle, role: str, part: dict[str, Any], placed: Mapping[str, FileEntry]) -> dict[str, str]:
    """Have a role's entry name its towers where they are put; file to that place, for those that are moved."""
    entries = [part, *part.get("grids", ())]
    towers = [entry["tower"] for entry in entries if "tower" in entry]
    names = [name for tower in towers for name in tower_files(addition.root, tower)]
    given = addition.manifest.files
    if all(placed.get(name, given[name]) == given[name] for name in names):
        return {}
    taken = {name.rpartition("/")[0] for name in placed}
    free = (folder for number in count(2) if (folder := f"{role}/towers-{number}") not in taken)
    # One for each that they come from: those of further sizes may be another role's, under the same name.
    folders = {folder: next(free) for folder in dict.fromkeys(name.rpartition("/")[0] for name in names)}
    moved = {name: f"{folders[name.rpartition('/')[0]]}/{name.rpartition('/')[2]}" for name in names}
    for entry in entries:
        if "tower" in entry:
            entry["tower"] = moved[entry["tower"]]
    return moved


def _differs(base: Bundle, addition: Bundle, name: str) -> str:
    """Why a file cannot be there twice, and what to do: prompts have a recipe's names, models their owner's."""
    differs = f"{name}: differs in {base.root} and {addition.root}"
    if name.endswith(".jinja"):
        return f"{differs}; give it another name"
    kept = (role for role in base.roles.names() if role not in addition.roles.names())
    stays = next(role for role in kept if name in role_files(base, role))
    return f"{differs}, and roles.{stays}, which stays, runs on it; name that in the recipe too, or drop it before"


def _free_name(role: str, entry: FileEntry, placed: Mapping[str, FileEntry]) -> str:
    """A name in the role's directory that no other tokenizer has."""
    names = chain([f"{role}/tokenizer.json"], (f"{role}/tokenizer-{number}.json" for number in count(2)))
    return next(name for name in names if placed.get(name, entry) == entry)


def _joined(base: Bundle, addition: Bundle) -> dict[str, Any]:
    provenance = dict(base.manifest.provenance)
    added = dict(provenance.get("added", {}))
    added.update(dict.fromkeys(addition.roles.names(), addition.manifest.provenance))
    return provenance | {"added": added}


def _write_parity(folder: Path, content: dict[str, Any], origins: Sequence[tuple[Bundle, Sequence[str]]]) -> None:
    """The comparisons of the roles that are kept, as they were made when those were exported."""
    checks, sources, compared = list[Check](), list[dict[str, Any] | None](), dict[str, str]()
    placed = {name: entry.sha256 for name, entry in entries(folder).items()}
    for bundle, roles in origins:
        report = ParityReport.of(bundle)
        checks += [check for check in report.checks if check.role in roles]
        sources.append(report.samples)
        hashes = report.compared or {}
        needed = _needed(bundle, roles)
        known = {digest for name, digest in hashes.items() if name in needed}
        compared |= {name: digest for name, digest in placed.items() if digest in known}  # under a new name, perhaps
        compared |= {name: digest for name, digest in hashes.items() if name in needed and name in placed}
    content["parity"] = "parity.json"
    document: dict[str, Any] = {"passed": all(check.passed for check in checks), "samples": sources[0]}
    document |= {"checks": list(map(asdict, checks))} | ({"compared": compared} if compared else {})
    write_json(folder / "parity.json", document if len(sources) == 1 else document | {"added_samples": sources[1:]})
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files(folder)}
    source = ", ".join(str((each or {}).get("source", "unknown")) for each in sources)
    told = markdown(f"{content['name']} {content['version']}", checks, sizes, source)
    (folder / REPORT).write_text(told, encoding="utf-8")


def _set(content: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    place: Any = content
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    if not isinstance(place, dict) or path[:1] in (["files"], ["provenance"]) or key in _FIXED:
        raise ExportError(f"--set {key}: no such setting in {MANIFEST}")
    place[last] = value
