"""Reads articles in a process that can be ended: the parser takes minutes for some short texts, and any memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from quizglass_client.cli.imports.wiki.article import Article, ArticleReader

_LONGEST_MARKUP = 4_000_000  # characters; twice what MediaWiki takes by default
_AT_ONCE = 2_000  # characters that are read here: they take milliseconds, whatever they are
_PATIENCE_S = 60.0  # by the clock: of a machine that is busy, or of a system that does not count processor time
_LEAST_S, _S_A_CHARACTER = 2.0, 8e-6  # of processor time: dense markup takes a quarter of that
_MEMORY = 800 << 20
_READY = b"ready\n"


class BoundedReader:
    """Reads articles, long ones in one process for all of them. Close it with `close`."""

    def __init__(self, reader: ArticleReader, patience_s: float = _PATIENCE_S) -> None:
        """Give no article more than so many seconds, nor more processor time than its length explains."""
        self._reader = reader
        self._patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, markup: str) -> Article:
        """What is in an article.

        Raises:
            ValueError: it takes too long or too much memory.
            Exception: whatever the parser raises.
        """
        if len(markup) > _LONGEST_MARKUP:
            raise ValueError(f"it has {len(markup)} characters, more than {_LONGEST_MARKUP}")
        if len(markup) <= _AT_ONCE:
            return self._reader.read(markup)
        if self._process is None:
            self._process = _started()
        allowed = min(self._patience_s, _LEAST_S + _S_A_CHARACTER * len(markup))
        answer = self._answer(
            self._process, json.dumps([allowed, self._reader.not_shown, markup]).encode("ascii") + b"\n"
        )
        if not answer.endswith(b"\n"):
            self.close()
            raise ValueError(f"its markup takes more than {allowed:.3g} seconds, or too much memory")
        said = json.loads(answer)
        if isinstance(said, str):
            raise ValueError(said)
        return Article(**said)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _answer(self, process: subprocess.Popen[bytes], question: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(self._patience_s, process.kill)
        timer.start()
        try:
            with suppress(OSError):  # it has ended
                process.stdin.write(question)
                process.stdin.flush()
            return process.stdout.readline()
        finally:
            timer.cancel()


def _started() -> subprocess.Popen[bytes]:
    """A process that is ready to read. Raises ValueError when it does not get so far."""
    process = subprocess.Popen(  # noqa: S603  # our own module, no shell
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    if process.stdout.readline() != _READY:
        process.kill()
        process.communicate()
        raise ValueError("the process that reads long articles cannot be started")
    return process


def main() -> None:
    """Read one article a line, as JSON, and answer with a line: what is in it, or in words why it cannot be read."""
    import mwparserfromhell

    with suppress(ImportError):  # of a system that bounds no processes
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        try:
            allowed, not_shown, markup = json.loads(line)
            with _at_most(allowed):
                said: object = asdict(ArticleReader(mwparserfromhell, not_shown).read(markup))
        except Exception as error:  # the parser's own, of markup that it gives up on
            said = str(error) or type(error).__name__
        sys.stdout.buffer.write(json.dumps(said).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End this process when what follows takes more processor time: nothing else interrupts the parser."""
    if not hasattr(signal, "setitimer"):  # another system's, where the process is ended from without
        yield
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
