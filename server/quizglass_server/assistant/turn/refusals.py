"""Questions that are refused: in a language that the bundle does not answer in, or because only a model that sees the
picture could answer them, and the bundle has none.
"""

from __future__ import annotations

from quizglass.values import AbstainReason, FinishReason
from quizglass_bundle.inputs.prompts import Values
from quizglass_bundle.languages import ANY_LANGUAGE, Languages
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Turn
from quizglass_server.roles.generator import Generator
from quizglass_server.steps.language.appearance import asks_colour, asks_what_is_seen, tells_colour
from quizglass_server.steps.language.detection.identification import is_in
from quizglass_server.steps.language.detection.names import named

_NOTE = "no model of this bundle sees what a picture shows; it is looked up and read alone"
_TELLING = ("history", "words", "tags", "seen", "names", "found")
"""Values of a prompt that may tell an answer; the others repeat the question or what the generator wrote itself."""


def language_refusal(turn: Turn, languages: Languages) -> Draft | None:
    """A refusal of a question in another language than these, which says so in words; None where it may be answered."""
    if ANY_LANGUAGE in languages or is_in(turn.question, languages):
        return None
    text = f"I only answer questions in {named(languages)}."
    return Draft(text, finish=FinishReason.COMPLETE, refused=AbstainReason.LANGUAGE)


def unseen_refusal(turn: Turn, generator: Generator | None) -> Draft | None:
    """A refusal of a question about how things in the picture look; None where it may be answered."""
    return _refusal() if _blind(turn, generator) and asks_what_is_seen(turn.question) else None


def colour_refusal(turn: Turn, generator: Generator | None, values: Values) -> Draft | None:
    """A refusal of a question about a colour in the picture, where nothing in the prompt names one; else None."""
    if not _blind(turn, generator) or not asks_colour(turn.question):
        return None
    return None if any(tells_colour(str(values.get(name, ""))) for name in _TELLING) else _refusal()


def _blind(turn: Turn, generator: Generator | None) -> bool:
    return turn.picture is not None and generator is not None and not generator.sees_pictures


def _refusal() -> Draft:
    return Draft(finish=FinishReason.COMPLETE, refused=AbstainReason.NO_EVIDENCE, notes={"unseen": _NOTE})
