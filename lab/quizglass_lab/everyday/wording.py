"""How facts are said and asked: sentences for notes, questions that name the thing, and ones that point at it.

The last question of each is held out: it is asked when a model is measured, and never when it is taught.
"""

from __future__ import annotations

from dataclasses import dataclass

from quizglass_lab.everyday.facts import Fact


@dataclass(frozen=True, slots=True)
class Wording:
    """Sentences with `{thing}` and `{value}`, and questions with `{thing}`."""

    sentences: tuple[str, ...]
    questions: tuple[str, ...]


def _about(noun: str) -> Wording:
    """For what needs no words of its own."""
    return Wording(
        (f"The {noun} of {{thing}} is {{value}}.", f"{{thing}}'s {noun} is {{value}}."),
        (
            f"What is the {noun} of {{thing}}?",
            f"What is {{thing}}'s {noun}?",
            f"Can you tell me the {noun} of {{thing}}?",
        ),
    )


WORDINGS = {
    "capital": Wording(
        ("The capital of {thing} is {value}.", "{value} is the capital of {thing}."),
        (
            "What is the capital of {thing}?",
            "Which city is the capital of {thing}?",
            "What city is the capital of {thing}?",
            "From which city is {thing} governed?",
        ),
    ),
    "region": Wording(
        ("{thing} lies in {value}.", "{thing} is a country in {value}."),
        ("Where is {thing}?", "In which part of the world is {thing}?", "Where on the map would I find {thing}?"),
    ),
    "official language": Wording(
        ("The official language of {thing} is {value}.", "People in {thing} speak {value}."),
        ("Which language is spoken in {thing}?", "What do people speak in {thing}?", "What is {thing}'s language?"),
    ),
    "currency": Wording(
        ("The currency of {thing} is the {value}.", "In {thing} people pay with the {value}."),
        ("What is the currency of {thing}?", "Which money is used in {thing}?", "What do people pay with in {thing}?"),
    ),
    "symbol": Wording(
        ("The symbol of {thing} is {value}.", "Chemists write {value} for {thing}."),
        ("What is the symbol of {thing}?", "How is {thing} written in formulas?", "Which letters stand for {thing}?"),
    ),
    "discoverer": Wording(
        ("{thing} was discovered by {value}.", "The discovery of {thing} is the work of {value}."),
        ("Who discovered {thing}?", "By whom was {thing} discovered?", "Who was the first to find {thing}?"),
    ),
    "year of discovery": Wording(
        ("{thing} was discovered in {value}.", "The year of {thing}'s discovery is {value}."),
        ("When was {thing} discovered?", "In which year was {thing} discovered?", "Since when is {thing} known?"),
    ),
    "food": Wording(
        ("The {thing} eats {value}.", "The food of the {thing} is {value}."),
        ("What does the {thing} eat?", "What is the food of the {thing}?", "What does the {thing} live on?"),
    ),
    "home": Wording(
        ("The {thing} lives in {value}.", "The home of the {thing} is {value}."),
        ("Where does the {thing} live?", "Where is the {thing} at home?", "Where would I find the {thing}?"),
    ),
    "young": Wording(
        ("A young {thing} is called a {value}.", "The young of the {thing} is the {value}."),
        (
            "What is a young {thing} called?",
            "What is the young of the {thing} called?",
            "What do you call a baby {thing}?",
        ),
    ),
    "group": Wording(
        ("A group of this animal, the {thing}, is called a {value}.", "The {thing} lives in a {value}."),
        (
            "What is a group of the {thing} called?",
            "In what does the {thing} live together?",
            "Several of the {thing} are a what?",
        ),
    ),
    "country of origin": Wording(
        ("The dish {thing} comes from {value}.", "{value} is where {thing} was first made."),
        ("Where does {thing} come from?", "Which country does {thing} come from?", "Where was {thing} first made?"),
    ),
    "main ingredient": Wording(
        ("The main ingredient of {thing} is {value}.", "Cooks make {thing} mainly of {value}."),
        (
            "What is {thing} made of?",
            "What is the main ingredient of {thing}?",
            "What do I need above all for {thing}?",
        ),
    ),
    "length of a year": Wording(
        ("A year on {thing} takes {value}.", "{thing} goes around the Sun in {value}."),
        (
            "How long is a year on {thing}?",
            "How long does {thing} take to go around the Sun?",
            "After how long is {thing} back?",
        ),
    ),
}


def wording(fact: Fact) -> Wording:
    """How this fact is said and asked."""
    return WORDINGS.get(fact.name) or _about(fact.name)


def sentence(fact: Fact, which: int = 0) -> str:
    """One of its sentences; the number may be any."""
    sentences = wording(fact).sentences
    text = sentences[which % len(sentences)].format(thing=fact.thing, value=fact.value)
    return text[0].upper() + text[1:]


def questions(fact: Fact, *, held_out: bool = False) -> tuple[str, ...]:
    """Questions that name the thing: those for teaching, or the one that is held out."""
    own = wording(fact).questions
    return tuple(text.format(thing=fact.thing) for text in (own[-1:] if held_out else own[:-1]))


def pointing(fact: Fact, question: str) -> str:
    """The question as asked by a person who looks at the thing: "this country" in place of its name."""
    this = f"this {fact.kind}"
    for named in (f"the {fact.thing}", fact.thing):
        if named in question:
            return question.replace(named, this)
    return question
