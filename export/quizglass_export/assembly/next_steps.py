"""What can be done with a bundle that has just been written."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.bundle.files import Bundle
from quizglass_server.policies.serving import preferred, survey


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
