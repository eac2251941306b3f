"""Regenerates the blocking modules of the client from those for asyncio: each `sync.py` from the `aio.py` beside it.

    python clients/python/generate.py           write the files
    python clients/python/generate.py --check   compare, and exit with 1 when one differs

`async` and `await` go; names lose `Async`, `async_` and `_on_thread`. What is said of event loops and worker threads is
replaced by the texts of `MODULES`.
"""

from __future__ import annotations

import argparse
import io
import keyword
import subprocess
import sys
import tokenize
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "quizglass_client"
CONFIG = PACKAGE.parents[2] / "pyproject.toml"
NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "StopAsyncIteration": "StopIteration",
    "aclosing": "closing",
}
CLIENT = {
    "The client for asyncio programs; `quizglass_client.sync` is generated from it (`make client`).": (
        "The client for programs that wait for each call. Generated from aio.py by `make client`; edit that."
    ),
    "A connection to a quizglass server, for one event loop.": (
        "A connection to a quizglass server; safe to share between threads."
    ),
    " Cancelling the task cancels the call; pictures are read and resized on\n    worker threads.": "",
    "\n        RuntimeError: made outside of a running event loop.": "",
    "Closing the generator cancels the turn: wrap it in `contextlib.aclosing` when the loop may be left early.": (
        "Closing the generator, or leaving it, cancels the turn."
    ),
    "iterated on a worker thread, a batch at a time.": "read as it is sent.",
}
SESSION = {
    "The session for asyncio programs; `quizglass_client.session.sync` is generated from it (`make client`).": (
        "The session for programs that wait for each call. Generated from aio.py by `make client`; edit that."
    ),
    "A wearable's session with a quizglass server, for one event loop.": (
        "A wearable's session with a quizglass server; safe to share between threads."
    ),
}
MODULES: Mapping[str, Mapping[str, str]] = {".": CLIENT, "session": SESSION}
"""Folders of the package with such a pair of modules, and the texts that are replaced, each of which is there once."""


def blocking(source: str, texts: Mapping[str, str]) -> str:
    """The blocking twin of a module for asyncio, formatted.

    Raises:
        ValueError: a text to be replaced is not in it exactly once.
    """
    for text, instead in texts.items():
        if source.count(text) != 1:
            raise ValueError(
                f"aio.py has {source.count(text)} times, not once: {text!r}; mend the texts in generate.py"
            )
        source = source.replace(text, instead)
    lines = source.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        if token.type != tokenize.NAME:
            continue
        (row, start), (_, end) = token.start, token.end
        line = lines[row - 1]
        rest = line[end:].lstrip(" ") if token.string in ("async", "await") else line[end:]
        lines[row - 1] = line[:start] + _name(token.string) + rest
    return _formatted("".join(lines))


def _name(name: str) -> str:
    if keyword.iskeyword(name):
        return "" if name in ("async", "await") else name
    return NAMES.get(name, name.replace("Async", "").replace("async_", "").removesuffix("_on_thread"))


def _formatted(source: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    # Imports in their order again; what without its `async for` is a list (C416), or `yield from` (UP028).
    fix = ["check", "--select", "I,C416,UP028", "--fix", "--unsafe-fixes"]
    for command in (fix, ["format"]):
        source = subprocess.run(  # noqa: S603  # the project's own formatter, no shell
            [*ruff, *command, "--quiet", "--config", str(CONFIG), "--stdin-filename", "quizglass_client/sync.py", "-"],
            input=source,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    return source


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(description="Regenerate the blocking client.")
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 when a file differs")
    check, stale = parser.parse_args(argv).check, 0
    for folder, texts in MODULES.items():
        target = PACKAGE / folder / "sync.py"
        name = target.relative_to(PACKAGE.parent)
        wanted = blocking((PACKAGE / folder / "aio.py").read_text(encoding="utf-8"), texts)
        if target.exists() and target.read_text(encoding="utf-8") == wanted:
            continue
        if check:
            print(f"{name} is not what aio.py says; run `make client`", file=sys.stderr)
            stale = 1
        else:
            target.write_text(wanted, encoding="utf-8")
            print(f"updated {name}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
