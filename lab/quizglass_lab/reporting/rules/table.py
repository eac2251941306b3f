"""All rules together."""

from __future__ import annotations

from quizglass_lab.reporting.answers.judged import Runs
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.rules import (
    cogplanner,
    core_mmrag,
    crag_mm,
    differences,
    encyclopedic,
    infoseek,
    overall,
    parts,
    planning_agent,
)

_RULES = (overall, parts, infoseek, encyclopedic, crag_mm, planning_agent, cogplanner, core_mmrag)
NEEDS = {metric: needed for rule in (*_RULES, differences) for metric, needed in rule.NEEDS.items()}
"""Of each metric that a rule may give, what it takes."""


def all_figures(runs: Runs, against: str = "") -> list[Measured]:
    """Every figure of every system, the systems in order, each figure once; of a system those over all questions first.

    Args:
        runs: judged answers by row; every system answered the same questions.
        against: the row that the others are compared with; empty: none.
    """
    order = {row: place for place, row in enumerate(runs)}
    every = [figure for rule in _RULES for figure in rule.figures(runs)] + differences.figures(runs, against)
    return sorted(every, key=lambda figure: (order[figure.row], bool(figure.part)))
