"""Packs directories for a machine without a network: one archive, in pieces that are small enough to be carried."""

from __future__ import annotations

import argparse
import sys
import tarfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

_PIECE = 60 << 20
_PART = 1 << 20


def pack(arguments: Sequence[str]) -> int:
    """`pack OUT DIR...`: write OUT/packed.tar.xz.00, .01, ... and print how they are put together again."""
    parser = argparse.ArgumentParser(prog="bench.gpu pack", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("directories", type=Path, nargs="+")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    whole = args.out / "packed.tar.xz"
    with tarfile.open(whole, "w:xz", preset=5) as archive:
        for directory in args.directories:
            archive.add(directory, directory.name)
    pieces = list(_pieces(whole))
    whole.unlink()
    print(f"{len(pieces)} pieces of at most {_PIECE >> 20} MiB; there: cat packed.tar.xz.* | tar xJ", file=sys.stderr)
    for piece in pieces:
        print(f"{sha256(piece.read_bytes()).hexdigest()}  {piece.name}")
    return 0


def _pieces(whole: Path) -> Iterator[Path]:
    with whole.open("rb") as source:
        number = 0
        while part := source.read(_PART):
            piece = whole.with_name(f"{whole.name}.{number:02}")
            with piece.open("wb") as target:
                target.write(part)
                while target.tell() < _PIECE and (part := source.read(_PART)):
                    target.write(part)
            yield piece
            number += 1
