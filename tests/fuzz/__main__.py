"""`python -m tests.fuzz [ENTRY ...] [--minutes M]`: look for inputs that make an entry fail or take long.

Needs atheris (`pip install atheris`), which follows what each input reaches. An input that fails is kept in
`.run/fuzz/`, to be put into `corpus/` with what mends it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from time import process_time
from types import ModuleType

HERE = Path(__file__).parent
FAILED = Path(".run/fuzz")
ENTRIES = sorted(folder.name for folder in (HERE / "corpus").iterdir())
MOST_BYTES = 4096


def main() -> int:
    """Run entries one after the other, each in a process of its own. Returns how many failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("entries", nargs="*", default=ENTRIES, metavar="ENTRY", help=", ".join(ENTRIES))
    parser.add_argument("--minutes", type=float, default=10.0, help="for each")
    parser.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.within:
        _fuzz(args.entries[0], args.minutes)
    failed = [entry for entry in args.entries if _apart(entry, args.minutes)]
    print(f"failed: {', '.join(failed)}" if failed else f"{', '.join(args.entries)}: nothing failed")
    return len(failed)


def _apart(entry: str, minutes: float) -> int:
    """The exit status of an entry's process: libFuzzer ends its own."""
    print(f"{entry}: {minutes:g} minutes", flush=True)
    command = [sys.executable, "-m", "tests.fuzz", entry, "--minutes", f"{minutes}", "--within"]
    return subprocess.run(command, check=False).returncode


def _fuzz(name: str, minutes: float) -> None:
    """Run one entry in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["quizglass_server", "tests.fuzz"]):
        entry = import_module(f"tests.fuzz.{name}")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        words = Path(scratch) / "words"
        words.write_text("\n".join(map(_quoted, entry.WORDS)) + "\n", encoding="utf-8")
        found = Path(scratch) / "found"
        found.mkdir()
        FAILED.mkdir(parents=True, exist_ok=True)
        limits = [f"-max_total_time={minutes * 60:.0f}", f"-max_len={MOST_BYTES}"]
        options = [*limits, f"-dict={words}", f"-artifact_prefix={FAILED}/{name}-"]
        folders = [str(found), str(HERE / "corpus" / name)]
        atheris.Setup([name, *options, *folders], lambda data: _timed(entry, data))
        atheris.Fuzz()


def _timed(entry: ModuleType, data: bytes) -> None:
    """One input, which fails too if it takes a core for too long."""
    began = process_time()
    entry.enter(data)
    if (took := process_time() - began) > 2 * entry.LONGEST_S:  # following what is reached takes about as long again
        raise TimeoutError(f"{took:.3f} s; {entry.LONGEST_S:g} at most")


def _quoted(word: str) -> str:
    """A word as libFuzzer's dictionaries have it; characters beyond ASCII's printable ones stand for bytes."""
    plain = "".join(each if " " <= each <= "~" and each not in '"\\' else f"\\x{ord(each):02x}" for each in word)
    return f'"{plain}"'


if __name__ == "__main__":
    sys.exit(main())
