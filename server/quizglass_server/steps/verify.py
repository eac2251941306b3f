"""Checks an answer against the evidence it was given: deterministic, no model.

The whole answer, or every name and number in it, must stand in evidence that the generator was shown. It says where an
answer comes from; it does not say that the evidence is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from unicodedata import normalize

from quizglass_server.domain.turns import Citation, Evidence, Origin, StepDetail, VerdictOutcome
from quizglass_server.steps.step import Telling
from quizglass_server.steps.telling import texts
from quizglass_server.steps.wording import Word, stands_in, words

# Capitalised at the start of a sentence and still no name.
_NO_NAMES = frozenset(
    """a an the it its it's this that these those he she his her they their there is was are were in on at by from to
    of for and or but as with yes no i we you""".split()  # noqa: SIM905, a list of words reads better
)
_ORDER = {Origin.TEXT_SEARCH: 0, Origin.IMAGE_SEARCH: 1, Origin.MEMORY: 2, Origin.READ_TEXT: 3}


@dataclass(frozen=True, slots=True)
class Support:
    """Outcome of the check (never ABSTAINED) and which evidence backs which part of the answer."""

    outcome: VerdictOutcome
    citations: tuple[Citation, ...] = ()


def verify(answer: str, evidence: Sequence[Evidence]) -> Support:
    """Check an answer.

    Args:
        answer: trimmed; citations count its code points.
        evidence: everything found in the turn; only what was shown (`used`) counts. Words read in the picture can
            support an answer but, being no search, never make one unsupported.

    Returns:
        SUPPORTED with citations; UNSUPPORTED when search results were shown and lack a name, a number or the answer
        (citations of the parts they do hold); else UNCHECKED.
    """
    shown = sorted((item for item in evidence if item.used), key=lambda item: _ORDER[item.origin])
    # Composed, as the generator was shown it.
    texts = [(item, words(normalize("NFC", f"{item.title}\n{item.text}"))) for item in shown]
    spoken = words(answer)
    parts = [spoken] if any(stands_in(spoken, text) for _, text in texts) else list(_named_runs(spoken))
    citations = tuple(citation for part in parts if (citation := _cite(part, texts)))
    if parts and len(citations) == len(parts):
        return Support(VerdictOutcome.SUPPORTED, citations)
    searched = any(item.origin is not Origin.READ_TEXT for item in shown)
    return Support(VerdictOutcome.UNSUPPORTED if searched else VerdictOutcome.UNCHECKED, citations)


def judged(support: Support, supported: bool | None) -> Support:
    """The outcome by a verifier's judgement, where there is one; it reads more than names and numbers."""
    if supported is None:
        return support
    return replace(support, outcome=VerdictOutcome.SUPPORTED if supported else VerdictOutcome.UNSUPPORTED)


def told_check(answer: str, support: Support) -> Telling:
    """What the check was given, and what it found."""
    cited = (f"{answer[citation.start : citation.end]} [{citation.evidence_id}]" for citation in support.citations)
    return texts("answer", answer), [StepDetail("outcome", support.outcome.value), *texts("stands in", *cited)]


def _named_runs(spoken: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Neighbouring names and numbers, together: "Ana Brint", "1974"."""
    run: list[Word] = []
    for word in spoken:
        if word.named and word.key not in _NO_NAMES:
            run.append(word)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def _cite(part: Sequence[Word], texts: Sequence[tuple[Evidence, tuple[Word, ...]]]) -> Citation | None:
    for item, text in texts:
        if stands_in(part, text):
            return Citation(item.id, item.entry_id, item.title, part[0].start, part[-1].end)
    return None
