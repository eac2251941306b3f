"""The published table of the accuracy benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from bench.accuracy.planner import naming, rules
from bench.accuracy.planner.asking import POLICIES, UNLINKED
from bench.accuracy.planner.cases import Case, annotate, image_hit, mean, reranked_rank, searched, served_rank
from bench.accuracy.several import ALWAYS_BOTH, OMNI, search_s, searching_saved
from bench.accuracy.turns import spent_ms
from bench.results import Row, at_least, at_most, beats, ratio
from quizglass_lab.scoring.intervals import confidence_interval

BASELINES = ("none", "image", "text")
AGENT, BOTH = "planning-agent+", "both"


def table(cases: list[Case], nothing: list[Case]) -> list[Row]:
    """Every figure.

    Args:
        cases: questions that have an answer.
        nothing: questions that have none.
    """
    right = {policy: 100 * mean(cases, lambda c, p=policy: c.right(p)) for policy in POLICIES}  # type: ignore[misc]
    return [
        *_accuracies(cases, right),
        *_against_both(cases, right),
        *_against_rules(cases, right),
        *(beats("accuracy, planning-agent+", right[AGENT], "%", policy, right[policy]) for policy in BASELINES),
        at_least("planning-agent+ over none", right[AGENT] - right["none"], "points", 20),
        *_labels(cases),
        *_retrieval(cases),
        *_refusals(cases, nothing),
        *_costs(cases),
        *_saved(cases),
    ]


def claims(cases: list[Case]) -> list[Row]:
    """All rows with a bar; none of them depends on the questions without an answer."""
    return [row for row in (*table(cases, []), *naming.rows(cases)) if row.bar]


def _accuracies(cases: list[Case], right: dict[str, float]) -> list[Row]:
    rows = []
    unseen = [c for c in cases if c.unseen]
    for policy in POLICIES:
        rows.append(Row(f"accuracy, {policy} ({_interval(cases, _rightness(policy))})", right[policy], "%"))
        new = 100 * mean(unseen, lambda c, p=policy: c.right(p))  # type: ignore[misc]
        interval = _interval(unseen, _rightness(policy))
        rows.append(Row(f"accuracy on things never trained on, {policy} ({interval})", new, "%"))
        f1 = 100 * mean(cases, lambda c, p=policy: c.f1(p))  # type: ignore[misc]
        rows.append(Row(f"token F1, {policy}", f1, "%"))
    return rows


def _rightness(policy: str) -> Callable[[Case], float]:
    return lambda case: float(case.right(policy))


def _interval(cases: list[Case], judge: Callable[[Case], float]) -> str:
    low, high = (100 * edge for edge in confidence_interval([judge(case) for case in cases]))
    return f"95 % interval {low:.1f} to {high:.1f}"


def _against_both(cases: list[Case], right: dict[str, float]) -> list[Row]:
    def share(stage: str) -> float:
        most = sum(searched(c, BOTH, stage) for c in cases)
        return 100 * sum(searched(c, AGENT, stage) for c in cases) / max(most, 1)

    def tokens(of: str, policy: str) -> float:
        return mean(cases, lambda c: c.asked.turns[policy][of])

    answer, everything = "prompt_tokens", "all_prompt_tokens"
    return [
        at_least("planning-agent+ minus always-both", right[AGENT] - right[BOTH], "points", -1),
        at_most("image searches, of always-both's", share("image_search"), "%", 50),
        at_most("text searches, of always-both's", share("text_search"), "%", 75),
        beats(
            "prompt tokens of the answer, planning-agent+",
            tokens(answer, AGENT),
            "tokens",
            "always-both",
            tokens(answer, BOTH),
            lower=True,
        ),
        beats(
            "prompt tokens of planner, rewriter and answer, planning-agent+",
            tokens(everything, AGENT),
            "tokens",
            "always-both",
            tokens(everything, BOTH),
            lower=True,
        ),
    ]


def _against_rules(cases: list[Case], right: dict[str, float]) -> list[Row]:
    """What the planner adds to rules that never look at the picture."""
    eyes = {case.question.id: case.asked.turns[AGENT]["plan"] for case in cases}
    wording, blind = rules.best_by_wording(cases), rules.without_picture(cases)
    ours = rules.agreement(cases, eyes)
    rows = [at_most("best question-only rule against the annotation", rules.agreement(cases, wording), "%", 60)]
    for name, plans in (("best rule on the wording", wording), ("planner without its picture", blind)):
        theirs = rules.agreement(cases, plans)
        bar = at_least(f"planner's label against the annotation, minus the {name}", ours - theirs, "points", 20)
        rows.append(Row(bar.name, ours - theirs, "points", name, theirs, bar=bar.bar, ok=bar.ok))
        rows += _as_policy(cases, right[AGENT], name, plans, barred=plans is wording)
    return rows


def _as_policy(cases: list[Case], right: float, name: str, plans: rules.Plans, *, barred: bool) -> list[Row]:
    """A rule that is followed: its answers are those of the policy that always takes the plan that it says.

    The agent's searches are all that it ran, as its answers are those after a second look.
    """
    accuracy = rules.accuracy(cases, plans)
    bar, ok = ("> peer", right > accuracy) if barred else ("", None)
    rows = [Row("accuracy, planning-agent+", right, "%", name, accuracy, ratio(right, accuracy), bar, ok)]
    for kind in ("image", "text"):
        ours = 100 * mean(cases, lambda c, k=kind: searched(c, AGENT, f"{k}_search"))  # type: ignore[misc]
        theirs = rules.searches(cases, plans, kind)
        bar, ok = ("<= 0.8x peer", ours <= 0.8 * theirs) if barred and kind == "image" else ("", None)
        rows.append(Row(f"questions with a search by {kind}", ours, "%", name, theirs, ratio(ours, theirs), bar, ok))
    return rows


def _labels(cases: list[Case]) -> list[Row]:
    labelled = [(c, label) for c in cases if (label := annotate(c)) is not None]
    agreed = sum(c.asked.turns[AGENT]["plan"] == label for c, label in labelled)
    prompted = sum(c.asked.turns["prompt-based+"]["plan"] == label for c, label in labelled)
    rows = [
        at_least("planner's label against the annotation", 100 * agreed / len(labelled), "%", 85),
        Row("untuned model's label against the annotation", 100 * prompted / len(labelled), "%"),
        Row("questions dropped as illogical", 100 * (1 - len(labelled) / len(cases)), "%"),
    ]
    chosen = Counter(c.asked.turns[AGENT]["plan"] for c, _ in labelled)
    annotated = Counter(label for _, label in labelled)
    for plan in ("none", "image", "text", "both"):
        share, peer = (100 * plans[plan] / len(labelled) for plans in (chosen, annotated))
        rows.append(Row(f"plans chosen: {plan}", share, "%", "annotated", peer))
    return rows


def _retrieval(cases: list[Case]) -> list[Row]:
    pictured = [c for c in cases if c.question.group in ("image", "both") and c.question.target]
    new = [c for c in pictured if c.unseen]
    texts = [c for c in cases if c.question.group in ("text", "both") and c.question.gold_entries]
    both = [c for c in texts if reranked_rank(c, BOTH) is not None and served_rank(c) is not None]
    before, after = (
        100 * mean(both, lambda c: served_rank(c) == 0),
        100 * mean(both, lambda c: reranked_rank(c, BOTH) == 0),
    )

    def plain(case: Case) -> bool:
        return case.question.target in case.asked.without_bonus[:5]

    return [
        at_least(
            "image search recall@5, things never trained on", mean(new, lambda c: image_hit(c, BOTH, 5)), "", 0.90
        ),
        Row("the same, the named kind counting nothing", mean(new, plain), ""),
        Row("image search recall@1, things never trained on", mean(new, lambda c: image_hit(c, BOTH, 1)), ""),
        Row("image search recall@5, all things", mean(pictured, lambda c: image_hit(c, BOTH, 5)), ""),
        Row("the same for all things, the named kind counting nothing", mean(pictured, plain), ""),
        at_least("text search recall@5 with the gold query", _recall(texts), "", 0.90),
        Row("the same of a turn: names followed, reranked", _recall(texts, linked=True), ""),
        *_recall_by_lookups(texts),
        beats("evidence recall@1, reranked", after, "%", "the order of the search", before),
    ]


def _recall_by_lookups(cases: list[Case]) -> list[Row]:
    """The same by how many text lookups it takes: of several, a query names what only the first is about."""
    parts: dict[str, list[Case]] = {"one text lookup": [], "several text lookups": []}
    for case in cases:
        several = sum(hop.action == "text" for hop in case.question.hops) > 1
        parts["several text lookups" if several else "one text lookup"].append(case)
    rows = []
    for name, some in parts.items():
        if some:
            plain, ours = (100 * mean(some, lambda c, p=p: c.right(p)) for p in (UNLINKED, BOTH))  # type: ignore[misc]
            recall, alone = _recall(some, linked=True), _recall(some)
            rows.append(Row(f"the same, {name} ({len(some)} questions)", recall, "", "one search", alone))
            rows.append(Row(f"accuracy, always-both, {name}", ours, "%", "names not followed", plain))
    return rows


def _recall(cases: list[Case], *, linked: bool = False) -> float:
    """Share of gold queries whose last entry is among the first five that a single search brings, or a turn."""

    def brought(case: Case) -> bool:
        entries = case.asked.linked_entries if linked else case.asked.text_entries
        return case.question.gold_entries[-1] in entries[:5]

    return mean(cases, brought)


def _refusals(cases: list[Case], nothing: list[Case]) -> list[Row]:
    rows = [
        Row(
            "unknowable questions answered with I don't know",
            100 * mean(nothing, lambda c: c.abstained(AGENT)),
            "%",
            "answerable ones",
            100 * mean(cases, lambda c: c.abstained(AGENT)),
        )
    ]
    for policy in POLICIES:
        score = mean([*cases, *nothing], lambda c, p=policy: c.truthfulness(p))  # type: ignore[misc]
        refused = 100 * mean(cases, lambda c, p=policy: c.abstained(p))  # type: ignore[misc]
        rows.append(Row(f"truthfulness (right 1, refused 0, wrong -1), {policy}", score, ""))
        rows.append(Row(f"answerable questions refused, {policy}", refused, "%"))
    return rows


def _costs(cases: list[Case]) -> list[Row]:
    rows = []
    for policy in POLICIES:
        tokens = mean(cases, lambda c, p=policy: c.asked.turns[p]["all_prompt_tokens"])  # type: ignore[misc]
        rows.append(Row(f"prompt tokens of all models, {policy}", tokens, "tokens"))
        web = _search_s(cases, policy)
        rows.append(Row(f"search time a turn at the paper's 6.4 s and 1.4 s, {policy}", web, "s"))
    return rows


def _saved(cases: list[Case]) -> list[Row]:
    spent = mean(cases, lambda c: spent_ms(c.asked.turns[AGENT], ("plan",))) / 1e3
    peers = {OMNI: _search_s(cases, OMNI), ALWAYS_BOTH: _search_s(cases, BOTH)}
    return searching_saved(_search_s(cases, AGENT), spent, peers)


def _search_s(cases: list[Case], policy: str) -> float:
    return mean(cases, lambda case: search_s(case.asked.turns[policy]))
