"""What QA-Dragon's search router looks at in a draft and its trace, as words: answerability, kind of answer, doubt.

Patterns of English, as in the paper. A router of another language is trained to do without them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quizglass_server.domain.state import Draft
from quizglass_server.steps.language.wording import words

SIGNS = ("no_answer", "undetermined", "doubt", "number", "quoted", "named", "calculation", "translation")
"""Every sign, in the order of `signs`."""

_NO_ANSWER = re.compile(
    r"\b(i don['\u2019]?t know|i do not know|cannot (answer|tell|say)|unable to|no information)\b", re.I
)
_UNDETERMINED = re.compile(
    r"\b(cannot|can['\u2019]?t|could not|unknown|undetermined|not (visible|clear|shown|stated))\b", re.I
)
_DOUBT = re.compile(r"\b(might|may be|maybe|perhaps|possibly|probably|likely|seems?|appears?|not sure|unsure)\b", re.I)
_QUOTED = re.compile(r"[\"\u201c].+?[\"\u201d]")
_CALCULATION = re.compile(r"\b(sum|total|multipl\w+|divid\w+|subtract\w*|add(ed|ing)?|calculat\w+|per ?cent)\b", re.I)
_TRANSLATION = re.compile(r"\btranslat\w+\b", re.I)


def features(draft: Draft, shown: Sequence[str]) -> dict[str, float]:
    """The signs as numbers, for a decider that weighs them: 1 or 0 each, beside the draft's `p_min` and `p_mean`."""
    return {sign: float(sign in shown) for sign in SIGNS} | {"p_min": draft.p_min, "p_mean": draft.p_mean}


def signs(draft: Draft, steps: Sequence[str]) -> list[str]:
    """The signs that a draft and its trace show."""
    trace, text = " ".join(steps), draft.text
    no_answer = not text.strip() or bool(_NO_ANSWER.search(text))
    shown = (
        no_answer,
        bool(_UNDETERMINED.search(trace)),
        bool(_DOUBT.search(f"{trace} {text}")),
        any(word.key[0].isdigit() for word in words(text)),
        bool(_QUOTED.search(text)),
        not no_answer and any(word.named and not word.key[0].isdigit() for word in words(text)),
        bool(_CALCULATION.search(trace)),
        bool(_TRANSLATION.search(trace)),
    )
    return [sign for sign, shows in zip(SIGNS, shown, strict=True) if shows]
