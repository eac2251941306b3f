"""`python deploy/advisories.py SBOM ADVISORIES`: parts with known vulnerabilities, without a network.

ADVISORIES is what https://osv.dev publishes for PyPI: its `all.zip`, or one file of JSON, a record or a list of them.
Ends with 1 where a part has a vulnerability, with 2 where a file cannot be read.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

Record = Mapping[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    sbom, advisories = map(Path, arguments)
    try:
        parts = {_plain(part["name"]): part["version"] for part in json.loads(sbom.read_text())["components"]}
        records = list(_records(advisories))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        print(f"{sbom}, {advisories}: cannot be read: {error}", file=sys.stderr)
        return 2
    found = sorted({each for record in records for each in _hits(record, parts)})
    for line in found:
        print(line)
    newest = max((record.get("modified", "") for record in records), default="none")
    print(f"{len(parts)} parts, {len(records)} advisories, the newest of {newest}: {len(found)} vulnerabilities")
    return 1 if found else 0


def _records(path: Path) -> Iterator[Record]:
    if not zipfile.is_zipfile(path):
        read = json.loads(path.read_text())
        yield from read if isinstance(read, list) else [read]
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def _hits(record: Record, parts: Mapping[str, str]) -> Iterator[str]:
    """What a record says of these parts; nothing where it was withdrawn."""
    for affected in () if "withdrawn" in record else record.get("affected", ()):
        package = affected.get("package", {})
        version = parts.get(_plain(package.get("name", "")))
        if package.get("ecosystem") == "PyPI" and version is not None and _is_affected(affected, version):
            summary = " ".join(str(record.get("summary", "")).split())[:100]
            yield f"{package['name']} {version}: {record['id']} {summary}".rstrip()


def _is_affected(affected: Record, text: str) -> bool:
    if text in affected.get("versions", ()):
        return True
    try:
        version = Version(text)
        ranges = [each["events"] for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM"]
        return any(_within(events, version) for events in ranges)
    except InvalidVersion:
        return False


def _within(events: Sequence[Mapping[str, str]], version: Version) -> bool:
    """Whether a version lies between what introduced a vulnerability and what fixed it."""
    inside = False
    for event in sorted(events, key=lambda event: Version(next(iter(event.values())))):
        ((kind, limit),) = event.items()
        if kind == "introduced" and version >= Version(limit):
            inside = True
        elif (kind in ("fixed", "limit") and version >= Version(limit)) or (
            kind == "last_affected" and version > Version(limit)
        ):
            inside = False
    return inside


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
