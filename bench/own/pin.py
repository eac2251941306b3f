"""`python -m bench.own.pin`: write the SHA-256 of every photograph that is named, from the packages installed here.

To be run by whoever adds a thing, after looking at its photograph.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from bench.own.dataset import WAYS, all_things
from bench.own.photographs import DEBIAN, PINS, in_package
from bench.own.pictures import BACKGROUNDS
from quizglass_export.everyday.weights import PHOTOGRAPHS


def names() -> list[str]:
    """All photographs that are named."""
    named = {thing.picture for thing in all_things()} | {thing.seen for thing in all_things()} | {*BACKGROUNDS}
    return sorted(named - {"", *WAYS})


def main() -> None:
    """Write the file."""
    pypi = {name: digest for package in PHOTOGRAPHS for name, digest in package.files.items()}
    digests = {}
    for name in names():
        source, _, path = name.partition(":")
        if source not in DEBIAN:
            digests[name] = pypi[path]
            continue
        data = in_package(Path("/") / DEBIAN[source][1], source, path)
        if data is None:
            raise SystemExit(f"{name}: not there; apt install {DEBIAN[source][0]}")
        digests[name] = hashlib.sha256(data).hexdigest()
    record = {"debian": {package: _version(package) for package, _ in DEBIAN.values()}, "sha256": digests}
    PINS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _version(package: str) -> str:
    command = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # our own command, no shell


if __name__ == "__main__":
    main()
