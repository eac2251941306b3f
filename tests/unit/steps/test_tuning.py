"""What a bundle says about looking things up reaches the steps."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from quizglass_bundle.tuning import CertaintyLine, EvidenceLimits, Thresholds, Tuning, Views
from quizglass_server import stores
from quizglass_server.steps.decide import likeliest, planned, selected, trust


def tuned(**evidence: Any) -> Tuning:
    manifest = SimpleNamespace(
        abstain="No idea",
        languages=("de",),
        thresholds=Thresholds(image_accept=0.5),
        evidence=EvidenceLimits(**evidence),
    )
    return stores.tuning(SimpleNamespace(manifest=manifest))  # type: ignore[arg-type]


def test_a_bundle_that_says_nothing_is_looked_up_as_ever() -> None:
    assert tuned() == Tuning(abstain="No idea", languages=("de",), image_accept=0.5)
    assert tuned().views == Views(placed=(0.5,), unplaced=(1.0,))
    assert tuned().kind_bonus == 0.0


def test_views_and_the_bonus_of_kinds_come_from_the_bundle() -> None:
    found = tuned(views={"placed": [0.5, 0.4], "unplaced": [1.0, 0.5]}, kind_bonus=0.2)
    assert found.views == Views(placed=(0.5, 0.4), unplaced=(1.0, 0.5))
    assert found.kind_bonus == 0.2


def test_the_line_of_certain_drafts_comes_from_the_bundle() -> None:
    line = CertaintyLine(p_min=0.3, p_mean=0.7, least=0.6)
    manifest = SimpleNamespace(
        abstain="",
        languages=("en",),
        thresholds=Thresholds(p_min=0.25, p_mean=0.75, line=line),
        evidence=EvidenceLimits(),
    )
    tuning = stores.tuning(SimpleNamespace(manifest=manifest))  # type: ignore[arg-type]
    assert (tuning.p_min, tuning.p_mean) == (0.25, 0.75)
    assert tuning.line == line
    assert (Tuning().p_min, Tuning().p_mean) == (None, None)


def test_everything_that_a_manifest_may_say_reaches_the_steps() -> None:
    said = {**EvidenceLimits.model_fields, **Thresholds.model_fields}
    assert Tuning.model_fields.keys() == {*said, "abstain", "languages"}
    evidence = EvidenceLimits(links=3, rounds=5, own_passages=2, views=Views(placed=(0.4,)))
    thresholds = Thresholds(rerank_accept=0.2, support_accept=0.3)
    tuning = Tuning.of(evidence, thresholds, "No idea", ("de", "en"))
    own = {"abstain": "No idea", "languages": ("de", "en")}
    assert tuning.model_dump() == evidence.model_dump() | thresholds.model_dump() | own


@pytest.mark.parametrize(
    ("supported", "accept", "label"),
    [
        (0.4, None, "unsupported"),
        (0.6, None, "supported"),
        (0.4, 0.4, "supported"),
        (0.4, 0.35, "supported"),
        (0.3, 0.35, "unsupported"),
        (0.6, 0.7, "unsupported"),
        (1.0, 0.7, "supported"),
        (0.042, 0.042, "supported"),
        (1.0, 1.0, "supported"),
    ],
)
def test_a_verifier_doubts_what_is_below_the_bundles_probability(
    supported: float, accept: float | None, label: str
) -> None:
    manifest = SimpleNamespace(
        abstain="", languages=("en",), thresholds=Thresholds(support_accept=accept), evidence=EvidenceLimits()
    )
    tuning = stores.tuning(SimpleNamespace(manifest=manifest))  # type: ignore[arg-type]
    weighed = [
        ("unsupported", 0.95 * (1 - supported)),
        ("supported", supported),
        ("contradicted", 0.05 * (1 - supported)),
    ]
    assert likeliest(weighed, tuning) == label
    assert likeliest([("none", 0.3), ("text", 0.7)], tuning) == "text"


@pytest.mark.parametrize(
    ("supported", "p_min", "label"),
    [(0.4, 0.9, "supported"), (0.6, 0.3, "unsupported"), (0.6, None, "supported"), (0.4, None, "unsupported")],
)
def test_an_answers_tokens_have_the_share_in_its_judgement_that_the_bundle_gives_them(
    supported: float, p_min: float | None, label: str
) -> None:
    thresholds = Thresholds(support_accept=0.5, support_certainty=0.5)
    assert likeliest([("supported", supported), ("unsupported", 1 - supported)], thresholds, p_min) == label


@pytest.mark.parametrize(
    ("first", "second", "none", "chosen"),
    [
        (0.3, 0.29, 0.41, "1"),
        (0.2, 0.28, 0.52, "none"),
        (0.1, 0.6, 0.3, "2"),
        (0.0, 0.0, 1.0, "none"),
        (0.1, 0.1, 0.3, "none"),
    ],
)
def test_no_entry_is_selected_only_where_that_is_likelier_than_all_entries_together(
    first: float, second: float, none: float, chosen: str
) -> None:
    assert selected([("1", first), ("2", second), ("none", none)]) == chosen


@pytest.mark.parametrize(("match", "trusted"), [(-5000.0, 0), (5000.0, 1)])
def test_a_match_of_any_size_is_counted(match: float, trusted: float) -> None:
    assert trust(0.9, 0.9, 0.5, match) == trusted


@pytest.mark.parametrize(
    ("none", "accept", "plan"),
    [(0.6, None, "none"), (0.6, 0.5, "none"), (0.6, 0.6, "none"), (0.6, 0.7, "text"), (0.2, 0.1, "text")],
)
def test_a_plan_to_look_nothing_up_must_be_as_probable_as_the_bundle_says(
    none: float, accept: float | None, plan: str
) -> None:
    weighed = [("none", none), ("image", 0.1 * (1 - none)), ("text", 0.9 * (1 - none)), ("both", 0.0)]
    assert planned(weighed, Thresholds(none_accept=accept).none_accept) == plan
    assert planned([("none", 0.1)], 0.5) == "none", "there is nothing else"


@pytest.mark.parametrize(
    ("direct", "accept", "branch"),
    [(0.45, None, "direct"), (0.45, 0.5, "rag"), (0.5, 0.5, "direct"), (0.3, 0.1, "rag")],
)
def test_a_draft_is_told_directly_where_that_is_as_probable_as_the_bundle_says(
    direct: float, accept: float | None, branch: str
) -> None:
    weighed = [("direct", direct), ("verify", 0.4 * (1 - direct)), ("rag", 0.6 * (1 - direct))]
    assert likeliest(weighed, Thresholds(direct_accept=accept)) == branch
    assert likeliest([("direct", 0.1)], Thresholds(direct_accept=accept)) == "direct", "there is nothing else"


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_senseless_bound_for_the_verifier_is_refused(value: float) -> None:
    with pytest.raises(ValidationError, match="support_accept"):
        Thresholds(support_accept=value)
    with pytest.raises(ValidationError, match="support_certainty"):
        Thresholds(support_certainty=value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("views", {"placed": []}),
        ("views", {"placed": [0.0]}),
        ("views", {"unplaced": [1.5]}),
        ("views", {"unplaced": [1.0, 0.5, 0.4, 0.3]}),
        ("views", {"placed": [float("nan")]}),
        ("views", {"left": [0.5]}),
        ("kind_bonus", -0.1),
        ("box_step", -0.1),
        ("kind_bonus", float("nan")),
    ],
)
def test_senseless_views_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=key):
        EvidenceLimits(**{key: value})
