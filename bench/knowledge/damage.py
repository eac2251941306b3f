"""Damages every file of a knowledge store in every way, and looks at what the store then answers.

    python -m bench.knowledge.damage --mutations 1000

Two stores are taken: one that was closed in order, and one whose process ended without closing, with its write-ahead
log. A mutation cuts a file, flips bits, zeroes a page, removes it, or puts another file in its place: another one of
the same store, or the same one of another store. An answer that differs from the whole store's without an error is
silently wrong. What was refused is repaired, and then everything that remains must be right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.knowledge.answers import COUNT, answer
from bench.knowledge.corpus import entries, opened

ROOT = Path(__file__).resolve().parents[2]
_PAGE = 4096
_WAIT_S = 120.0
_MEMORY = Path("/dev/shm")  # damage does not depend on the disk, which takes its time for every commit


@dataclass(frozen=True)
class Mutation:
    """One damage, reproducible from its words."""

    state: str
    """closed or crashed."""
    file: str
    how: str


@dataclass
class Verdicts:
    """What became of the mutations."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """right, refused, wrong, crashed; repaired, repaired-wrong, irreparable, repair-crashed."""
    bad: list[tuple[Mutation, str]] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)


class Trial:
    """Whole stores to damage copies of."""

    def __init__(self, folder: Path) -> None:
        """Make them."""
        self.folder = folder
        self._worker: subprocess.Popen[str] | None = None
        for name in ("", "other-"):
            asyncio.run(_make(folder, name))
        self.expected = asyncio.run(_expected(folder / "expected", folder / "closed"))

    def files(self, state: str) -> list[str]:
        """Files of a store, relative to it."""
        root = self.folder / state
        return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())

    def run(self, mutation: Mutation, seed: int, verdicts: Verdicts) -> None:
        """Damage a copy, ask it, and if it refuses repair it and ask again."""
        damaged = self.folder / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(self.folder / mutation.state, damaged)
        mutate(damaged, mutation, self.folder, random.Random(seed))
        verdicts.files[f"{mutation.state}/{Path(mutation.file).suffix or mutation.file}"] += 1
        said = self._ask(damaged, repair=False)
        outcome = self._judge(said)
        verdicts.outcomes[outcome] += 1
        if outcome in ("wrong", "crashed"):
            verdicts.bad.append((mutation, f"{outcome} (seed {seed}) {self._difference(said)}"))
        if outcome == "refused":
            self._repair(damaged, mutation, seed, verdicts)

    def close(self) -> None:
        """End the process that answers."""
        if self._worker is not None:
            assert self._worker.stdin is not None
            self._worker.stdin.close()
            self._worker.wait(_WAIT_S)

    def _repair(self, damaged: Path, mutation: Mutation, seed: int, verdicts: Verdicts) -> None:
        said = self._ask(damaged, repair=True)
        outcome = {"crashed": "repair-crashed", "refused": "irreparable", "right": "repaired"}.get(
            self._judge(said), ""
        )
        if not outcome:
            wrong = self._wrong_after_repair(said)
            outcome = "repaired-wrong" if wrong else "repaired-in-part"
            if wrong:
                verdicts.bad.append((mutation, f"{outcome} (seed {seed}) {wrong}"))
        verdicts.outcomes[outcome] += 1
        if outcome == "repair-crashed":
            verdicts.bad.append((mutation, f"{outcome} (seed {seed})"))

    def _judge(self, said: dict[str, Any] | None) -> str:
        if said is None:
            return "crashed"
        if "refused" in said:
            return "refused"
        return "right" if said["answers"] == self.expected else "wrong"

    def _difference(self, said: dict[str, Any] | None) -> str:
        if said is None:
            return ""
        return ", ".join(key for key, value in said["answers"].items() if value != self.expected.get(key))[:200]

    def _wrong_after_repair(self, said: dict[str, Any] | None) -> str:
        """After a repair, entries may be missing that it named; the others must be as they were."""
        assert said is not None
        if any("another store" in doubt for doubt in said["doubts"]):
            return ""
        lost, remaining = " ".join(said["lost"]), said["answers"]["entries"]
        for entry_id, value in remaining.items():
            whole = self.expected["entries"].get(entry_id)
            if whole is None or (value != whole and (value[:-1] != whole[:-1] or entry_id not in lost)):
                return f"entry {entry_id} is not as it was"
        missing = set(self.expected["entries"]) - set(remaining)
        told = len(said["lost"]) + said["nameless"]
        if len(missing) > told and not said["doubts"]:
            return f"{len(missing)} entries are missing, {told} losses were reported"
        return ""

    def _ask(self, directory: Path, *, repair: bool) -> dict[str, Any] | None:
        """The store's answers, from a process of their own; None when that died."""
        if self._worker is None or self._worker.poll() is not None:
            command = [sys.executable, "-m", "bench.knowledge.answers"]
            self._worker = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(json.dumps({"directory": str(directory), "repair": repair}) + "\n")
        line = self._worker.stdout.readline()
        if line:
            said: dict[str, Any] = json.loads(line)
            return said
        self._worker.wait(_WAIT_S)
        return None


def mutate(directory: Path, mutation: Mutation, stores: Path, dice: random.Random) -> None:
    """Damage one file of a store."""
    path = directory / mutation.file
    content = bytearray(path.read_bytes())
    match mutation.how.split():
        case ["cut"]:
            del content[dice.randrange(len(content) + 1) :]
        case ["empty"]:
            content.clear()
        case ["flip"]:
            for _ in range(dice.choice((1, 1, 1, 3))):
                if content:
                    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        case ["zero"]:
            start = dice.randrange(max(1, len(content) // _PAGE + 1)) * _PAGE
            content[start : start + _PAGE] = bytes(len(content[start : start + _PAGE]))
        case ["remove"]:
            path.unlink()
            return
        case ["swap", other]:
            source = stores / f"other-{mutation.state}" if other == "store" else directory
            twin = _twin(source, mutation.file, other, dice)
            content = bytearray(twin.read_bytes())
    path.write_bytes(content)


def _twin(source: Path, file: str, other: str, dice: random.Random) -> Path:
    """The file to put in its place: the same one of another store, or any other one of this store."""
    files = sorted(path for path in source.rglob("*") if path.is_file() and path.stat().st_size)
    if other == "store":
        twins = [path for path in files if path.suffix == Path(file).suffix and path.name[:4] == Path(file).name[:4]]
    else:
        twins = [path for path in files if path != source / file]
    return dice.choice(twins or files)


def mutations(trial: Trial, count: int, seed: int) -> Iterator[tuple[Mutation, int]]:
    """`count` mutations, every file in every way in turn."""
    ways = ("flip", "zero", "cut", "flip", "empty", "swap store", "flip", "swap file", "remove", "flip", "zero")
    every = [(state, file, way) for way in ways for state in ("closed", "crashed") for file in trial.files(state)]
    for number in range(count):
        state, file, way = every[number % len(every)]
        yield Mutation(state, file, way), seed + number


def run(count: int, seed: int, step: Callable[[int], None] = lambda _: None) -> Verdicts:
    """Make stores, damage copies, judge."""
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        trial = Trial(Path(folder))
        try:
            for number, (mutation, dice) in enumerate(mutations(trial, count, seed)):
                trial.run(mutation, dice, verdicts)
                step(number + 1)
        finally:
            trial.close()
    return verdicts


async def _make(folder: Path, name: str) -> None:
    """A store that was closed, and a copy of it as a process that dies would leave it."""
    working = folder / f"{name}closed"
    base = await opened(working)
    await base.add(entries(range(COUNT // 2), name))
    await base.settle()
    await base.close()
    base = await opened(working)
    for start in range(COUNT // 2, COUNT, 9):
        await base.add(entries(range(start, min(start + 9, COUNT)), name))
    await base.settle()
    shutil.copytree(working, folder / f"{name}crashed")
    await base.close()


async def _expected(scratch: Path, store: Path) -> dict[str, Any]:
    shutil.copytree(store, scratch)
    said = await answer(scratch)
    answers: dict[str, Any] = json.loads(json.dumps(said["answers"]))
    return answers


def main() -> None:
    """Damage, judge, print; exit with 1 when anything was wrong or crashed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="end with a line of JSON")
    args = parser.parse_args()
    verdicts = run(args.mutations, args.seed, lambda done: print(f"\r{done} of {args.mutations}", end="", flush=True))
    print()
    for outcome, count in sorted(verdicts.outcomes.items()):
        print(f"{outcome:18} {count}")
    for mutation, words in verdicts.bad:
        print(f"{mutation.state}/{mutation.file} {mutation.how}: {words}")
    if args.json:
        print(json.dumps({"mutations": args.mutations, "outcomes": verdicts.outcomes, "bad": len(verdicts.bad)}))
    sys.exit(1 if verdicts.bad else 0)


if __name__ == "__main__":
    main()
