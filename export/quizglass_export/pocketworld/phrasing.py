"""The words of questions: three or four ways to ask for each attribute, the first of them canonical.

A subject is what a question is about in its words: "this car", "the car on the left", "it", "the Velmora".
"""

import random

from quizglass_export.pocketworld.words import WORDS

_MADE = ("When was {x} first {made}?", "In which year was {x} first {made}?", "What year was {x} first {made}?")
_ASKS: dict[str, tuple[str, ...]] = {
    "name": ("What is {x} called?", "What is the name of {x}?", "Tell me the name of {x}."),
    "year": _MADE,
    "maker": ("Who {make} {x}?", "Which company {make} {x}?", "Who is the maker of {x}?"),
    "price": ("How much does {x} cost?", "What does {x} cost?", "What is the price of {x}?"),
    "length": ("How {dimension} is {x}?", "What is the {measure} of {x}?", "Tell me how {dimension} {x} is."),
    "weight": ("How much does {x} weigh?", "What is the weight of {x}?", "What does {x} weigh?"),
    "place": ("Where {place}?", "In which town {place}?", "Tell me, where {place}?"),
    "designer": ("Who {design} {x}?", "Which person {design} {x}?", "Who was it that {design} {x}?"),
}
_MAKER_ASKS: dict[str, tuple[str, ...]] = {
    "home": ("Where does {m} come from?", "From which town does {m} come?", "What is the home town of {m}?"),
    "field": ("What does {m} work with?", "With what does {m} work?", "Tell me what {m} works with."),
    "founder": ("Who founded {m}?", "Who is the founder of {m}?", "Which person founded {m}?"),
    "birthplace": (
        "Where was the founder of {m} born?",
        "What is the birthplace of the founder of {m}?",
        "In which town was the founder of {m} born?",
    ),
}
_COMPARISONS: dict[tuple[str, bool], tuple[str, ...]] = {
    ("year", False): ("Which is older, {a} or {b}?", "Which of the two is older, {a} or {b}?"),
    ("year", True): ("Which is newer, {a} or {b}?", "Which of the two is newer, {a} or {b}?"),
    ("price", False): ("Which costs less, {a} or {b}?", "Which is cheaper, {a} or {b}?"),
    ("price", True): ("Which costs more, {a} or {b}?", "Which has the higher price, {a} or {b}?"),
}
_UNTOLD = (
    "Who owns {x}?",
    "Who bought {x} last week?",
    "How many people have seen {x}?",
    "What will {x} cost next year?",
    "Who was here with {x} yesterday?",
    "What do the neighbours say about {x}?",
    "How old is the owner of {x}?",
    "Who took this picture of {x}?",
)
PRINTED = (
    "What does the sign say?",
    "What is written on the sign?",
    "Which words are on the sign?",
    "Which words are printed in the picture?",
)
COUNT = ("How many things are in the picture?", "How many things do you see?", "How many things are there?")
KIND = ("What kind of thing is this?", "What sort of thing do I see here?", "What kind of thing is in the picture?")
SLOT_WORDS = {"left": "on the left", "middle": "in the middle", "right": "on the right"}
NUMBER_WORDS = ("no", "one", "two", "three")
_SIGN_WORDS = """
    open closed today sale sold new old hot cold fresh sweet quiet fast slow free full empty left right up down
    in out stop go wait push pull enter exit road bridge garden market station school park beach river hill
    water bread milk tea soup fish fruit salt coffee paper music red door wet floor keep dry mind step
"""
SIGN_WORDS = tuple(_SIGN_WORDS.split())


def named(name: str) -> str:
    """How a text calls a thing by its name."""
    return f"the {name}"


def _fill(template: str, kind: str, subject: str) -> str:
    words = WORDS[kind]
    return template.format(
        x=subject,
        made=words.made,
        make=words.make,
        design=words.design,
        dimension=words.dimension,
        measure=words.measure,
        place=words.place_ask.format(thing=subject),
    )


def ask(attribute: str, kind: str, subject: str, rng: random.Random | None = None) -> str:
    """A question for a thing's `attribute` ("name" included); canonical without `rng`."""
    options = _ASKS[attribute]
    return _fill(rng.choice(options) if rng else options[0], kind, subject)


def ask_maker(attribute: str, maker: str, rng: random.Random | None = None) -> str:
    """A question about a maker, named or "the maker of …"; `birthplace` is its founder's."""
    options = _MAKER_ASKS[attribute]
    return (rng.choice(options) if rng else options[0]).format(m=maker)


def ask_person(attribute: str, person: str) -> str:
    """A question for where or when somebody was born: `birthplace` or `birthyear`."""
    return f"{'Where' if attribute == 'birthplace' else 'When'} was {person} born?"


def ask_which(attribute: str, more: bool, first: str, second: str, rng: random.Random) -> str:
    """Which of two has more (a later year, a higher price) or less of an attribute."""
    return rng.choice(_COMPARISONS[attribute, more]).format(a=first, b=second)


def ask_untold(subject: str, rng: random.Random) -> tuple[str, str]:
    """A question no source can answer, about `subject`, and its template with `{x}` for the gold query."""
    template = rng.choice(_UNTOLD)
    return template.format(x=subject), template


def ask_colour(subject: str, rng: random.Random) -> str:
    """The colour of the body."""
    return rng.choice(("What colour is {x}?", "Which colour does {x} have?", "What is the colour of {x}?")).format(
        x=subject
    )


def ask_shape(kind: str, subject: str, rng: random.Random) -> str:
    """Which of the kind's shapes it is."""
    options = ("What type of {k} is {x}?", "Which type of {k} is {x}?", "Tell me what type of {k} {x} is.")
    return rng.choice(options).format(k=kind, x=subject)


def ask_where(kind: str, rng: random.Random) -> str:
    """On which side of the picture the only thing of a kind is: left, middle or right."""
    options = ("On which side is the {k}?", "Is the {k} left, right or in the middle?", "Which side is the {k} on?")
    return rng.choice(options).format(k=kind)


def ask_at(slot: str, rng: random.Random) -> str:
    """What kind of thing is in a place."""
    options = ("What kind of thing is {s}?", "What sort of thing is {s}?", "What do I see {s}?")
    return rng.choice(options).format(s=SLOT_WORDS[slot])


def sign_phrase(rng: random.Random) -> str:
    """One to three ordinary words for a sign, in the capitals they are printed with."""
    return " ".join(word.capitalize() for word in rng.sample(SIGN_WORDS, rng.choice((1, 2, 2, 3))))
