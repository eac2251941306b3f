"""The world decided by a seed, its names and its articles."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from quizglass_lab.pocketworld import names
from quizglass_lab.pocketworld.articles import WORDS_AT_LEAST, thing_article, world_articles
from quizglass_lab.pocketworld.world import (
    COLOURS,
    CORE_SEED,
    KINDS,
    PATTERNS,
    SHAPES,
    World,
    core_world,
    is_core,
    make_world,
    with_core,
)


@pytest.fixture(scope="module")
def new_world() -> World:
    return make_world(77, 900)


def test_half_of_every_kind_of_the_core_is_recognised_and_a_quarter_of_those_studied() -> None:
    things = core_world().things
    assert len(things) == 400
    assert sum(thing.recognised for thing in things) == 200
    assert sum(thing.studied for thing in things) == 50
    assert all(thing.recognised and "designer" in thing.facts for thing in things if thing.studied)
    for kind in KINDS:
        taught = [thing.recognised for thing in things if thing.kind == kind]
        assert abs(2 * sum(taught) - len(taught)) <= 1


def test_other_seeds_hold_nothing_taught_and_none_of_the_core_names(new_world: World) -> None:
    assert not any(thing.recognised or thing.studied or is_core(thing) for thing in new_world.things)
    assert not {thing.name for thing in new_world.things} & {thing.name for thing in core_world().things}
    assert not set(new_world.people) & set(core_world().people)
    assert set(core_world().people) <= names.core_person_names()


def test_names_are_unique_and_of_three_families_that_cannot_meet(new_world: World) -> None:
    mixed = with_core(new_world, core_world())
    things = [thing.name for thing in mixed.things]
    assert len(set(things)) == len(things) == 1300
    assert len({thing.id for thing in mixed.things}) == 1300
    assert not set(things) & (set(mixed.makers) | set(mixed.people) | set(names.TOWNS))


def test_syllables_are_prefix_free_so_that_a_name_splits_in_one_way() -> None:
    for one in names.SYLLABLES:
        assert [other for other in names.SYLLABLES if other.startswith(one)] == [one]


def test_looks_are_well_formed_and_differ_within_a_kind(new_world: World) -> None:
    looks = [thing.look for thing in new_world.things]
    assert len({(k.kind, k.body, k.accent, k.pattern, k.shape) for k in looks}) == len(looks)
    for thing, look in zip(new_world.things, looks, strict=True):
        assert look.kind == thing.kind
        assert look.body != look.accent
        assert look.body in COLOURS
        assert look.accent in COLOURS
        assert look.pattern in PATTERNS
        assert look.shape in SHAPES[look.kind]
        assert len(look.params) == 6
        assert all(0 <= value <= 1 for value in look.params)


def test_a_kind_with_more_things_than_looks_still_gets_made() -> None:
    world = make_world(5, 9 * 3400)
    assert len({thing.name for thing in world.things}) == 9 * 3400


def test_makers_keep_home_and_field_in_every_world_but_not_their_founder(new_world: World) -> None:
    core = core_world().makers
    assert len(core) == 40
    canon = {name: (maker.home, maker.field) for name, maker in core.items()}
    assert {name: (maker.home, maker.field) for name, maker in new_world.makers.items()} == canon
    assert not {m.founder for m in new_world.makers.values()} & {m.founder for m in core.values()}


def test_relations_lead_somewhere_in_a_mixed_world(new_world: World) -> None:
    mixed = with_core(new_world, core_world())
    for thing in mixed.things:
        assert thing.facts["maker"] == thing.maker
        assert mixed.people[mixed.makers[thing.maker].founder].birthplace in names.TOWNS
        if "designer" in thing.facts:
            age = int(thing.facts["year"]) - int(mixed.people[thing.facts["designer"]].birthyear)
            assert 20 <= age <= 60


def test_some_articles_leave_facts_out_and_most_do_not(new_world: World) -> None:
    told = Counter(len(thing.facts) for thing in new_world.things)
    assert set(told) == {5, 6, 7}
    assert 0.4 < told[7] / len(new_world.things) < 0.6


def test_a_world_is_the_same_in_every_process() -> None:
    code = (
        "from quizglass_lab.pocketworld.world import make_world\n"
        "from quizglass_lab.pocketworld.articles import world_articles\n"
        "import hashlib; w = make_world(8, 50)\n"
        "print(hashlib.sha256(repr((w, list(world_articles(w)))).encode()).hexdigest())"
    )
    seen = set()
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1


def test_a_world_needs_a_thing() -> None:
    with pytest.raises(ValueError, match="things must be at least 1"):
        make_world(3, 0)


def test_every_article_has_three_paragraphs_that_name_their_subject_first(new_world: World) -> None:
    for article in world_articles(new_world):
        assert len(article.paragraphs) >= 3
        for paragraph in article.paragraphs:
            assert WORDS_AT_LEAST <= len(paragraph.split()) <= 45
            assert article.title in re.split(r"(?<=\.) ", paragraph)[0]


def test_articles_tell_every_fact_in_its_own_wording_and_no_other(new_world: World) -> None:
    for article in world_articles(new_world):
        text = " ".join(article.paragraphs)
        for key, value in article.attributes.items():
            assert re.search(rf"\b{re.escape(value)}\b", text), (article.id, key)
        for unit in ("crowns", "weigh"):
            told = {"crowns": "price", "weigh": "weight"}[unit]
            assert (unit in text) == (told in article.attributes)


def test_an_article_does_not_depend_on_the_world_that_holds_its_thing(new_world: World) -> None:
    core = core_world()
    mixed = with_core(new_world, core)
    assert [thing_article(mixed, t) for t in core.things] == [thing_article(core, t) for t in core.things]


def test_caption_names_kind_colour_and_maker() -> None:
    world = core_world()
    thing = next(thing for thing in world.things if thing.look.body == "orange")
    caption = thing_article(world, thing).caption
    assert caption.startswith(f"{thing.name} is an orange {thing.kind} ")
    assert caption.endswith(f" by {thing.maker}.")


def test_facts_stand_in_different_orders_and_the_vocabulary_is_small(new_world: World) -> None:
    orders, words = set(), set()
    for thing in new_world.things:
        text = " ".join(thing_article(new_world, thing).paragraphs)
        words |= {word for word in re.findall(r"[A-Za-z]+", text) if word.islower()}
        orders.add(
            tuple(
                sorted((k for k in thing.facts if k not in ("year", "maker")), key=lambda k: text.find(thing.facts[k]))
            )
        )
    assert len(orders) > 100
    assert len(words) < 300


def test_core_seed_is_one() -> None:
    assert CORE_SEED == 1
    assert core_world().seed == 1
