"""CoRe-MMRAG: recall of the picture search, the entry chosen, and memory kept and overruled.

Memory is the answer without evidence: that of the row `no-search` or `none` to the same question, or, where neither was
asked, what the policy itself says that it remembered. Shares are of all questions that can be judged, as in the paper
(19.3 of 23.8 % are kept).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from quizglass_lab.reporting.answers.answered import FoundEntry
from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean
from quizglass_lab.reporting.answers.sample_scores import RECALLS, is_right, sample_scores
from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.retrieval import names_one_of, recall_at

MEMORIES = ("no-search", "none")
"""Rows whose answers are memory's; the first that there is counts."""
_CHOOSING = ("core-mmrag", "core-two-stage")
RECOGNISED = "entry recognised"
_REMEMBERED = f"answers of the row {' or '.join(MEMORIES)}, or `notes.memory` of each answer"
_BY_WORDS = "memory as the policy tells it, judged by its words"
_FOUND = "questions whose entries are known, and `found` of each answer with its `search`"
NEEDS = {
    **{f"recall@{within}, by picture": _FOUND for within in RECALLS},
    RECOGNISED: f"{_FOUND} and `used`",
    "memory right": _REMEMBERED,
    "memory kept": _REMEMBERED,
    "memory overruled": _REMEMBERED,
    "memory corrected": _REMEMBERED,
}


def figures(runs: Runs) -> list[Measured]:
    """Of every system the recall of its picture searches, and what became of right and wrong memories."""
    memory = next((runs[row] for row in MEMORIES if row in runs), ())
    remembered = {each.sample.id: each.right for each in memory if each.decided}
    return [
        figure
        for row, judged in runs.items()
        for figure in (*_recalls(row, judged), *(() if row in MEMORIES else _memory(row, judged, remembered)))
    ]


def _recalls(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    known = [each for each in judged if each.sample.entries and _searched(each)]
    if not known:
        return
    for within in RECALLS:
        hits = [recall_at(list(map(_names, _by_picture(each))), each.sample.entries, within) for each in known]
        yield mean(row, f"recall@{within}, by picture", hits)
    if row.startswith(_CHOOSING):
        yield mean(row, RECOGNISED, [float(_recognised(each)) for each in known])


def _searched(judged: ScoredAnswer) -> bool:
    """Whether the picture was looked up, and it is known which entries that found."""
    answered = judged.answered
    if answered.found is None or not all(entry.search for entry in answered.found):
        return False
    return bool(answered.cost.image_searches or _by_picture(judged))


def _by_picture(judged: ScoredAnswer) -> list[FoundEntry]:
    return [entry for entry in judged.answered.found or () if entry.search == "image"]


def _names(entry: FoundEntry) -> tuple[str, str]:
    return entry.id, entry.source


def _recognised(judged: ScoredAnswer) -> bool:
    """Whether the entry that was chosen among those of the picture search is a right one."""
    chosen = next((entry for entry in _by_picture(judged) if entry.used), None)
    return chosen is not None and names_one_of(_names(chosen), judged.sample.entries)


def _memory(row: str, judged: Sequence[ScoredAnswer], remembered: dict[str, bool]) -> Iterator[Measured]:
    pairs = [
        (before, each.right) for each in judged if each.decided and (before := _remembers(each, remembered)) is not None
    ]
    if not pairs:
        return
    flags = {
        "memory right": [before for before, _ in pairs],
        "memory kept": [before and after for before, after in pairs],
        "memory overruled": [before and not after for before, after in pairs],
        "memory corrected": [after and not before for before, after in pairs],
    }
    told = any(each.sample.id not in remembered for each in judged)
    for metric, values in flags.items():
        yield mean(row, metric, [float(value) for value in values], note=_BY_WORDS if told else "")


def _remembers(judged: ScoredAnswer, remembered: dict[str, bool]) -> bool | None:
    """Whether memory is right; None: unknown."""
    sample, notes = judged.sample, judged.answered.trace.notes
    if sample.id in remembered:
        return remembered[sample.id]
    if "memory" not in notes:
        return None
    alone = replace(judged.answered, answer=notes["memory"], refused=None, found=None)
    return is_right(sample_scores(sample, alone)) if sample.answerable else refuses(alone.answer)
