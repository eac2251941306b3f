"""MediaWiki dumps whose articles are named by Wikidata items, as InfoSeek and ViQuAE name them.

A dump says an article's page number and address alone; which item it is stands in the wiki's `page_props.sql.gz`, which
Wikimedia publishes beside the dump: `(PAGE,'wikibase_item','Q243',NULL)`. An article that has none keeps the id of the
import, `wiki/SITE/PAGE`; its address is the source in any case.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import opened

_ITEM = re.compile(rb"\((\d+),'wikibase_item','(Q\d+)'")


class ItemsOfPages:
    """Wikidata items by page number, in a database on disk that is gone with the process: English has 7 M."""

    def __init__(self, path: Path) -> None:
        """Read `page_props.sql`, also packed.

        Raises:
            DatasetError: it cannot be read, or names no item.
        """
        self._database = sqlite3.connect("")
        self._database.execute("CREATE TABLE items (page INTEGER PRIMARY KEY, item TEXT NOT NULL)")
        with opened(path) as file:
            pairs = ((int(page), item.decode()) for line in file for page, item in _ITEM.findall(line))
            count = self._database.executemany("INSERT OR REPLACE INTO items VALUES (?, ?)", pairs).rowcount
        if not count:
            raise DatasetError(f"{path}: expected page_props.sql of a wiki, with rows (PAGE,'wikibase_item','Q...')")

    def of(self, page: int) -> str:
        """The item of a page; empty where it has none."""
        found = self._database.execute("SELECT item FROM items WHERE page = ?", (page,)).fetchone()
        return str(found[0]) if found else ""


def named_by_items(
    read: Callable[[ImportReport], Iterator[GoodLine | BadLine]], props: Path, report: ImportReport
) -> Iterator[GoodLine | BadLine]:
    """The articles of a dump, with their items as ids where they have one."""
    items = ItemsOfPages(props)
    for line in read(report):
        if isinstance(line, GoodLine) and (item := items.of(int(line.entry.id.rpartition("/")[2]))):
            yield replace(line, entry=replace(line.entry, id=item))
        else:
            yield line
