"""The knowledge store beside others: `make bench-knowledge`, or `python -m bench.knowledge --sizes 10000 100000`.

Every figure comes from a process of its own. Peers (Chroma, LanceDB, faiss, usearch and hnswlib alone) run in an
environment of their own, work/bench/peers-venv-knowledge, on the same vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import results
from bench.knowledge import plot
from bench.knowledge.table import table

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("speed", "rare", "damage", "kill")
_NEEDED = ("chromadb", "lancedb", "faiss-cpu", "usearch", "hnswlib", "numpy", "pyarrow")
_PEERS = ("hnswlib", "faiss", "usearch", "chroma", "lancedb")
_OURS = ("fill", "search", "start", "importing")


def main() -> None:
    """Measure, print, write bench/results/knowledge.json and its plots."""
    args = _arguments()
    console = Console()
    measured: dict[str, Any] = {"sizes": args.sizes}
    with tempfile.TemporaryDirectory(dir=args.folder) as scratch:
        folder = Path(scratch)
        if "speed" in args.only:
            peers = _environment(args.workdir, console)
            for size in args.sizes:
                measured[f"ours {size}"] = _ours(size, folder, console)
                measured[f"peers {size}"] = _peers(peers, size, folder, console)
        if "rare" in args.only:
            rare = [str(args.bundle), str(args.seed), str(args.things), str(folder)]
            measured["rare"] = _run([sys.executable, "-m", "bench.knowledge.rare", *rare], console)
        if "damage" in args.only:
            command = [sys.executable, "-m", "bench.knowledge.damage", "--json", "--mutations", str(args.mutations)]
            measured["damage"] = _run(command, console)
        if "kill" in args.only:
            command = [
                sys.executable,
                "-m",
                "bench.knowledge.kill",
                "--kills",
                str(args.kills),
                "--folder",
                str(folder),
            ]
            measured["kill"] = _run(command, console)
    rows = table(measured)
    results.show(rows, "knowledge", console)
    path = results.write("knowledge", rows, measured=measured)
    console.print(f"{path}, {', '.join(str(one) for one in plot.both(measured))}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="vectors")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--mutations", type=int, default=1_200)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=404, help="of the world with rare names")
    parser.add_argument("--things", type=int, default=2_000)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    parser.add_argument("--folder", type=Path, help="disk to measure on (default: the system's temporary folder)")
    return parser.parse_args()


def _environment(workdir: Path, console: Console) -> Path:
    """The peers' environment; made when it does not exist."""
    home = workdir / "peers-venv-knowledge"
    python = home / "bin" / "python"
    if not (home / ".whole").exists():
        console.print(f"installing {', '.join(_NEEDED)} into {home}")
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *_NEEDED], check=True)
        (home / ".whole").touch()
    return python.absolute()


def _ours(size: int, folder: Path, console: Console) -> dict[str, Any]:
    home = folder / f"ours-{size}"
    home.mkdir()
    done = {
        task: _run([sys.executable, "-m", "bench.knowledge.ours", task, str(size), str(home)], console)
        for task in _OURS
    }
    shutil.rmtree(home)
    return done


def _peers(python: Path, size: int, folder: Path, console: Console) -> dict[str, Any]:
    done = {}
    for name in _PEERS:
        home = folder / f"{name}-{size}"
        home.mkdir()
        done[name] = _run([str(python), "-m", "bench.knowledge.peers", name, str(size), str(home)], console)
        shutil.rmtree(home)
    return done


def _run(command: Sequence[str], console: Console) -> dict[str, Any]:
    """What a process reports in its last line. A measurement that fails ends the run: no figure is made up."""
    console.print(" ".join(command[1:5]), style="dim")
    variables = {"OMP_NUM_THREADS": "1", "ANONYMIZED_TELEMETRY": "False"}
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **variables}
    )
    lines = done.stdout.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode} and no figures")
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


if __name__ == "__main__":
    main()
