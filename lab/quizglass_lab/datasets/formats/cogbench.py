"""CogBench (CogPlanner, Yu et al., 2025): planning traces over multimodal questions.

No files of this benchmark could be found published, neither in a repository nor as a data set, so this is not a
published format: it holds the fields that the paper names (query, picture, domain, number of hops, the actions,
reformulated queries and documents of each round, answer), one JSON object a line or a list of them.

    {"id", "query", "image": "FILE", "answer", "domain": "", "hops": 2, "open_ended": false, "split": "test",
     "rounds": [{"queries": ["..."], "action": "text" | "image" | "none", "documents": ["..."]}]}

`id`, `query` and `answer` are required. Pictures are looked for by `image`, below the folder. The data set of the same
name about cognitive dynamics of language models (CogGPT) is another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from quizglass_lab.datasets.reading.files import Placed, json_items, json_lines
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.pocketworld.question import Hop


class _Round(Published):
    queries: list[str] = Field(default_factory=list)
    action: Literal["text", "image", "none"]
    documents: list[str] = Field(default_factory=list)


class _Trace(Published):
    id: str
    query: str
    answer: str
    image: str = ""
    domain: str = ""
    hops: int | None = None
    open_ended: bool = False
    split: str = ""
    rounds: list[_Round] = Field(default_factory=list)


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions with their traces."""
    for path in paths:
        for place, record in _records(path):
            trace = checked(_Trace, record, place)
            yield Sample(
                trace.id,
                trace.query,
                (trace.answer,),
                (pictures.picture(trace.image, (trace.image, f"images/{trace.image}")),) if trace.image else (),
                dataset="cogbench",
                split=trace.split,
                evidence=tuple(document for each in trace.rounds for document in each.documents),
                hops=tuple(_hops(trace.rounds)),
                hop_count=trace.hops,
                answer_type="open-ended" if trace.open_ended else "",
                domain=trace.domain,
                place=place,
                source=record,
            )


def _records(path: Path) -> Iterator[Placed]:
    return json_items(path, "") if path.name.removesuffix(".gz").endswith(".json") else json_lines(path)


def _hops(rounds: Sequence[_Round]) -> Iterator[Hop]:
    for number, each in enumerate(rounds):
        for query in each.queries if each.action != "none" else ():
            yield Hop(each.action, query, "", "", number)
