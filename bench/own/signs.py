"""Words in photographs: signs, labels, screens, price tags and spines that are drawn into those of the things.

Beside the plainest rule: read out all that stands there, whatever is asked. Half of the photographs show something that
the store knows, so that a note may be taken for the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np

from bench.own.asking import Asker, Told
from bench.own.dataset import READ, OwnThing, all_things
from bench.own.judge import says_any
from bench.own.lettered import SIGNS, Surface, photographed, surfaces
from bench.own.photographs import Photographs
from bench.own.pictures import seen
from bench.results import Row
from bench.sections import Part
from quizglass_lab.scoring.answers import refuses

_HERE = Path(__file__).parent
FILES: Mapping[str, Sequence[Path]] = {
    "dev": (SIGNS, _HERE / "signs-dev.toml"),
    "fresh3": (_HERE / "signs-fresh3.toml",),
}
"""By split; the second was written blind, by an author who had seen neither the first nor the rules."""
_READ_OUT = "What does it say?"


@dataclass(frozen=True)
class SignAnswer:
    """A question about words, the answer, and all that stands there."""

    question: str
    gold: tuple[str, ...]
    """Of which a right answer says one; none: the words leave it open."""
    told: Told
    everything: str

    def right(self, answer: str) -> bool:
        """Whether an answer is right; "I don't know" is where the words leave it open."""
        return says_any(answer, self.gold) if self.gold else refuses(answer)


def signs(split: str, asker: Asker, photographs: Photographs, *, few: bool) -> Part:
    """Every question about a split's signs, under the default policy.

    Args:
        split: whose signs.
        asker: asks the server.
        photographs: what the signs are drawn into.
        few: a few signs are enough.
    """
    every = [surface for path in FILES.get(split, ()) for surface in surfaces(path)]
    if not every:
        raise SystemExit(f"the section signs has the splits {', '.join(FILES)}, not {split}")
    found: list[SignAnswer] = []
    for number, (surface, behind) in enumerate(zip(every[:4] if few else every, cycle(_backgrounds()), strict=False)):
        picture = partial(_drawn, photographs, surface, behind, f"{behind.id} {number}")
        found += _asked(asker, number, surface, picture)
    # What may not be read yet is not listed.
    return Part(_rows(found), {"asked": [_listed(each) for each in found]} if split in READ else {})


def _backgrounds() -> list[OwnThing]:
    """Things with pictures, in the store and not by turns, as far as there are some that are not."""
    pictured = [thing for thing in all_things() if thing.picture]
    inside, outside = ([each for each in pictured if each.stored is stored] for stored in (True, False))
    return [each for pair in zip(inside, cycle(outside), strict=False) for each in pair]


def _asked(asker: Asker, number: int, surface: Surface, picture: Callable[[], bytes]) -> list[SignAnswer]:
    everything = asker.ask_about(f"sign/{number}/all", _READ_OUT, picture).text
    asked = [*surface.asked, *((text, ()) for text in surface.left_open)]
    return [
        SignAnswer(text, gold, asker.ask_about(f"sign/{number}/{at}", text, picture), everything)
        for at, (text, gold) in enumerate(asked)
    ]


def _drawn(photographs: Photographs, surface: Surface, behind: OwnThing, name: str) -> bytes:
    return photographed(seen(behind, photographs), surface, name)


def _rows(found: Sequence[SignAnswer]) -> list[Row]:
    asked = [each for each in found if each.gold]
    left_open = [each for each in found if not each.gold]
    lengths = [len(each.told.text.split()) for each in asked if not refuses(each.told.text)] or [0]
    rows = [
        _beside("right", found, lambda each, answer: each.right(answer)),
        _beside("wrong", found, lambda each, answer: not each.right(answer) and not refuses(answer)),
        _beside("answerable: right", asked, lambda each, answer: each.right(answer)),
        _beside("answerable: wrong", asked, lambda each, answer: not each.right(answer) and not refuses(answer)),
    ]
    if left_open:
        rows.append(_beside("left open: refused", left_open, lambda each, answer: refuses(answer)))
    everything = [len(each.everything.split()) for each in asked]
    for name, part in (("p50", 50), ("p95", 95)):
        beside = float(np.percentile(everything, part))
        row = Row(f"signs: words of an answer, {name}", float(np.percentile(lengths, part)), "words", _RULE, beside)
        rows.append(row)
    times = [each.told.whole_ms for each in found]
    return [*rows, Row("signs: whole, p50", float(np.percentile(times, 50)), "ms")]


_RULE = "all the words read out"


def _beside(name: str, some: Sequence[SignAnswer], fits: Callable[[SignAnswer, str], bool]) -> Row:
    ours = 100 * np.mean([fits(each, each.told.text) for each in some])
    rule = 100 * np.mean([fits(each, each.everything) for each in some])
    return Row(f"signs: {name}, of {len(some)}", float(ours), "%", _RULE, float(rule))


def _listed(each: SignAnswer) -> list[object]:
    return [each.question, each.right(each.told.text), each.told.text, each.told.outcome, each.everything]
