"""Chooses one of a closed set of labels, in one prefill pass of a decider or of the generator.

Sources: the planner and the prompt-based baseline of "Efficient Multimodal Planning Agent for VQA"; the routers and the
model-based verifier of QA-Dragon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from math import log, tanh
from string import ascii_uppercase

from quizglass.values import Plan
from quizglass_bundle.inputs.prompts import Values
from quizglass_bundle.tuning import Thresholds
from quizglass_server.domain.turns import Picture, StepDetail
from quizglass_server.errors import EngineFailed, QuizglassError
from quizglass_server.roles.decider import DIRECT, SUPPORTED, VERIFIER, Decider
from quizglass_server.roles.generator import GenerationRequest, Generator
from quizglass_server.steps.shortening import TOO_MUCH, may_be_shorter, shorter
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import prompted, weighed

NONE = Plan.NONE.value
_SUREST = 1e-4
"""Probabilities nearer to 0 or 1 count as this near where they are pooled."""


def _told_decider(
    labels: list[tuple[str, float]] | None, pictures: Sequence[Picture], values: Values, *_: object
) -> Telling:
    details = prompted("", values, pictures=len(pictures))
    return (detail for detail in details if detail.label != "prompt"), weighed(labels)


def _told_letter(labels: list[tuple[str, float]] | None, request: GenerationRequest, *_: object) -> Telling:
    return prompted(request.task, request.values, pictures=len(request.pictures)), weighed(labels)


def _told_judge(
    supported: bool | None, pictures: Sequence[Picture], values: Values, *_: object, **__: object
) -> Telling:
    judgement = None if supported is None else SUPPORTED if supported else f"not {SUPPORTED}"
    return _told_decider(None, pictures, values)[0], [StepDetail("judgement", judgement)] if judgement else ()


@step("decide", told=_told_decider)
async def ask_decider(
    decider: Decider, pictures: Sequence[Picture], values: Values, labels: type[Enum]
) -> list[tuple[str, float]]:
    """Each label with its probability, without those of the decider that stand for none of `labels`.

    Raises:
        EngineFailed: it has no other labels than those.
    """
    weighed = await decider.probabilities(pictures, values)
    if asked := [(name, probability) for name, probability in weighed if _stands_for_one(labels, name)]:
        return asked
    wanted = [str(label.value) for label in labels]
    raise EngineFailed(f"the bundle's decider chooses among {[name for name, _ in weighed]}, not {wanted}")


def _stands_for_one(labels: type[Enum], name: str) -> bool:
    try:
        labels(name)
    except ValueError:
        return False
    return True


@step("decide", role="generator", told=_told_letter)
async def ask_letter(
    generator: Generator, request: GenerationRequest, labels: Sequence[str]
) -> list[tuple[str, float]]:
    """Each label with its probability as the prompt's continuation: " A" is the first."""
    letters = [f" {letter}" for letter in ascii_uppercase[: len(labels)]]
    refusal: QuizglassError | None = None
    for attempt, _ in shorter(request):
        try:
            return list(zip(labels, await generator.choose(attempt, letters), strict=True))
        except TOO_MUCH as error:
            if not may_be_shorter(attempt, error):
                raise
            refusal = error
    raise refusal or EngineFailed("nothing was asked")


def likeliest(
    weighed: Sequence[tuple[str, float]], thresholds: Thresholds, p_min: float | None = None, match: float = 0.0
) -> str:
    """The label that is chosen: the most probable; with `support_accept`, "supported" from there on and not below; with
    `direct_accept`, not "direct" below that.

    Args:
        weighed: the labels with their probabilities.
        thresholds: of the bundle.
        p_min: of an answer that is judged, the least token probability.
        match: of the evidence it stands on, how well that goes with the question, in log odds
            (`matching.evidence_odds`).
    """
    probabilities = dict(weighed)
    if thresholds.support_accept is not None and SUPPORTED in probabilities:
        trusted = trust(probabilities.pop(SUPPORTED), p_min, thresholds.support_certainty, match)
        if trusted >= thresholds.support_accept or not probabilities:
            return SUPPORTED
    return _sure(probabilities, DIRECT, thresholds.direct_accept)


def trust(supported: float, p_min: float | None, share: float, match: float = 0.0) -> float:
    """How far an answer is trusted, 0 to 1: what the verifier gives "supported", with what it does not see.

    The answer's least token probability is pooled with it by their log odds (a logarithmic opinion pool), in which the
    tokens have the weight `share`; `match`, log odds too, is added.
    """
    if (p_min is None or share == 0) and match == 0:
        return supported
    odds = _log_odds(supported)
    if p_min is not None:
        odds = (1 - share) * odds + share * _log_odds(p_min)
    return (1 + tanh((odds + match) / 2)) / 2  # the logistic function; by its exponential it would overflow


def _log_odds(probability: float) -> float:
    """Log odds of a probability, none nearer to 0 or 1 than _SUREST."""
    sure = min(max(probability, _SUREST), 1 - _SUREST)
    return log(sure / (1 - sure))


def planned(weighed: Sequence[tuple[str, float]], none_accept: float | None) -> str:
    """The plan that is followed: the most probable; with `none_accept`, not "none" below that.

    A small model is as sure of a guess as of a fact. To look up a known fact costs time, to tell a wrong guess costs
    the answer.
    """
    return _sure(dict(weighed), NONE, none_accept)


def selected(weighed: Sequence[tuple[str, float]]) -> str:
    """The entry that is selected; "none" only where that is as likely as all entries together.

    Entries that look alike share what speaks for one of them, and the likeliest may then have less than none.
    """
    return _sure(dict(weighed), NONE, sum(probability for _, probability in weighed) / 2)


def _sure(probabilities: Mapping[str, float], label: str, accept: float | None) -> str:
    """The most probable label; the one that needs to be sure only from `accept` on, where there is another."""
    others = {name: probability for name, probability in probabilities.items() if name != label}
    unsure = accept is not None and probabilities.get(label, 1.0) < accept
    among = others if unsure and others else probabilities
    return max(among, key=among.__getitem__)


@step("judge", role=VERIFIER, optional=True, after=True, told=_told_judge)
async def is_supported(
    verifier: Decider,
    pictures: Sequence[Picture],
    values: Values,
    thresholds: Thresholds,
    p_min: float,
    match: float = 0.0,
) -> bool:
    """Whether the verifier does not doubt the `answer` by its `evidence`; `p_min` and `match` as for `likeliest`."""
    return likeliest(await verifier.probabilities(pictures, values), thresholds, p_min, match) == SUPPORTED


VERIFICATION = (is_supported.name, VERIFIER)
"""Names of the steps that check an answer: the one at the end of a turn, and a policy's own decision."""
