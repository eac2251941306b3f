"""What can be done with a bundle that has just been written."""

from __future__ import annotations

from pathlib import Path

from quizglass_bundle.files import Bundle
from quizglass_bundle.tuning import Thresholds
from quizglass_server.policies.table import Has, preferred, survey

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


def untuned(bundle: Bundle) -> str:
    """One line for people where lines that evidence has to pass were never set, else nothing."""
    thresholds, usual = bundle.manifest.thresholds, Thresholds()
    lines = {"image_encoder": "image_accept", "reranker": "rerank_accept"}
    unset = [
        f"thresholds.{name}"
        for role, name in lines.items()
        if bundle.has(role) and getattr(thresholds, name) == getattr(usual, name)
    ]
    if not unset:
        return ""
    return (
        f"WARNING: {' and '.join(unset)} not set: whatever a search finds counts. Serve the "
        "bundle with your knowledge; `quizglass knowledge tune` proposes values and the command that sets them"
    )


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
        *filter(None, [untuned(bundle)]),
        f"next: quizglass-server --bundle {path} --knowledge DIR",
    ]
