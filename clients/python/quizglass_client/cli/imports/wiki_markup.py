"""What is in the markup of a wiki's article: its infobox and its text.

Templates, tables and references are left out of the text; the parameters of an infobox become attributes, its name the
kind. The parser takes minutes for some short texts, so what is not short is read by a process that can be ended.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

_INFOBOX = re.compile(r"infobox[\s_]*(.*)", re.IGNORECASE | re.DOTALL)
_FILE_LINK = re.compile(r"(?i)^\s*(?:file|image|category|datei|bild|kategorie|fichier|catégorie|archivo|categoría):")
_LONGEST_VALUE, _LONGEST_KEY, _MOST_FACTS, _LONGEST_TEXT = 500, 60, 200, 200_000
_LONGEST_MARKUP = 4_000_000  # characters; twice what MediaWiki takes by default
_AT_ONCE = 2_000  # characters that are read here: they take milliseconds, whatever they are
_PATIENCE_S = 20.0
_MEMORY = 2 << 30
_READY = b"ready\n"

Read = tuple[str, dict[str, str], str]
"""Kind, attributes and text of an article."""


class WikiMarkup:
    """Reads articles, long ones in one process for all of them. Close with `close`."""

    def __init__(self, parser: Any, patience_s: float = _PATIENCE_S) -> None:
        """Read with mwparserfromhell, and give no article more than so many seconds."""
        self._parser = parser
        self._patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, markup: str) -> Read:
        """Kind, attributes and text of an article.

        Raises:
            ValueError: it takes too long or too much memory.
            Exception: whatever the parser raises.
        """
        if len(markup) > _LONGEST_MARKUP:
            raise ValueError(f"it has {len(markup)} characters, more than {_LONGEST_MARKUP}")
        if len(markup) <= _AT_ONCE:
            return read_markup(markup, self._parser)
        if self._process is None:
            self._process = _started()
        answer = self._answer(self._process, json.dumps(markup).encode("ascii") + b"\n")
        if not answer.endswith(b"\n"):
            self.close()
            raise ValueError(f"its markup takes more than {self._patience_s:g} seconds, or too much memory")
        said = json.loads(answer)
        if isinstance(said, str):
            raise ValueError(said)
        kind, attributes, text = said
        return kind, attributes, text

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


def read_markup(markup: str, parser: Any) -> Read:
    """Kind, attributes and text of an article. Raises whatever the parser does."""
    code = parser.parse(markup)
    kind, attributes = _infobox(code, parser)
    return kind, attributes, _plain(code)[:_LONGEST_TEXT]


def _infobox(code: Any, parser: Any) -> tuple[str, dict[str, str]]:
    for template in code.filter_templates(recursive=False):
        match = _INFOBOX.fullmatch(str(template.name).strip())
        if match is None:
            continue
        facts: dict[str, str] = {}
        for parameter in template.params:
            key = " ".join(str(parameter.name).replace("_", " ").split())[:_LONGEST_KEY]
            value = " ".join(_plain(parser.parse(str(parameter.value))).split())
            if parameter.showkey and key and 0 < len(value) <= _LONGEST_VALUE and len(facts) < _MOST_FACTS:
                facts[key] = value
        return " ".join(match[1].split())[:_LONGEST_KEY], facts
    return "", {}


def _plain(code: Any) -> str:
    """Text with a blank line between paragraphs; headings are paragraphs of their own."""
    for link in code.filter_wikilinks(recursive=False):
        if _FILE_LINK.match(str(link.title)):
            code.remove(link)
    for tag in code.filter_tags(matches=lambda node: str(node.tag).lower() in ("ref", "table", "gallery")):
        try:
            code.remove(tag)
        except ValueError:  # it went with one around it
            continue
    text = str(code.strip_code(normalize=True, collapse=True))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return re.sub(r"\n{2,}", "\n\n", "\n\n".join(line for line in lines if line))


def main() -> None:
    """Read one article a line, as JSON, and answer with a line: what is in it, or in words why it cannot be read."""
    import mwparserfromhell

    with suppress(ImportError):  # of a system that bounds no processes
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        try:
            said: object = read_markup(json.loads(line), mwparserfromhell)
        except Exception as error:  # the parser's own, of markup that it gives up on
            said = str(error) or type(error).__name__
        sys.stdout.buffer.write(json.dumps(said).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
