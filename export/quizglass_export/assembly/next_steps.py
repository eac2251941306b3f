"""What can be done with a bundle that has just been written."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.bundle.files import Bundle
from quizglass_server.policies.serving import Has, preferred, survey

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


def next_steps(bundle: Bundle, path: Path) -> list[str]:
    """Lines for people: which policies the bundle can serve, and the command that comes next.

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
        f"next: quizglass-server --bundle {path} --knowledge DIR",
    ]
