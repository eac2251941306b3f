"""Articles as entries of a knowledge store: within its limits, and with ids that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from quizglass_client import Entry
from quizglass_client.cli.imports.report import ImportReport
from quizglass_lab.datasets.reading.pictures import last_of_address
from quizglass_server.knowledge.content.validation import (
    MAX_CAPTION,
    MAX_ID,
    MAX_PICTURES,
    MAX_SOURCE,
    MAX_TEXT,
    MAX_TITLE,
    MAX_VALUE,
)

_REFUSED = re.compile(r"[^A-Za-z0-9._:/-]")
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".JPG", ".gif")


def entry_id(name: str) -> str:
    """The name of an article as an id: itself where a store takes it, else with a digest in place of the rest."""
    if name and len(name) <= MAX_ID and not _REFUSED.search(name):
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{_REFUSED.sub('-', name)[: MAX_ID - 17]}-{digest}"


def article(
    name: str,
    title: str,
    text: str,
    report: ImportReport,
    *,
    caption: str = "",
    source: str = "",
    attributes: Mapping[str, str] | None = None,
    pictures: Iterable[Path] = (),
) -> Entry:
    """An entry within the store's limits; what is cut goes into the report.

    Args:
        name: what names it in the benchmark: a Wikidata item, an address, or a number.
        title: what it is called.
        text: the article.
        report: gets what is cut.
        caption: of its picture.
        source: its address; left out where it is longer than a store takes.
        attributes: facts by name.
        pictures: files that show it.
    """
    if len(text) > MAX_TEXT:
        report.cut(title, f"texts of more than {MAX_TEXT} characters are cut")
    shown = tuple(pictures)
    if len(shown) > MAX_PICTURES:
        report.cut(title, f"pictures after the first {MAX_PICTURES} are left out")
    short = {key: value for key, value in (attributes or {}).items() if value and len(value) <= MAX_VALUE}
    return Entry(
        entry_id(name),
        _line(title, MAX_TITLE) or entry_id(name),
        _line(caption, MAX_CAPTION),
        text=text[:MAX_TEXT],
        attributes=short,
        source=source if len(source) <= MAX_SOURCE else "",
        pictures=shown[:MAX_PICTURES],
    )


def _line(text: str, most: int) -> str:
    return " ".join(text.split())[:most]


class PicturesOfEntries:
    """A folder of downloaded pictures, found by the names that benchmarks give them.

    Args:
        root: the folder; None: there are none.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def of_address(self, url: str) -> Iterable[Path]:
        """The picture of an address, by the last part of that, as it stands there or decoded."""
        plain = url.partition("?")[0].rpartition("/")[2]
        yield from self._first(dict.fromkeys((last_of_address(url), plain)))

    def of_item(self, item: str) -> Iterable[Path]:
        """The picture of a Wikidata item, as OVEN's archive has them: `Q243.jpg`, or `Q806/Q806563.jpg`."""
        yield from self._first(f"{below}{item}{end}" for below in ("", f"{item[:4]}/") for end in _ENDINGS)

    def named(self, name: str) -> Iterable[Path]:
        """The picture of a file name."""
        yield from self._first((name, f"images/{name}"))

    def _first(self, names: Iterable[str]) -> Iterable[Path]:
        for name in names if self._root else ():
            parts = Path(name).parts
            if self._root is None or not parts or ".." in parts or parts[0] == "/":
                continue
            try:
                if (path := self._root.joinpath(*parts)).is_file():
                    return (path,)
            except (OSError, ValueError):  # a name that no file can have
                continue
        return ()
