"""Knowledge goes to a server in batches, on from where it stopped, in bounded memory."""

import json
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import pytest

from quizglass.values import Refused
from quizglass_client import Client, Entry, ServerUnavailable
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.types import AddReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.knowledge.finding import find
from quizglass_lab.knowledge.importing import import_once


class Storing(Client):
    """A client whose server takes entries two at a time, refuses those called "no", and may break off."""

    def __init__(self, batches: int = 1000) -> None:
        self.ids: list[str] = []
        self._left = batches

    def add_entries(
        self,
        entries: Iterable[Entry],
        *,
        on_progress: Callable[[AddReport], None] | None = None,
        batch: int = 64,
    ) -> AddReport:
        report, stream, index = AddReport(), iter(entries), 0
        while piece := list(islice(stream, 2)):
            if not self._left:
                raise ServerUnavailable("gone")
            self._left -= 1
            refused = [(i, each) for i, each in enumerate(piece, index) if each.title == "no"]
            report += AddReport(
                len(piece) - len(refused), tuple(Refused(i, each.id, "title", "is no") for i, each in refused)
            )
            index += len(piece)
            self.ids += [each.id for each in piece]
            if on_progress is not None:
                on_progress(report)
        return report


def articles(path: Path, count: int, text: str = "It is red.") -> Path:
    lines = [
        {"wikidata_id": f"Q{n}", "wikipedia_title": "no" if n == 3 else f"Thing {n}", "wikipedia_content": text}
        for n in range(1, count + 1)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_an_import_goes_on_where_the_server_broke_off_and_is_done_once(tmp_path: Path) -> None:
    source, ticks = find(articles(tmp_path / "Wiki6M.jsonl", 7)), list[int]()
    with pytest.raises(ServerUnavailable):
        import_once(Storing(batches=2), source, tmp_path, "", ticks.append)
    rest = Storing()
    imported = import_once(rest, source, tmp_path, "", ticks.append)
    assert rest.ids == ["Q5", "Q6", "Q7"], "four were on the server's disk"
    assert (imported.added, imported.refused, imported.examples) == (6, 1, ("Q3: is no",))
    assert sum(ticks) == 4 + 4 + 3, "the second sitting begins with what is there"
    again = Storing()
    assert import_once(again, source, tmp_path, "", ticks.append) == imported
    assert again.ids == []
    import_once(again, source, tmp_path, "10.0.0.7:50051", ticks.append)
    assert len(again.ids) == 7, "another server has none of them"


def test_a_file_that_has_changed_in_the_middle_of_its_import_is_told(tmp_path: Path) -> None:
    path = articles(tmp_path / "Wiki6M.jsonl", 7)
    with pytest.raises(ServerUnavailable):
        import_once(Storing(batches=2), find(path), tmp_path, "", print)
    articles(path, 9)
    with pytest.raises(DatasetError, match="is of another import, or the file has changed; delete it to begin anew"):
        import_once(Storing(), find(path), tmp_path, "", print)


def peak(path: Path) -> int:
    """Most bytes in use while a file is read."""
    tracemalloc.start()
    try:
        for _ in find(path).source.read(ImportReport()):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["lines", "object"])
def test_what_reading_takes_does_not_grow_with_the_file(tmp_path: Path, form: str) -> None:
    def written(count: int) -> Path:
        if form == "lines":
            return articles(tmp_path / f"{count}.jsonl", count, "word " * 800)
        article = {"title": "Thing", "section_titles": ["Thing"], "section_texts": ["word " * 800]}
        path = tmp_path / f"{count}.json"
        path.write_text(json.dumps({f"https://en.wikipedia.org/wiki/{n}": article for n in range(count)}))
        return path

    peak(written(10))  # what is imported by the first reading is no part of it
    assert peak(written(2000)) < peak(written(100)) + (1 << 20), "8 MB of text, of which an article is held at a time"
