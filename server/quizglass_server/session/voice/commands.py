"""What is heard, and what of it needs no answer: "stop", "louder". English."""

from __future__ import annotations

import re

from quizglass.session import Command

_ASIDE = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|<[^>]*>|[♪♫]+")
"""What recognisers write of sounds that are no words: "[MUSIC]", "(breathing)"."""
_POLITE = r"(?:please |okay |ok |hey |now )*"
_WANTS = {
    Command.STOP: (
        r"stop(?: it| that| talking| speaking| please)?|be quiet|quiet|silence|hush|shut up"
        r"|(?:that ?s |that is )?enough|cancel(?: that| it)?|never ?mind|forget it"
    ),
    Command.LOUDER: (
        r"(?:a (?:bit|little) |much )?louder|(?:speak|talk|say (?:it|that)) (?:a (?:bit|little) )?louder|speak up"
        r"|(?:turn (?:it|the volume) up|turn up the volume|volume up)|i can(?: ?t|not) hear you"
    ),
    Command.QUIETER: (
        r"(?:a (?:bit|little) |much )?(?:quieter|softer)|(?:speak|talk) (?:a (?:bit|little) )?(?:quieter|softer|more "
        r"quietly|more softly)|not so loud|too loud|turn (?:it|the volume) down|turn down the volume|volume down"
    ),
}
_COMMANDS = {command: re.compile(rf"{_POLITE}(?:{words})(?: please)?") for command, words in _WANTS.items()}
_NO_WORD = re.compile(r"[^\w]+")


def heard(text: str) -> str:
    """The words of a transcript, without what its recogniser says of other sounds; empty where there are none."""
    words = " ".join(_ASIDE.sub(" ", text).split())
    return words if any(map(str.isalnum, words)) else ""


def command(text: str) -> Command:
    """What the words want at once; NONE: they are a question."""
    words = _NO_WORD.sub(" ", text.casefold().replace("'", " ").replace("’", " ")).strip()
    return next((each for each, pattern in _COMMANDS.items() if pattern.fullmatch(words)), Command.NONE)
