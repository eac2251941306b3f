"""Regenerates the checked-in Python code of every .proto file below this folder.

    python protos/generate.py           write the files
    python protos/generate.py --check   compare, and exit with 1 naming each file that differs

The generator is pinned in pyproject.toml (grpcio-tools), because generated code asks for at least its own version.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")


def generate(protos: Path, out: Path) -> list[Path]:
    """Generate the code of all .proto files below `protos` into `out`; returns the paths, relative to `out`.

    Raises:
        SystemExit: a .proto file does not compile; protoc has said why.
    """
    sources = sorted(path.relative_to(protos).as_posix() for path in protos.rglob("*.proto"))
    well_known = resources.files("grpc_tools") / "_proto"
    flags = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main(["protoc", f"-I{protos}", f"-I{well_known}", *flags, *sources]) != 0:
        raise SystemExit("protos/generate.py: a .proto file does not compile; see above")
    for path in out.rglob("*_pb2_grpc.py"):
        # protoc writes this file for messages without a service too, and then it holds nothing.
        if "class " not in path.read_text():
            path.unlink()
    return generated(out)


def generated(root: Path) -> list[Path]:
    """Paths of generated files below `root`, relative to it."""
    return sorted(path.relative_to(root) for path in root.rglob("*") if path.name.endswith(SUFFIXES))


def drift(protos: Path) -> list[Path]:
    """Generated files that are missing, stale or left over, relative to `protos`."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        wanted = generate(protos, fresh)
        return sorted(
            path
            for path in {*wanted, *generated(protos)}
            if path not in wanted or not (protos / path).exists() or not _same(fresh / path, protos / path)
        )


def write(protos: Path) -> list[Path]:
    """Bring the generated files below `protos` up to date; returns those that changed, relative to it."""
    changed = drift(protos)
    for path in changed:
        (protos / path).unlink(missing_ok=True)
    generate(protos, protos)
    return changed


def _same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(description="Regenerate the checked-in protobuf code.")
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 when a file differs")
    arguments = parser.parse_args(argv)
    if not arguments.check:
        for path in write(HERE):
            print(f"updated protos/{path}")
        return 0
    differing = drift(HERE)
    for path in differing:
        print(f"protos/{path} is not what its .proto says; run `make protos`", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
