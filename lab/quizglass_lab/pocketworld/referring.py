"""Words that point at exactly one thing of a scene: its kind, and where needed its colour, size, place or neighbour.

A reference is said only where it is true beyond doubt (`Reference.plain`), and only where nothing else could be
meant in a loose reading (`Reference.fitting`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quizglass_lab.pocketworld.arrangement import arrange, boxes, ground
from quizglass_lab.pocketworld.layout import area
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.world import COLOURS, KINDS, Look, Thing

SIZES = ("small", "large")
PLACES = {
    "left": "on the left",
    "right": "on the right",
    "middle": "in the middle",
    "top": "at the top",
    "bottom": "at the bottom",
    "front": "in the front",
}
RELATIONS = {"beside": "beside the", "left of": "left of the", "right of": "right of the"}
RELATIONS |= {"above": "above the", "below": "below the"}
_NEAR, _CLEAR = 0.08, 0.15  # differences of middles: too small to tell, and large enough for anybody
_RATIO_NEAR, _RATIO_CLEAR = 1.15, 1.35  # of the widths of squares as large as the boxes
_ONE_OF = {"size": SIZES, "colour": tuple(COLOURS), "place": tuple(PLACES.values())}
_ONE_OF |= {"kind": KINDS, "relation": tuple(RELATIONS.values()), "anchor": KINDS}
_SIZE, _COLOUR, _AT, _KIND, _BY, _ANCHOR = (f"(?P<{part}>{'|'.join(words)})" for part, words in _ONE_OF.items())
_SAID = rf"(?:{_SIZE} )?(?:{_COLOUR} )?{_KIND}(?: (?:{_AT}|{_BY} {_ANCHOR}))?"
_WORDS = re.compile(rf"^(?:the )?{_SAID}$")


@dataclass(frozen=True)
class Seen:
    """A thing as it shows in the picture: its box's middle and half extents, its size, how near it stands."""

    thing: Thing
    x: float
    y: float
    wide: float
    high: float
    size: float
    ground: float

    def beside(self, other: Seen, reach: float, slope: float) -> bool:
        """Whether the other stands left or right of it, within `reach`, no more than `slope` as far up or down."""
        gap = abs(self.x - other.x) - self.wide - other.wide
        return gap <= reach and abs(self.y - other.y) < slope * abs(self.x - other.x)


def look_at(scene: Scene) -> tuple[Seen, ...]:
    """The things of a scene as they show, in its order."""
    centres = arrange(scene).centres
    return tuple(
        Seen(
            placed.thing,
            (box[0] + box[2]) / 2,
            (box[1] + box[3]) / 2,
            (box[2] - box[0]) / 2,
            (box[3] - box[1]) / 2,
            area(box) ** 0.5,
            ground(placed, centre),
        )
        for placed, centre, box in zip(scene.things, centres, boxes(scene), strict=True)
    )


@dataclass(frozen=True)
class Reference:
    """Words for one thing, taken apart; `place` is a key of PLACES, `relation` of RELATIONS, `anchor` a kind."""

    kind: str
    size: str = ""
    colour: str = ""
    place: str = ""
    relation: str = ""
    anchor: str = ""

    @classmethod
    def parse(cls, words: str) -> Reference | None:
        """What the words say, e.g. "the red car on the left"; None where they are no reference of this kind."""
        match = _WORDS.match(words)
        if match is None:
            return None
        said = {key: value or "" for key, value in match.groupdict().items()}
        said["place"] = next((key for key, value in PLACES.items() if value == said["place"]), "")
        said["relation"] = next((key for key, value in RELATIONS.items() if value == said["relation"]), "")
        return cls(**said)

    @property
    def words(self) -> str:
        """How it is said, without an article."""
        parts = [self.size, self.colour, self.kind, PLACES.get(self.place, "")]
        if self.relation:
            parts.append(f"{RELATIONS[self.relation]} {self.anchor}")
        return " ".join(part for part in parts if part)

    def fitting(self, seen: Sequence[Seen]) -> list[Seen]:
        """Everything that the words could mean, read loosely; nothing where they say what is not."""
        group = self._group(seen)
        if self.size:
            group = [one for one in group if self._size_ratio(one, group) <= _RATIO_NEAR]
        if self.place:
            group = [one for one in group if _PLACE[self.place](one, group, _NEAR)]
        if self.relation:
            anchors = [one for one in seen if one.thing.kind == self.anchor]
            if len(anchors) != 1:
                return []
            group = [one for one in group if _RELATION[self.relation](one, anchors[0], False)]
        return group

    def plain(self, one: Seen, seen: Sequence[Seen]) -> bool:
        """Whether the words are true of it beyond doubt."""
        group = self._group(seen)
        others = [other for other in group if other is not one]
        if one not in group or self.colour not in ("", one.thing.look.body) or (self.size and not others):
            return False
        if self.size and any(self._size_ratio(other, [one]) < _RATIO_CLEAR for other in others):
            return False
        if self.place and not (_PLACE[self.place](one, [one], 0.0) and _APART[self.place](one, others, seen)):
            return False
        if not self.relation:
            return True
        return all(_RELATION[self.relation](one, anchor, True) for anchor in seen if anchor.thing.kind == self.anchor)

    def _group(self, seen: Sequence[Seen]) -> list[Seen]:
        """The things of the kind and colour; what has the colour in its pattern only might be meant as well."""
        return [one for one in seen if one.thing.kind == self.kind and self.colour in ("", *_colours(one.thing.look))]

    def _size_ratio(self, one: Seen, group: Sequence[Seen]) -> float:
        """How many times as small, or as large, the most extreme of the group is."""
        if self.size == "small":
            return one.size / min(other.size for other in group)
        return max(other.size for other in group) / one.size


def _colours(look: Look) -> tuple[str, ...]:
    return (look.body,) if look.pattern == "plain" else (look.body, look.accent)


Group = Sequence[Seen]
# A thing of a group is at a place if it is on that side and no other of the group is farther there by `near`.
_PLACE: dict[str, Callable[[Seen, Group, float], bool]] = {
    "left": lambda one, group, near: one.x < 0.42 + near and one.x <= min(o.x for o in group) + near,
    "right": lambda one, group, near: one.x > 0.58 - near and one.x >= max(o.x for o in group) - near,
    "middle": lambda one, group, near: abs(one.x - 0.5) < 0.1 + near and abs(one.y - 0.5) < 0.3 + near,
    "top": lambda one, group, near: one.y < 0.42 + near and one.y <= min(o.y for o in group) + near,
    "bottom": lambda one, group, near: one.y > 0.58 - near and one.y >= max(o.y for o in group) - near,
    "front": lambda one, group, near: one.ground >= max(o.ground for o in group) - near,
}
# What sets it apart from the others of its group or, for the front, from all things.
_APART: dict[str, Callable[[Seen, Group, Group], bool]] = {
    "left": lambda one, others, seen: all(one.x + _CLEAR < o.x for o in others),
    "right": lambda one, others, seen: all(one.x - _CLEAR > o.x for o in others),
    "middle": lambda one, others, seen: all(abs(o.x - 0.5) > abs(one.x - 0.5) + _CLEAR for o in others),
    "top": lambda one, others, seen: all(one.y + _CLEAR < o.y for o in others),
    "bottom": lambda one, others, seen: all(one.y - _CLEAR > o.y for o in others),
    "front": lambda one, others, seen: len(seen) > 1 and all(one.ground - _NEAR > o.ground for o in seen if o != one),
}


def _side(one: float, anchor: float, plain: bool) -> bool:
    """Whether `one` comes before `anchor`; a little behind it counts where nothing has to be plain."""
    return one < anchor - _CLEAR if plain else one < anchor + _NEAR / 2


_RELATION: dict[str, Callable[[Seen, Seen, bool], bool]] = {
    "beside": lambda one, anchor, plain: one.beside(anchor, *((0.1, 0.7) if plain else (0.22, 1.3))),
    "left of": lambda one, anchor, plain: _side(one.x, anchor.x, plain),
    "right of": lambda one, anchor, plain: _side(-one.x, -anchor.x, plain),
    "above": lambda one, anchor, plain: _side(one.y, anchor.y, plain),
    "below": lambda one, anchor, plain: _side(-one.y, -anchor.y, plain),
}


def alone_at(place: str, scene: Scene) -> Thing | None:
    """The thing that is at a place (a key of PLACES), if it is that beyond doubt and nothing else could be meant."""
    seen = look_at(scene)
    loose = [one for one in seen if _PLACE[place](one, seen, _NEAR)]
    others = [one for one in seen if one not in loose]
    plain = len(loose) == 1 and _PLACE[place](loose[0], loose, 0.0) and _APART[place](loose[0], others, seen)
    return loose[0].thing if plain else None


def alone_by(relation: str, anchor: Thing, scene: Scene) -> Thing | None:
    """The thing that stands in a relation (a key of RELATIONS) to another, under the same conditions."""
    seen = look_at(scene)
    there = next(one for one in seen if one.thing.id == anchor.id)
    loose = [one for one in seen if one is not there and _RELATION[relation](one, there, False)]
    return loose[0].thing if len(loose) == 1 and _RELATION[relation](loose[0], there, True) else None


def fitting(words: str, scene: Scene) -> tuple[Thing, ...]:
    """The things of a scene that the words could mean, taken loosely; all of it for words that are no reference."""
    reference = Reference.parse(words)
    seen = look_at(scene)
    return tuple(one.thing for one in (reference.fitting(seen) if reference else seen))


def references(thing: Thing, scene: Scene, *, by: Sequence[str] = (), without: Sequence[str] = ()) -> list[Reference]:
    """Every reference that points at `thing` alone, the shortest first.

    Of those, only what uses all of `by` and none of `without`: "size", "colour", "place", "relation".
    """
    seen = look_at(scene)
    one = next(one for one in seen if one.thing.id == thing.id)
    return [
        reference
        for reference in _candidates(one, seen)
        if all(getattr(reference, part) for part in by)
        and not any(getattr(reference, part) for part in without)
        and reference.plain(one, seen)
        and reference.fitting(seen) == [one]
    ]


def _candidates(one: Seen, seen: Sequence[Seen]) -> Iterator[Reference]:
    kind, colour = one.thing.kind, one.thing.look.body
    kinds = [other.thing.kind for other in seen]
    anchors = [other for other in KINDS if other != kind and kinds.count(other) == 1]
    for said in ("", colour):
        yield Reference(kind, colour=said)
        yield from (Reference(kind, size=size, colour=said) for size in SIZES)
        yield from (Reference(kind, colour=said, place=place) for place in PLACES)
        for relation in RELATIONS:
            yield from (Reference(kind, colour=said, relation=relation, anchor=anchor) for anchor in anchors)


def words_for(thing: Thing, scene: Scene) -> str:
    """The shortest words for a thing; its kind where nothing tells it apart."""
    options = references(thing, scene)
    return f"the {options[0].words if options else thing.kind}"


def choose(options: Sequence[Reference], rng: random.Random) -> Reference:
    """One of the references to a thing: where the kind alone will do mostly that, else any way of telling it apart."""
    if not options[0].words.count(" ") and rng.random() < 0.5:
        return options[0]
    short = [option for option in options if _parts(option) == 1] or list(options)
    ways = sorted({_way(option) for option in short})
    way = rng.choice(ways)
    return rng.choice([option for option in short if _way(option) == way])


def _way(reference: Reference) -> str:
    return next((part for part in ("relation", "place", "size", "colour") if getattr(reference, part)), "")


def _parts(reference: Reference) -> int:
    return sum(1 for part in (reference.size, reference.colour, reference.place, reference.relation) if part)


def in_five_words(thing: Thing, reference: Reference | None) -> str:
    """What is meant, in at most five words that still tell it from the others, with its colour where there is room."""
    if reference is None:
        return f"{thing.look.body} {thing.kind}"
    words = Reference(**(vars(reference) | {"colour": thing.look.body})).words
    if len(words.split()) > 5:
        words = reference.words
    return words if len(words.split()) <= 5 else words.replace(" the ", " ")


def pointed_at(thing: Thing, scene: Scene, subject: str) -> tuple[tuple[str, ...], str]:
    """The kinds of objects that a question with this subject may be about, and which object is meant.

    Nothing where the picture does not show the thing; where the subject is a name, any words that tell it apart.
    """
    if all(placed.thing.id != thing.id for placed in scene.things):
        return (), ""
    if len(scene.things) == 1:
        return (thing.kind,), in_five_words(thing, None)
    reference = Reference.parse(subject) or next(iter(references(thing, scene)), None)
    if reference is None:
        return (thing.kind,), ""
    return tuple(kind for kind in (thing.kind, reference.anchor) if kind), in_five_words(thing, reference)
