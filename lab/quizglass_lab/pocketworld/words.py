"""How each kind of thing is talked about: the verbs and phrases that articles and questions share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KindWords:
    """Phrases of one kind."""

    made: str  # participle for maker and year: "made by", "first made in"
    make: str  # past tense: "Who made …?" (same word where English has one form)
    design: str  # past tense for the designer: "Who designed …?"
    designed: str  # participle: "was designed by"
    dimension: str  # adjective of `length`: long, tall, wide
    measure: str  # its noun: length, height, width
    place_is: str  # "is parked in"
    place_ask: str  # completes "Where …?"; {thing} is the subject


WORDS: dict[str, KindWords] = {
    "car": KindWords("made", "made", "designed", "designed", "long", "length", "is parked in", "is {thing} parked"),
    "boat": KindWords("built", "built", "designed", "designed", "long", "length", "lies in", "does {thing} lie"),
    "packet": KindWords("made", "made", "designed", "designed", "tall", "height", "is packed in", "is {thing} packed"),
    "building": KindWords(
        "built", "built", "designed", "designed", "tall", "height", "stands in", "does {thing} stand"
    ),
    "plant": KindWords(
        "grown",
        "grew",
        "first described",
        "first described",
        "tall",
        "height",
        "is planted in",
        "is {thing} planted",
    ),
    "bird": KindWords(
        "bred", "bred", "first described", "first described", "long", "length", "lives in", "does {thing} live"
    ),
    "book": KindWords("printed", "printed", "wrote", "written", "wide", "width", "is kept in", "is {thing} kept"),
    "dish": KindWords(
        "made", "made", "first cooked", "first cooked", "wide", "width", "is served in", "is {thing} served"
    ),
    "device": KindWords("made", "made", "designed", "designed", "long", "length", "is sold in", "is {thing} sold"),
}

DOMAINS = {
    "car": "vehicle",
    "boat": "vehicle",
    "building": "building",
    "plant": "nature",
    "bird": "nature",
    "dish": "food",
    "packet": "product",
    "book": "product",
    "device": "product",
}
"""Groups of kinds: what a question about a thing of the kind is about."""
TEXT_DOMAIN, NUMBER_DOMAIN = "text", "number"
"""Domains of questions about printed words, and about numbers that have to be worked out."""
