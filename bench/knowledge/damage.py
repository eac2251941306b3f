"""Damages every file of a knowledge store in every way, and looks at what the store then answers.

    python -m bench.knowledge.damage --each 1000

Two stores are taken: one that was closed in order, and one whose process ended without closing, with its write-ahead
log. A mutation cuts a file, flips bits, zeroes a page, removes it, or puts another file in its place: another one of
the same store, the same one of another store, or what it was some commits ago. An answer that differs from the whole
store's without an error is silently wrong. What was refused is repaired, and then everything that remains must be
right. Every file that a store has is damaged `--each` times, half of them in each of the two stores.
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
from bench.knowledge.corpus import entries, entry, opened

ROOT = Path(__file__).resolve().parents[2]
_PAGE = 4096
_DELETED = (7, 30, 66)
_RETURNING = {entry(number).entry.id for number in _DELETED}
_WAIT_S = 120.0
_SHARED = Path("/dev/shm")
MEMORY = _SHARED if _SHARED.is_dir() else None
"""Damage does not depend on the disk, which takes its time for every commit."""


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

    files: dict[str, Counter[str]] = field(default_factory=dict)
    """For each file: right, refused, wrong, crashed; of those refused also repaired, repaired-in-part, irreparable,
    repaired-wrong, repair-crashed."""
    bad: list[tuple[Mutation, str]] = field(default_factory=list)

    def note(self, mutation: Mutation, outcome: str) -> None:
        """Count what became of a mutation."""
        self.files.setdefault(f"{mutation.state} {role(mutation.file)}", Counter())[outcome] += 1

    @property
    def outcomes(self) -> Counter[str]:
        """Over all files."""
        return sum(self.files.values(), Counter())


def role(file: str) -> str:
    """What a file is, whatever its generation: the part of an index snapshot's name that stays, else its name."""
    return Path(file).name.split("-")[0] if file.endswith(".index") else Path(file).name


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
        said = self._ask(damaged, repair=False)
        outcome = self._judge(said)
        verdicts.note(mutation, outcome)
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
        verdicts.note(mutation, outcome)
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
            if whole is None and entry_id in _RETURNING and any("commits are missing" in d for d in said["doubts"]):
                continue  # the commit that deleted it is one of those
            if whole is None or (value != whole and (value[:-1] != whole[:-1] or entry_id not in lost)):
                return f"entry {entry_id} is not as it was"
            if value == whole and (unfound := self._unfound(entry_id, said["answers"])):
                return f"{unfound} does not find entry {entry_id}"
        missing = set(self.expected["entries"]) - set(remaining)
        told = len(said["lost"]) + said["nameless"]
        if len(missing) > told and not said["doubts"]:
            return f"{len(missing)} entries are missing, {told} losses were reported"
        return ""

    def _unfound(self, entry_id: str, answers: dict[str, Any]) -> str:
        """The first search for an entry that remains whole and is not answered by it as before."""
        for way in ("text", "picture", "words"):
            key = f"{way} {entry_id.removeprefix('e')}"
            if key in self.expected and self.expected[key][:1] != answers[key][:1]:
                return key
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
        case ["swap", "file"]:
            content = bytearray(dice.choice([one for one in _files(directory) if one != path]).read_bytes())
        case ["swap", other]:  # the same one of another store, or an older one of the same
            content = bytearray(_twin(stores / f"{other}-{mutation.state}", mutation.file, dice).read_bytes())
    path.write_bytes(content)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def _twin(source: Path, file: str, dice: random.Random) -> Path:
    """What plays the same part there; any file where nothing does."""
    files = _files(source)
    return dice.choice([path for path in files if role(path.name) == role(file)] or files)


def mutations(trial: Trial, each: int, seed: int) -> Iterator[tuple[Mutation, int]]:
    """`each` mutations of every file that a store has, in every way in turn; of both stores where both have it."""
    ways = ("flip", "zero", "cut", "flip", "swap other", "flip", "swap file", "zero", "swap older", "empty", "remove")
    files: dict[str, list[tuple[str, str]]] = {}
    for state in ("closed", "crashed"):
        for file in trial.files(state):
            files.setdefault(role(file), []).append((state, file))
    for number in range(each):
        for found in files.values():
            state, file = found[number % len(found)]
            yield Mutation(state, file, ways[number % len(ways)]), seed + number


def run(each: int, seed: int, step: Callable[[int], None] = lambda _: None, place: Path | None = MEMORY) -> Verdicts:
    """Make stores in a folder, damage copies, judge; every file `each` times. `step` hears how many are done."""
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        trial = Trial(Path(folder))
        try:
            for number, (mutation, dice) in enumerate(mutations(trial, each, seed)):
                trial.run(mutation, dice, verdicts)
                step(number + 1)
        finally:
            trial.close()
    return verdicts


async def _make(folder: Path, name: str) -> None:
    """A store that was closed, a copy of it as a process that dies would leave it, and both as they were before."""
    working, half = folder / f"{name}closed", COUNT // 2
    base = await opened(working)
    await base.add(entries(range(half), name))
    await base.settle()
    await base.close()
    shutil.copytree(working, folder / f"older-{name}closed")
    base = await opened(working)
    await base.add(entries(range(half, half + 9), name))
    shutil.copytree(working, folder / f"older-{name}crashed")
    for start in range(half + 9, COUNT, 9):
        await base.add(entries(range(start, min(start + 9, COUNT)), name))
    for number in _DELETED:
        await base.delete(entry(number, name).entry.id)
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
    parser.add_argument("--each", type=int, default=1000, help="mutations of every file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="end with a line of JSON")
    parser.add_argument("--folder", type=Path, default=MEMORY, help="where to put the stores (default: in memory)")
    args = parser.parse_args()

    def step(done: int) -> None:
        print(f"\r{done}", end="", file=sys.stderr, flush=True)

    verdicts = run(args.each, args.seed, step, args.folder)
    print(file=sys.stderr)
    for file, outcomes in sorted(verdicts.files.items()):
        print(f"{file:32} {', '.join(f'{outcome} {count}' for outcome, count in sorted(outcomes.items()))}")
    for mutation, words in verdicts.bad:
        print(f"{mutation.state}/{mutation.file} {mutation.how}: {words}")
    if args.json:
        outcomes, bad = verdicts.outcomes, [f"{m.state}/{m.file} {m.how}: {words}" for m, words in verdicts.bad]
        print(json.dumps({"each": args.each, "files": verdicts.files, "outcomes": outcomes, "bad": bad}))
    sys.exit(1 if verdicts.bad else 0)


if __name__ == "__main__":
    main()
