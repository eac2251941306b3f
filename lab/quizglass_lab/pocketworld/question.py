"""A question with everything that is known to be right about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_lab.pocketworld.scenes import Scene

ABSTAIN = "I don't know"


@dataclass(frozen=True)
class Hop:
    """One lookup on the way to an answer, without any knowledge from memory."""

    action: str  # image: look the picture up; text: search for the query
    query: str  # stands alone, but for that of a picture
    answer: str
    entry: str  # the entry that tells
    round: int = 0
    """Which round of lookups it belongs to, from 0: hops of one round do not need each other's answers."""


def asks_picture(target: str | None, hops: Sequence[Hop], image_answer: str, text: str) -> bool:
    """Whether anything in the picture has to be told: not when the question names all it is about.

    Args:
        target: the thing that is asked about; None: none, and nothing to name.
        hops: the question's lookups.
        image_answer: the thing's name.
        text: the question.
    """
    return target is not None and (any(hop.action == "image" for hop in hops) or image_answer not in text)


@dataclass(frozen=True)
class Conflict:
    """Two sources that say different things, and which one is right.

    Memory against evidence (CoRe-MMRAG's PRKI): `stale`, the article corrects what the base was taught; `rumour`, an
    entry of a weak source contradicts it; `twin`, retrieval brings a thing easily taken for another.
    Picture against text (VTKI): `near-twin`, two things look almost alike and their texts tell them apart;
    `swapped-picture`, an entry has another's picture; `telling-caption`, a caption's colour or kind decides.
    """

    kind: str
    right: str
    """The source that is right: "memory" or "evidence", or "picture" or "text"."""
    wrong_answer: str
    """What follows from the source that is wrong."""
    rival: str
    """The entry that misleads."""


@dataclass(frozen=True)
class Question:
    """One question about one picture, with everything that is known to be right about it.

    `gold_query` stands alone, for text search; `image_query` asks what the thing is, and `image_answer` is its
    name. `gold_entries` are the entries that hold what is needed, in the order of the hops. `history` holds
    (question, answer) of earlier turns. `words` are the words printed in the picture. `hops` are the lookups that
    lead to the answer; none where the picture tells, or nothing does.
    """

    id: str
    family: str
    group: str | None  # none, image, text, both: where it needs to look, by construction
    text: str
    answer: str
    aliases: tuple[str, ...]
    scene: Scene
    gold_query: str
    image_query: str
    image_answer: str
    gold_entries: tuple[str, ...]
    gold_attribute: str | None
    history: tuple[tuple[str, str], ...]
    target: str | None  # Thing.id
    words: str | None
    hops: tuple[Hop, ...] = ()
    domain: str = ""
    """What the question is about: a group of kinds, "text" for printed words, "number" for calculations."""
    objects: tuple[str, ...] = ()
    """Kinds of the things that the question may be about, each in at most three words, as the picture shows them."""
    meant: str = ""
    """The one thing that is asked about, in at most five words that tell it from the others."""
    claims: tuple[str, ...] = ()
    """Where the answer says several things, each of them as a sentence of its own; else empty."""
    conflict: Conflict | None = None
    session: str = ""
    """Turns of one session share it and follow each other in order; empty for a question that stands alone."""
    working: str = ""
    """How an answer that has to be calculated is worked out, in the calculator's notation; empty for all others."""

    @property
    def written(self) -> str:
        """What a generator that has a calculator beside it writes: the working where there is one, else the answer."""
        return self.working or self.answer
