"""How well the evidence that a prompt shows goes with the question, told by the search that brought it and by colours.

A decider sees the picture and the words of an entry, and not how near the two pictures were, nor whether another entry
was as near. And a small one overlooks that a blue car is no red one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from quizglass.values import Evidence, Origin
from quizglass_bundle.tuning import Thresholds
from quizglass_server.steps.language.appearance import tells_other_colours


def evidence_odds(
    question: str, shown: Collection[Evidence], brought: Iterable[Evidence], thresholds: Thresholds
) -> float:
    """Log odds that evidence is about the question's subject, above those of a usual right hit: `match_odds`, less
    `support_colour` where it tells of other colours than the question says.

    Args:
        question: as it was asked.
        shown: the evidence of searches that an answer stands on.
        brought: all that image searches of the turn brought.
        thresholds: of the bundle.
    """
    other = thresholds.support_colour > 0 and tells_other_colours(
        question, (f"{item.title} {item.text}" for item in shown)
    )
    return match_odds(shown, brought, thresholds) - (thresholds.support_colour if other else 0.0)


def match_odds(seen: Iterable[Evidence], brought: Iterable[Evidence], thresholds: Thresholds) -> float:
    """Log odds that a picture shows the evidence's subject, above those of a usual right hit; 0 where no image
    search brought the evidence.

    Of several entries it is the one that matches least: an answer may stand on each of them.

    Args:
        seen: what a prompt shows.
        brought: all that image searches of the turn brought.
        thresholds: of the bundle, with `support_match`; without it everything matches as usual.
    """
    match, shown = thresholds.support_match, _best_cosines(seen)
    if match is None or not shown:
        return 0.0
    others = [cosine for entry, cosine in _best_cosines(brought).items() if entry not in shown]
    rival = max(others, default=thresholds.image_accept)
    return min(match.odds(cosine, cosine - rival) for cosine in shown.values())


def _best_cosines(evidence: Iterable[Evidence]) -> Mapping[str, float]:
    """The largest cosine of each entry that image searches found."""
    best: dict[str, float] = {}
    for item in evidence:
        if item.origin is Origin.IMAGE_SEARCH:
            best[item.entry_id] = max(item.search_score, best.get(item.entry_id, item.search_score))
    return best
