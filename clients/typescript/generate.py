"""Regenerates the checked-in TypeScript code of the protocol, below src/gen.

    python clients/typescript/generate.py           write the files
    python clients/typescript/generate.py --check   compare, and exit with 1 naming each file that differs

The generator is pinned in package.json (@bufbuild/protoc-gen-es); protoc comes with grpcio-tools.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import resources
from pathlib import Path

from google.rpc import status_pb2
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PROTOS = HERE.parents[1] / "protos"
OUT = HERE / "src" / "gen"
ERRORS = ("google/rpc/status.proto", "google/rpc/error_details.proto")
PLUGIN = HERE / "node_modules" / ".bin" / "protoc-gen-es"


def generate(out: Path) -> dict[Path, bytes]:
    """Generate the code of every .proto file into `out`; the files' contents by their paths relative to it.

    Raises:
        SystemExit: the generator is not installed, or a .proto file does not compile; protoc has said why.
    """
    if not PLUGIN.exists():
        raise SystemExit("protoc-gen-es is not installed; run `npm ci` in clients/typescript (needs Node 20 or later)")
    sources = sorted(path.relative_to(PROTOS).as_posix() for path in PROTOS.rglob("*.proto"))
    well_known = resources.files("grpc_tools") / "_proto"
    google = Path(status_pb2.__file__).parents[2]  # what errors carry: googleapis-common-protos
    flags = [f"--plugin=protoc-gen-es={PLUGIN}", f"--es_out={out}", "--es_opt=target=ts,import_extension=js"]
    if protoc.main(["protoc", f"-I{PROTOS}", f"-I{well_known}", f"-I{google}", *flags, *sources, *ERRORS]) != 0:
        raise SystemExit("clients/typescript/generate.py: a .proto file does not compile; see above")
    return contents(out)


def contents(root: Path) -> dict[Path, bytes]:
    """Files below `root`, by their paths relative to it."""
    return {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*_pb.ts"))}


def drift() -> tuple[dict[Path, bytes], list[Path]]:
    """The files as they should be, and the paths of those that are missing, stale or left over."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = generate(Path(folder))
    there = contents(OUT)
    return wanted, sorted(path for path in {*wanted, *there} if wanted.get(path) != there.get(path))


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(description="Regenerate the checked-in TypeScript code.")
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 when a file differs")
    arguments = parser.parse_args(argv)
    wanted, differing = drift()
    for path in differing:
        target = OUT / path
        if arguments.check:
            print(f"{target} is not what its .proto says; run `make protos-typescript`", file=sys.stderr)
            continue
        target.unlink(missing_ok=True)
        if path in wanted:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wanted[path])
            print(f"updated {target.relative_to(HERE)}")
    return 1 if differing and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
