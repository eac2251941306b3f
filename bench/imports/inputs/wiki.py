"""Dumps of MediaWiki: read back by ElementTree, page by page."""

from __future__ import annotations

import bz2
import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in

_NOT_ARTICLES = re.compile(
    r"(?i)^(?:talk|user|file|template|category|help|mediawiki|wikipedia|project|portal|module)[ _]?(?:talk)?:"
)
_HOSTILE: tuple[bytes, ...] = (
    b"<mediawiki><page><title>" + b"x" * (20 << 20),
    b"<mediawiki>" + b"<page>" * 90_000,
    b"<mediawiki><page><title>t</title><ns>0</ns><id>1</id><revision><text>"
    + b"{{" * 90_000
    + b"</text></revision></page></mediawiki>",
    b"<mediawiki><page><title>t</title><ns>0</ns><id>1</id><revision><text>"
    + b"[[" * 90_000
    + b"</text></revision></page></mediawiki>",
    b"<mediawiki><page><title>t</title><ns>0</ns><id>1</id><revision><text>"
    + b"&lt;b&gt;" * 30_000
    + b"</text></revision></page></mediawiki>",
    b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;">' % ((n + 1,) + (n,) * 8) for n in range(97, 110))
    + b"]><mediawiki>&n;</mediawiki>",
    b"<mediawiki><page>" + b"<revision><id>1</id><text>old</text></revision>" * 40_000 + b"</page></mediawiki>",
    b'<?xml version="1.0" encoding="nonsense"?><mediawiki/>',
    b"<rss><channel><item><title>a</title></item></channel></rss>",
    b"<mediawiki>" * 50_000,
)


def _gzipped(content: bytes) -> bytes:
    """The same whenever it is drawn: without the time at which it was."""
    return gzip.compress(content, mtime=0)


def draw(random: Random, folder: Path) -> Drawn:
    """A dump of some pages."""
    suffix, pack = random.choice(((".xml", bytes), (".xml", bytes), (".xml.bz2", bz2.compress), (".xml.gz", _gzipped)))
    path = folder / f"dump{suffix}"
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 4, 3, 2))[0]
    if state == HOSTILE:
        path.write_bytes(pack(random.choice(_HOSTILE)))
        return Drawn(path, state)
    raw = _dump(random, Words(random), odd=state != PLAIN).encode()
    if state == DAMAGED and random.random() < 0.3:
        path.write_bytes(damaged(random, pack(raw)))
        return Drawn(path, state)
    if state == DAMAGED:
        raw = damaged(random, raw)
    path.write_bytes(pack(raw))
    return Drawn(path, state, tuple(seen(raw, whole=state != DAMAGED)))


def seen(raw: bytes, *, whole: bool) -> list[Seen]:
    """The words of each article, as far as the dump can be read.

    Those are of its title, and of what its latest revision says beside references and comments; of a dump that is not
    `whole` of titles alone, since what markup says that is damaged is not to be told from outside.
    """
    found: list[Seen] = []
    number = 0
    try:
        for _, page in ElementTree.iterparse(io.BytesIO(raw)):
            if page.tag.rpartition("}")[2] == "page":
                number += 1
                title, shown = _article(page)
                found += seen_in(f"{title} {shown}" if whole else title, [f"page {number}", title], number)
    except (ElementTree.ParseError, ValueError, LookupError):  # damaged; ValueError: of its encoding
        pass
    return found


def _article(page: ElementTree.Element) -> tuple[str, str]:
    """Title and text of an article; empty where a page is none."""
    title, space = page.findtext("{*}title") or "", page.findtext("{*}ns")
    article = space == "0" if space is not None else not _NOT_ARTICLES.match(title)
    revisions = page.findall("{*}revision")
    if not article or not revisions or page.find("{*}redirect") is not None:
        return "", ""
    latest = max(revisions, key=lambda revision: revision.findtext("{*}timestamp") or "")
    text = latest.findtext("{*}text") or ""
    if re.match(r"(?i)\s*#redirect", text):
        return "", ""
    return title, re.sub(r"(?s)<ref\b[^>]*?(?:/>|>.*?</ref>)|<!--.*?-->", " ", text)


def _dump(random: Random, words: Words, *, odd: bool) -> str:
    spaces = not odd or random.random() < 0.8
    pages = "".join(_page(random, words, number, spaces=spaces, odd=odd) for number in range(1, random.randrange(2, 9)))
    namespace = random.choice(("0.11", "0.10", "0.3")) if odd else "0.11"
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{namespace}/" xml:lang="en"><siteinfo>'
        f"<base>https://en.example.org/wiki/Main_Page</base></siteinfo>{pages}</mediawiki>"
    )


def _page(random: Random, words: Words, number: int, *, spaces: bool, odd: bool) -> str:
    kind = random.random()
    title, space, redirect = words(), 0, ""
    text = _text(random, words, odd=odd)
    if kind < 0.1:
        title, space = f"Talk:{title}", 1
    elif kind < 0.2:
        text, redirect = f"#REDIRECT [[{words()}]]", f'<redirect title="{words()}" />' if spaces else ""
    revisions = [("2020-01-01T00:00:00Z", text)]
    if odd and random.random() < 0.3:
        revisions += [("2010-01-01T00:00:00Z", words()), ("2015-01-01T00:00:00Z", words())]
        random.shuffle(revisions)
    told = "".join(
        f"<revision><id>{at}</id><timestamp>{when}</timestamp><text>{escape(said)}</text></revision>"
        for at, (when, said) in enumerate(revisions)
    )
    return (
        f"<page><title>{title}</title>{f'<ns>{space}</ns>' if spaces else ''}<id>{number}</id>{redirect}{told}</page>"
    )


def _text(random: Random, words: Words, *, odd: bool) -> str:
    return "\n\n".join(
        random.choice(_PARTS if odd else _PARTS[:4])(random, words) for _ in range(random.randrange(1, 7))
    )


def _infobox(random: Random, words: Words) -> str:
    return f"{{{{Infobox {words()}\n| name = {words()}\n| maker = [[{words()}]]\n| price = {words()}\n}}}}"


_PARTS: tuple[Callable[[Random, Words], str], ...] = (
    lambda random, words: " ".join(words.sentence() for _ in range(random.randrange(1, 7))),
    lambda random, words: f"== {words()} ==\n{words.sentence()}",
    lambda random, words: f"'''{words()}''' is a [[car|{words()}]] and [[{words()}]].<ref>{words()}</ref>",
    lambda random, words: f"* {words()}\n* {words()}\n** {words()}",
    _infobox,
    lambda random, words: f"<!-- {words()} -->{words()}",
    lambda random, words: f"It is {{{{nowrap|{words()}}}}} and {{{{convert|330|m}}}} high.",
    lambda random, words: f"[https://example.org {words()}] {words()} <b>{words()}</b>",
    lambda random, words: f"== {words()} ==\n\n== {words()} ==",
    lambda random, words: f": {words()}\n; {words()}\n# {words()}",
    lambda random, words: f"{words()} &amp; {words()} &nbsp; {words()}",
)
