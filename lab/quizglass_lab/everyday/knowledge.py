"""The sample knowledge as a folder that `quizglass knowledge import` takes, and the photographs to ask about.

Facts of one thing are one entry; a photographed thing has its photograph and a short text of our own. What is asked
about is each photograph taken anew: cut, turned and smaller, so that no picture is looked up by itself.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from PIL import Image

from quizglass_export.everyday.weights import PHOTOGRAPHS
from quizglass_lab.everyday.facts import Fact, all_facts
from quizglass_lab.everyday.wording import sentence

TABLE = Path(__file__).with_name("photographs.csv")
KNOWLEDGE, ASKED = "knowledge-source", "photographs-asked"
"""Folders of the work directory: what is imported, and what is asked about."""
_SIDE, _CUT, _TURN = 640, 0.06, 5


@dataclass(frozen=True, slots=True)
class AskedPhotograph:
    """A question about a photograph, and words of which a right answer has one."""

    file: str
    question: str
    right: tuple[str, ...]


EIGHT = (
    AskedPhotograph("chelsea.png", "What does this animal eat?", ("meat", "mice", "birds")),
    AskedPhotograph("coffee.png", "Which country does this drink come from?", ("Italy",)),
    AskedPhotograph("rocket.jpg", "Which company builds this rocket?", ("SpaceX",)),
    AskedPhotograph("china.jpg", "In which city does this tower stand?", ("Beijing",)),
    AskedPhotograph("flower.jpg", "Which country does this flower come from?", ("Mexico",)),
    AskedPhotograph("coins.png", "What are these coins made of?", ("silver",)),
    AskedPhotograph("retina.jpg", "What is the spot of sharpest vision of this called?", ("fovea",)),
    AskedPhotograph("hubble_deep_field.jpg", "In which constellation is this?", ("Fornax",)),
)


def write_knowledge(workdir: Path) -> int:
    """Write the folder to import and the photographs to ask about; returns the number of entries.

    Raises:
        OSError: a file of the packages, which must have been fetched, cannot be read.
    """
    folder = workdir / KNOWLEDGE
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    entries = [*photographed(workdir), *told(all_facts(workdir))]
    lines = [json.dumps(entry, ensure_ascii=False, sort_keys=True) + "\n" for entry in entries]
    (folder / "entries.jsonl").write_text("".join(lines), encoding="utf-8")
    (workdir / ASKED).mkdir(exist_ok=True)
    for asked in EIGHT:
        taken_anew(_photograph(workdir, asked.file)).save(asked_path(workdir, asked), quality=90)
    return len(entries)


def asked_path(workdir: Path, asked: AskedPhotograph) -> Path:
    """Where the photograph that is asked about lies."""
    return workdir / ASKED / f"{Path(asked.file).stem}.jpg"


def photographed(workdir: Path) -> Iterator[Mapping[str, Any]]:
    """An entry for each photograph; it is copied into the folder as a JPEG."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = f"pictures/{Path(row['file']).stem}.jpg"
            _photograph(workdir, row["file"]).save(workdir / KNOWLEDGE / name, quality=92)
            about = {key: row[key] for key in ("title", "kind", "caption", "text", "source")}
            yield {"id": f"photograph/{Path(row['file']).stem}", "pictures": [name], **about}


def told(facts: list[Fact]) -> Iterator[Mapping[str, Any]]:
    """An entry for each thing that there are facts about."""
    ordered = sorted(facts, key=lambda fact: (fact.kind, fact.thing))
    for number, ((kind, thing), group) in enumerate(groupby(ordered, key=lambda fact: (fact.kind, fact.thing))):
        own = list(group)
        yield {
            "id": f"{kind}/{number}",
            "title": thing,
            "kind": kind,
            "text": " ".join(sentence(fact, at) for at, fact in enumerate(own)),
            "attributes": {fact.name: fact.value for fact in own},
            "source": own[0].source,
        }


def taken_anew(picture: Image.Image) -> Image.Image:
    """The middle of a photograph, turned a little and made smaller."""
    width, height = picture.size
    inner = picture.crop((round(_CUT * width), round(_CUT * height), round((1 - _CUT) * width), height))
    inner.thumbnail((_SIDE * 3 // 4, _SIDE * 3 // 4), Image.Resampling.LANCZOS)
    return inner.rotate(_TURN, resample=Image.Resampling.BICUBIC, fillcolor="white")


def _photograph(workdir: Path, name: str) -> Image.Image:
    with Image.open(workdir / PHOTOGRAPHS[0].folder / name) as image:
        rgb = image.convert("RGB")
    rgb.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    return rgb
