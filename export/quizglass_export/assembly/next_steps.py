"""What can be done with a bundle that has just been written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quizglass_bundle.files import Bundle
from quizglass_bundle.tuning import Answers, Thresholds
from quizglass_export.reading.measure import Reading
from quizglass_server.policies.table import Has, preferred, survey

if TYPE_CHECKING:
    from quizglass_export.assembly.plan import Plan

_PROMPT = "generator.prompts."


def without_prompts(has: Has) -> list[str]:
    """Lines for people: policies that lack nothing but prompts of the generator, by what they lack."""
    lost: dict[str, list[str]] = {}
    for each in survey(has):
        if each.missing and all(part.startswith(_PROMPT) for part in each.missing):
            tasks = [part.removeprefix(_PROMPT) for part in each.missing]
            more = f", {tasks[1]}" if len(tasks) == 2 else f" and {len(tasks) - 1} more" if len(tasks) > 2 else ""
            lost.setdefault(f"{tasks[0]}{more}", []).append(each.policy)
    return [f"{', '.join(policies)}: no {tasks}" for tasks, policies in lost.items()]


def untuned(bundle: Bundle, path: Path) -> str:
    """One line for people where lines that evidence has to pass were never tuned, else nothing."""
    names = _unset(bundle)
    if not names:
        return ""
    told = f"WARNING: {_listed([f'thresholds.{name}' for name in names])} not tuned: whatever a search finds counts."
    if proposed := [name for name in names if name in _PROPOSED]:
        told += " Serve the bundle with your knowledge; `quizglass knowledge tune` proposes values of "
        told += f"{_listed(proposed)}, and the command that sets them."
    if by_hand := [name for name in names if name not in _PROPOSED]:
        settings = " ".join(f"--set thresholds.{name}=VALUE" for name in by_hand)
        told += f" `quizglass-export repack {path} --out NEW {settings}` sets {_listed(by_hand)}."
    return told


_PROPOSED = ("image_accept", "rerank_accept")
"""What `quizglass knowledge tune` proposes: clients do not get the scores that the others are held against."""


def _unset(bundle: Bundle) -> list[str]:
    """The thresholds that have the value at which they set no line, of the models that the bundle has."""
    thresholds, usual = bundle.manifest.thresholds, Thresholds()
    used = {
        "image_accept": bundle.has("image_encoder"),
        "rerank_accept": bundle.has("reranker"),
        "text_accept": bundle.has("text_encoder") and not bundle.has("reranker"),
        "quote_accept": bundle.answers is Answers.QUOTE and bundle.has("text_encoder"),
    }
    return [name for name, uses in used.items() if uses and getattr(thresholds, name) == getattr(usual, name)]


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def proposed_answers(reading: Reading | str | None, bundle: Bundle, path: Path) -> list[str]:
    """Lines for people: which way of answering is best of those that were tried, and the command that sets it."""
    if reading is None:
        return []
    if isinstance(reading, str):
        return [f"evidence.answers: the reading set was not asked, so no value is proposed ({reading})"]
    figures = "; ".join(
        f"{way} {each.right} right, {each.refused} refused, {each.wrong} wrong" for way, each in reading.figures.items()
    )
    lines = [f"evidence.answers: proposed is {reading.best}; of {reading.asked} questions about notes: {figures}"]
    if reading.best is not bundle.manifest.evidence.answers:
        command = f"quizglass-export repack {path} --out NEW --set evidence.answers={reading.best}"
        lines.append(f"to set this: {command}, or write it under [evidence] of the recipe")
    return lines


def chosen_precisions(measured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lines for people: which precision each role got by measurement, and what the others came to."""
    lines = []
    for role, found in measured.items():
        lines.append(f"roles.{role}.precision: {found['chosen']}, {found['why']}; measured on {found['cpu']}")
        lines += [f"  {each['precision']}: {_figures(each)}" for each in found["candidates"]]
    return lines


def _figures(candidate: Mapping[str, Any]) -> str:
    """What one candidate came to, in one line."""
    figures = []
    if candidate["milliseconds"] is not None:
        figures.append(f"{candidate['milliseconds']:.2f} ms, {candidate['bytes']:,} bytes")
    labels = [check for check in candidate["checks"] if check["measure"] == "equal labels"]
    if labels:
        equal = sum(round(check["value"] * check["samples"]) for check in labels)
        figures.append(f"{equal:,} of {sum(check['samples'] for check in labels):,} labels as fp32's")
    else:
        figures += [f"{check['measure']} {check['value']:.4g}" for check in candidate["checks"]]
    if candidate["refused"]:
        figures.append(f"refused: {candidate['refused']}")
    return "; ".join(figures) or "taken unmeasured"


def unmeasured(plan: Plan) -> list[str]:
    """One line for people where roles have the default precision, and a quicker one may be as good."""
    own = [role for role in plan.sources if role not in plan.owners and plan.exporter(role).runs is not None]
    roles = [role for role in own if "precision" not in plan.spec(role).model_fields_set]
    if not roles:
        return []
    verb = "computes" if len(roles) == 1 else "compute"
    return [
        f'{_listed(roles)} {verb} in float32, as the recipe names no precision; precision = "quickest" measures '
        "whether another is quicker on this machine and gives equal answers, and takes it"
    ]


def next_steps(bundle: Bundle, path: Path) -> list[str]:
    """Lines for people: which policies the bundle can serve, what is not set, and the command that comes next.

    A bundle that can serve none is not to be served yet but to be added to.
    """
    statuses = survey(bundle.has)
    default = preferred(statuses, quotes=bundle.quotes)
    if default is None:
        least = min(statuses, key=lambda each: len(each.missing))
        return [
            f"it can serve no policy yet; policy {least.policy} needs {', '.join(least.missing)}",
            f"next: quizglass-export add-role {path} --recipe RECIPE --out BUNDLE",
        ]
    able = ", ".join(each.policy for each in statuses if each.servable)
    return [
        f"it can serve {able}; without --default-policy {default} is taken",
        *filter(None, [untuned(bundle, path)]),
        f"next: quizglass-server --bundle {path} --knowledge DIR",
    ]
