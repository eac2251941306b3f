"""The words of questions: three or four ways to ask for each attribute, the first of them canonical.

A subject is what a question is about in its words: "this car", "the car on the left", "it", "the Velmora".
"""

import random

from quizglass_lab.pocketworld.words import WORDS

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
_PERSON_ASKS: dict[str, tuple[str, ...]] = {
    "birthplace": ("Where was {p} born?", "What is the birthplace of {p}?", "In which town was {p} born?"),
    "birthyear": ("When was {p} born?", "In which year was {p} born?", "What year was {p} born in?"),
}
_TOWN_ASKS: dict[str, tuple[str, ...]] = {
    "river": ("Which river runs through {t}?", "What is the river of {t}?", "What is the river of {t} called?"),
    "craft": ("What is {t} known for?", "For what is {t} known?", "Tell me what {t} is known for."),
    "people": ("How many people live in {t}?", "How many people does {t} have?", "How many people are there in {t}?"),
}
_NOUNS = {
    "maker": "the maker of {x}",
    "designer": "the person who {design} {x}",
    "place": "the town that {x} {place_is}",
    "home": "the home town of {x}",
    "founder": "the founder of {x}",
    "birthplace": "the birthplace of {x}",
}
_COMPARISONS: dict[tuple[str, bool], tuple[str, ...]] = {
    ("year", False): ("Which is older, {a} or {b}?", "Which of the two is older, {a} or {b}?"),
    ("year", True): ("Which is newer, {a} or {b}?", "Which of the two is newer, {a} or {b}?"),
    ("price", False): ("Which costs less, {a} or {b}?", "Which is cheaper, {a} or {b}?"),
    ("price", True): ("Which costs more, {a} or {b}?", "Which has the higher price, {a} or {b}?"),
    ("weight", False): ("Which weighs less, {a} or {b}?", "Which is lighter, {a} or {b}?"),
    ("weight", True): ("Which weighs more, {a} or {b}?", "Which is heavier, {a} or {b}?"),
    ("length", False): ("Which is {less}, {a} or {b}?", "Which of the two is {less}, {a} or {b}?"),
    ("length", True): ("Which is {more}, {a} or {b}?", "Which of the two is {more}, {a} or {b}?"),
}
_COMPARATIVES = {"long": ("shorter", "longer"), "tall": ("shorter", "taller"), "wide": ("narrower", "wider")}
_DIFFERENCES: dict[str, tuple[str, ...]] = {
    "year": ("How many years older is {a} than {b}?", "By how many years is {a} older than {b}?"),
    "price": ("How much more does {a} cost than {b}?", "How many crowns more does {a} cost than {b}?"),
    "weight": ("How much more does {a} weigh than {b}?", "How much heavier is {a} than {b}?"),
    "length": ("How much {more} is {a} than {b}?", "By how much is {a} {more} than {b}?"),
}
_SEVERAL = ("How much do {n} of {x} cost?", "What do {n} of {x} cost?", "What is the price of {n} of {x}?")
_ABOUT = ("Tell me about {x}.", "What do you know about {x}?", "Tell me more about {x}.")
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
COUNT_KIND = ("How many {k} are in the picture?", "How many {k} do you see?", "How many {k} are there?")
_PLURALS = {"dish": "dishes"}
_IS_THERE = ("Is there {a} in the picture?", "Do you see {a}?", "Can you see {a} here?")
_SIDES = ("On which side is {x}?", "Is {x} left, right or in the middle?", "Which side is {x} on?")
_HEIGHTS = ("Is {x} at the top or at the bottom?", "Is {x} near the top or near the bottom of the picture?")
_CHANGE = ("How much change do I get from {n} today?", "I pay with {n} today. How much change do I get?")
_TODAY = ("What do {n} of these cost today?", "How much do {n} of these cost today?", "I buy {n} today. What do I pay?")
SLOT_WORDS = {"left": "on the left", "middle": "in the middle", "right": "on the right"}
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six")
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
        place_is=words.place_is,
    )


def ask(attribute: str, kind: str, subject: str, rng: random.Random | None = None) -> str:
    """A question for a thing's `attribute` ("name" included); canonical without `rng`."""
    options = _ASKS[attribute]
    return _fill(rng.choice(options) if rng else options[0], kind, subject)


def ask_maker(attribute: str, maker: str, rng: random.Random | None = None) -> str:
    """A question about a maker, named or "the maker of …"; `birthplace` is its founder's."""
    options = _MAKER_ASKS[attribute]
    return (rng.choice(options) if rng else options[0]).format(m=maker)


def ask_person(attribute: str, person: str, rng: random.Random | None = None) -> str:
    """A question for where or when a person was born: `birthplace` or `birthyear`."""
    options = _PERSON_ASKS[attribute]
    return (rng.choice(options) if rng else options[0]).format(p=person)


def ask_town(attribute: str, town: str, rng: random.Random | None = None) -> str:
    """A question about a town: its `river`, `craft` or `people`."""
    options = _TOWN_ASKS[attribute]
    return (rng.choice(options) if rng else options[0]).format(t=town)


def noun(attribute: str, kind: str, subject: str) -> str:
    """What an attribute of a subject is called in a longer question, e.g. "the founder of the maker of this car"."""
    return _fill(_NOUNS[attribute], kind, subject)


def ask_which(
    attribute: str, more: bool, first: str, second: str, rng: random.Random | None = None, *, kind: str = "car"
) -> str:
    """Which of two has more (a later year, a higher price) or less of an attribute; `kind` words its length."""
    options = _COMPARISONS[attribute, more]
    less_word, more_word = _COMPARATIVES[WORDS[kind].dimension]
    template = rng.choice(options) if rng else options[0]
    return template.format(a=first, b=second, less=less_word, more=more_word)


def ask_difference(attribute: str, more: str, less: str, kind: str, rng: random.Random | None = None) -> str:
    """How much more of an attribute the first has than the second; for years, how much older it is."""
    options = _DIFFERENCES[attribute]
    template = rng.choice(options) if rng else options[0]
    return template.format(a=more, b=less, more=_COMPARATIVES[WORDS[kind].dimension][1])


def ask_several(count: int, subject: str, rng: random.Random | None = None) -> str:
    """What two or three of a thing cost."""
    template = rng.choice(_SEVERAL) if rng else _SEVERAL[0]
    return template.format(n=NUMBER_WORDS[count], x=subject)


def ask_about(subject: str, rng: random.Random | None = None) -> str:
    """Whatever there is to tell of a thing."""
    return (rng.choice(_ABOUT) if rng else _ABOUT[0]).format(x=subject)


def ask_untold(subject: str, rng: random.Random) -> tuple[str, str]:
    """A question no source can answer, about `subject`, and its template with `{x}` for the gold query."""
    template = rng.choice(_UNTOLD)
    return template.format(x=subject), template


def ask_colour(subject: str, rng: random.Random | None = None) -> str:
    """The colour of the body; canonical without `rng`."""
    options = ("What colour is {x}?", "Which colour does {x} have?", "What is the colour of {x}?")
    return (rng.choice(options) if rng else options[0]).format(x=subject)


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


def plural(kind: str) -> str:
    """Several things of a kind."""
    return _PLURALS.get(kind, f"{kind}s")


def a_thing(words: str) -> str:
    """The words with the indefinite article."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def ask_is_there(words: str, rng: random.Random) -> str:
    """Whether the picture shows a thing of this description, e.g. "red car"."""
    return rng.choice(_IS_THERE).format(a=a_thing(words))


def ask_side(subject: str, rng: random.Random) -> str:
    """Left, right or middle."""
    return rng.choice(_SIDES).format(x=subject)


def ask_height(subject: str, rng: random.Random) -> str:
    """Top or bottom."""
    return rng.choice(_HEIGHTS).format(x=subject)


def ask_kind_of(place: str, rng: random.Random) -> str:
    """What kind of thing is there; `place` is e.g. "on the left" or "beside the car"."""
    return rng.choice(("What kind of thing is {s}?", "What sort of thing is {s}?", "What do I see {s}?")).format(
        s=place
    )


def ask_change(note: str, rng: random.Random) -> str:
    """What is left of a sum of money after paying the price on the sign."""
    return rng.choice(_CHANGE).format(n=note)


def ask_total(count: int, rng: random.Random) -> str:
    """What some cost at the price on the sign."""
    return rng.choice(_TODAY).format(n=NUMBER_WORDS[count])


def sign_phrase(rng: random.Random) -> str:
    """One to three ordinary words for a sign, in the capitals they are printed with."""
    return " ".join(word.capitalize() for word in rng.sample(SIGN_WORDS, rng.choice((1, 2, 2, 3))))
