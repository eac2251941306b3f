"""What is refused because only somebody who sees the picture could answer it, and the bundle's generator does not."""

from __future__ import annotations

from quizglass.values import AbstainReason, FinishReason
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Turn
from quizglass_server.models.prompts import Values
from quizglass_server.roles.generator import Generator
from quizglass_server.steps.language.appearance import asks_colour, asks_what_is_seen, tells_colour

_NOTE = "no model of this bundle sees what a picture shows; it is looked up and read alone"
_TELLING = ("history", "words", "tags", "seen", "names", "found")
"""Values of a prompt that tell something. The others repeat what is asked, or what the generator wrote itself."""


def seen_alone(turn: Turn, generator: Generator | None) -> Draft | None:
    """A refusal of what nothing that is looked up can tell; None: it may be answered."""
    return _refusal() if _blind(turn, generator) and asks_what_is_seen(turn.question) else None


def colour_untold(turn: Turn, generator: Generator | None, values: Values) -> Draft | None:
    """A refusal of a question about a colour in the picture, where nothing in the prompt has a word for one."""
    if not _blind(turn, generator) or not asks_colour(turn.question):
        return None
    return None if any(tells_colour(str(values.get(name, ""))) for name in _TELLING) else _refusal()


def _blind(turn: Turn, generator: Generator | None) -> bool:
    return turn.picture is not None and generator is not None and not generator.sees_pictures


def _refusal() -> Draft:
    return Draft(finish=FinishReason.COMPLETE, refused=AbstainReason.NO_EVIDENCE, notes={"unseen": _NOTE})
