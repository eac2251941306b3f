"""What a turn takes from the turns before it, and what it leaves to the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quizglass.values import Done, EvidenceFound, Exchange, Origin, TurnEvent, Verdict, VerdictOutcome
from quizglass_server.domain.turns import Picture, Turn
from quizglass_server.errors import NotFound
from quizglass_server.session.dialogue.persons import with_person
from quizglass_server.session.dialogue.references import (
    Reference,
    asks_for_other,
    carried,
    introduces,
    refers,
    says_again,
)
from quizglass_server.steps.language.pronouns import leaves_out

_ENTITIES, _LONGEST_TITLE = 4, 200
_NAMED = "What is it called?"
"""How the dialogue tells models the name of a thing that was found out without being said."""


MOST_EXCHANGES = 32
"""Most exchanges that a session remembers and a token holds."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn of a dialogue, once it is over."""

    question: str
    answer: str
    frame: bytes = b""
    """SHA-256 of the picture that it was answered from; empty: from none."""
    entities: tuple[str, ...] = ()
    """Titles of the entries that its answer, checked and supported, is about."""
    unheard: str = ""
    """What was written of the answer and not heard, where that is known; no part of `answer`."""


Dialogue = tuple[Spoken, ...]
"""Turns, oldest first."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What a question means after a dialogue."""

    turn: Turn
    """Its question, its history and what it is not about are those of the dialogue."""
    frame: bytes = b""
    """SHA-256 of the dialogue's picture that the question is about; empty: of none, or the turn has its own."""
    needed: bool = False
    """Whether it cannot be answered without that picture."""


def appended(dialogue: Dialogue, exchanges: Sequence[Exchange]) -> Dialogue:
    """The dialogue, and what was said since without the server."""
    return (*dialogue, *(Spoken(exchange.question, exchange.answer) for exchange in exchanges))


def follow(turn: Turn, dialogue: Dialogue, longest: int) -> Followed:
    """What a turn means after a dialogue, whose exchanges become its history.

    Args:
        turn: its question and picture, if it brings one.
        dialogue: what was said before.
        longest: most exchanges of the history.
    """
    about = _about(dialogue)
    last, shown = about[0], next((each.frame for each in reversed(dialogue) if each.frame), b"")
    again = carried(turn.question, last.question) if turn.picture is not None or shown else None
    new = turn.picture is not None and turn.picture.sha256 != shown  # "he" is to be seen in it
    question = again or (turn.question if new else _named(turn.question, about))
    reference = Reference.THIS if again else refers(question)
    frame = b""
    if turn.picture is None and reference is not Reference.NOTHING:
        frame = last.frame if reference is Reference.IT else shown
    named = bool(_name(about)) and not leaves_out(question)
    needed = reference is Reference.THIS or (reference is Reference.IT and not named)
    seen = turn.picture.sha256 if turn.picture is not None else frame
    history = () if again else _history(dialogue, reference, seen, question)
    told = replace(
        turn,
        question=question,
        history=latest(history, longest),
        other_than=(*last.entities, last.answer) if asks_for_other(turn.question) else (),
    )
    return Followed(told, frame, needed and bool(frame))


def understood(turn: Turn, dialogue: Dialogue, longest: int, held: Callable[[bytes], Picture | None]) -> Turn:
    """The turn as it is meant after a dialogue, with the dialogue's picture if it is about that.

    Args:
        turn: its question and picture, if it brings one.
        dialogue: what was said before.
        longest: most exchanges of the history.
        held: the picture of a SHA-256; None when it is not held any more.

    Raises:
        NotFound: the picture is needed and not held.
    """
    return with_picture(turn, follow(turn, dialogue, longest), held)


def with_picture(turn: Turn, followed: Followed, held: Callable[[bytes], Picture | None]) -> Turn:
    """The turn as it is meant, once that is known, with the dialogue's picture if it is about that; otherwise as
    `understood`.
    """
    picture = held(followed.frame) if followed.frame else turn.picture
    if picture is None and followed.needed:
        raise NotFound("the picture that this question is about is not held any more; show it again", field="session")
    return replace(followed.turn, picture=picture)


def latest(history: tuple[Exchange, ...], longest: int) -> tuple[Exchange, ...]:
    """The end of a history, with `longest` exchanges at most.

    Where it grows longer, the older half goes at once: a prompt that loses one exchange with each question begins
    otherwise each time, and the generator would have to read all of it again.
    """
    if len(history) <= longest:
        return history
    half = max(1, longest // 2)
    return history[len(history) - longest + (longest - len(history)) % half :] if longest else ()


def _about(dialogue: Dialogue) -> Dialogue:
    """What was said of the thing that was spoken of last, latest first: as "it", and at the end what that is.

    Without what was asked in between of no thing; the last exchange alone where all was.
    """
    about: list[Spoken] = []
    for each in reversed(dialogue):
        reference = refers(each.question)
        if reference is Reference.NOTHING and not each.frame and not introduces(each.question):
            continue
        about.append(each)
        if reference is not Reference.IT:
            break
    return tuple(about) or dialogue[-1:]


def _named(question: str, about: Dialogue) -> str:
    """The question with the person that it means, where the last whole question or one that went on from it has one."""
    for each in about:
        named = with_person(question, each.question, each.answer, each.entities)
        if named != question or not leaves_out(each.question):
            return named
    return question


def _name(about: Dialogue) -> str:
    """What it is called, where an answer was found to be about that; empty: unknown.

    What answers a question without a subject ("And when?") may have been found in the text of another thing.
    """
    return next((title for each in about if not leaves_out(each.question) for title in each.entities), "")


def _history(dialogue: Dialogue, reference: Reference, seen: bytes, question: str) -> tuple[Exchange, ...]:
    """Exchanges for the prompts: "this" is no thing of another picture; "it" has the name that was found out, and so
    has "the boat" where that is what was spoken of."""
    if reference is Reference.THIS and seen:
        dialogue = tuple(each for each in dialogue if each.frame in (b"", seen))
    exchanges = [Exchange(each.question, each.answer) for each in dialogue]
    about = _about(dialogue)
    same = reference is Reference.IT or (
        reference is Reference.THE and seen == about[0].frame and says_again(question, about[-1].question)
    )
    if same and (name := _unsaid_name(about)):
        at = next((at for at in range(-1, -len(dialogue), -1) if not leaves_out(dialogue[at].question)), -len(dialogue))
        exchanges.insert(at, Exchange(_NAMED, name))
    return tuple(exchanges)


def _unsaid_name(about: Dialogue) -> str:
    name, said = _name(about), "\n".join(f"{each.question}\n{each.answer}" for each in about)
    return "" if name.casefold() in said.casefold() else name


def spoken(turn: Turn, events: Sequence[TurnEvent], done: Done) -> Spoken:
    """What a turn leaves to the next ones, by its events and its end."""
    supported = any(isinstance(event, Verdict) and event.outcome is VerdictOutcome.SUPPORTED for event in events)
    frame = turn.picture.sha256 if turn.picture is not None else b""
    return Spoken(turn.question, done.answer, frame, _entities(done, events) if supported else ())


def _entities(done: Done, events: Sequence[TurnEvent]) -> tuple[str, ...]:
    """Titles that the answer cites; where a picture was looked up, those that it was taken for.

    Of "Who founded its maker?" the evidence is about the maker, and "it" stays the thing in the picture.
    """
    evidence = [item for event in events if isinstance(event, EvidenceFound) for item in event.items]
    taken_for = {item.title for item in evidence if item.origin is Origin.IMAGE_SEARCH and item.used}
    cited = dict.fromkeys(citation.title for citation in done.citations if citation.title)
    titles = [title for title in cited if not taken_for or title in taken_for]
    return tuple(title[:_LONGEST_TITLE] for title in titles[:_ENTITIES])
