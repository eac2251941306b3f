"""Format 2: every question follows from its hops, in whatever world, and says rightly where it needs to look."""

import re
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_lab.pocketworld.articles import Article, maker_id, world_articles
from quizglass_lab.pocketworld.families.walks import group_of
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.questions import GROUPS, make_questions, make_unknowable
from quizglass_lab.pocketworld.words import DOMAINS, NUMBER_DOMAIN, TEXT_DOMAIN
from quizglass_lab.pocketworld.world import (
    ATTRIBUTES,
    Thing,
    World,
    core_world,
    is_core,
    make_world,
    taught,
    with_core,
)

SEEN_ALONE = {"visible", "printed", "counting", "position", "neighbour", "presence"}
NAMES_ITS_ANSWER = {"comparison"}


@dataclass(frozen=True)
class Asked:
    """Questions of both mixes about one world, and its articles."""

    world: World
    questions: list[Question]
    articles: dict[str, Article]
    things: dict[str, Thing]

    @classmethod
    def of(cls, world: World, count: int, seed: int, unseen_share: float | None = 0.5) -> "Asked":
        questions = [
            question
            for mix in ("balanced", "cog")
            for question in make_questions(world, count, seed, unseen_share=unseen_share, format=2, mix=mix)
        ]
        articles = {article.id: article for article in world_articles(world)}
        return cls(world, questions, articles, {thing.id: thing for thing in world.things})


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked.of(with_core(make_world(31, 400, format=2), core_world(2)), 2000, 5)


def check_hops(asked: Asked, question: Question) -> None:
    """Every hop's entry tells its answer, and a text hop's query needs nothing but what came in rounds before."""
    told = {question.text, *(text for turn in question.history for text in turn), question.words or ""}
    for number in range(max((hop.round for hop in question.hops), default=-1) + 1):
        hops = [hop for hop in question.hops if hop.round == number]
        assert hops, (question.id, "rounds follow each other without a gap")
        for hop in hops:
            article = asked.articles[hop.entry]
            assert hop.action in ("image", "text")
            if hop.action == "image":
                assert hop.answer == article.title
                assert hop.entry in {placed.thing.id for placed in question.scene.things}
                continue
            assert any(article.title in text for text in told), (question.text, hop)
            texts = " ".join(article.paragraphs)
            values = [hop.answer] if not question.claims else list(article.attributes.values())
            assert all(value in texts for value in values), (question.text, hop)
            assert article.title in hop.query
        told |= {hop.answer for hop in hops}
        told |= {asked.articles[hop.entry].caption for hop in hops if hop.action == "image"}


def oracle(asked: Asked, question: Question) -> str | None:
    """The answer of a reader of every hop's entry; None where a question has no hops."""
    if not question.hops:
        return None
    numbers = [hop.answer for hop in question.hops if hop.action == "text"]
    if question.family == "comparison":
        return question.answer if question.answer in {asked.articles[hop.entry].title for hop in question.hops} else ""
    if question.family == "calculation" and len(numbers) == 2:
        first, second = (int(number.split()[0]) for number in numbers)
        return str(abs(first - second))
    if question.family == "calculation":
        times = 2 if " two " in question.text else 3
        return str(times * int(numbers[-1].split()[0]))
    last = question.hops[-1]
    if last.action == "image" and question.answer != last.answer:
        return question.answer if question.answer in asked.articles[last.entry].caption else ""
    return last.answer


def check(asked: Asked, question: Question) -> None:
    """Everything that holds for any question of format 2."""
    check_hops(asked, question)
    answer = oracle(asked, question)
    assert answer is None or answer in (question.answer, *question.aliases), question
    if not question.hops:
        shown = {(question.words or "").lower(), *(placed.thing.look.body for placed in question.scene.things)}
        told = {answered for _, answered in question.history}
        assert (
            question.family in SEEN_ALONE
            or {question.answer, question.answer.lower(), *question.aliases} & (shown | told)
            or (question.family == "calculation" and question.words)
        ), question
    assert {hop.entry for hop in question.hops} <= set(question.gold_entries)
    assert set(question.gold_entries) <= set(asked.articles)
    assert question.domain in {*DOMAINS.values(), NUMBER_DOMAIN, TEXT_DOMAIN}
    if question.family not in NAMES_ITS_ANSWER | SEEN_ALONE:
        assert not re.search(rf"\b{re.escape(question.answer)}\b", question.text, re.IGNORECASE), question.text
    assert 1 <= len(question.answer.split()) <= 3 or question.claims
    if question.claims:
        assert " ".join(question.claims) == question.answer
        assert 3 <= len(question.claims) <= 4


def test_every_question_follows_from_its_hops(asked: Asked) -> None:
    for question in asked.questions:
        check(asked, question)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(2, 2**31), things=st.integers(40, 120))
def test_every_question_follows_in_any_world(seed: int, things: int) -> None:
    world = with_core(make_world(seed, things, format=2), core_world(2))
    asked = Asked.of(world, 80, seed)
    for question in asked.questions:
        check(asked, question)
    assert len({question.id for question in asked.questions}) == 160
    assert Asked.of(world, 80, seed).questions == asked.questions


def test_the_mixes_have_their_shares(asked: Asked) -> None:
    balanced, cog = asked.questions[:2000], asked.questions[2000:]
    assert Counter(question.group for question in balanced) == dict.fromkeys(GROUPS, 500)
    assert Counter(min(3, len(question.hops)) for question in cog) == {1: 400, 2: 660, 3: 940}
    for questions in (balanced, cog):
        targets = [asked.things[question.target] for question in questions if question.target]
        assert abs(sum(not is_core(thing) for thing in targets) / len(targets) - 0.5) < 0.04


def test_a_question_is_where_it_says_by_what_was_taught_and_told(asked: Asked) -> None:
    plain = [q for q in asked.questions if q.family in ("identity", "fact", "specific", "dialogue", "named")]
    for question in (q for q in plain if q.gold_attribute in (None, *ATTRIBUTES)):
        thing = asked.things[question.target or ""]
        said = f"{question.text} {question.words} {' '.join(answered for _, answered in question.history)}"
        told = {answered for _, answered in question.history} | {question.words, (question.words or "").lower()}
        image = question.answer not in told and thing.name not in said and not taught(thing, "name")
        attribute = question.gold_attribute or "name"
        known = question.answer in told or taught(thing, attribute) or attribute == "name"
        text = not known and not (image and attribute == "maker")
        assert question.group == ("none", "text", "image", "both")[2 * image + text], question


def test_the_group_says_which_of_the_hops_are_not_known(asked: Asked) -> None:
    """A search is needed where a reader with the taught facts cannot skip every hop of its kind."""
    by_maker = {maker_id(maker.name): maker for maker in asked.world.makers.values()}
    for question in asked.questions:
        needed = set()
        for hop in question.hops:
            thing, maker = asked.things.get(hop.entry), by_maker.get(hop.entry)
            known = maker is not None and hop.answer in (maker.home, maker.field)
            if thing is not None and hop.action == "image":
                known = taught(thing, "name")
            elif thing is not None:
                known = any(taught(thing, key) for key, value in thing.facts.items() if value == hop.answer)
            needed |= set() if known else {hop.action}
        assert question.group == group_of(needed), question


def test_chains_lead_over_makers_people_and_towns(asked: Asked) -> None:
    chains = [question for question in asked.questions if question.family == "chain"]
    kinds = Counter(tuple(asked.articles[hop.entry].kind for hop in q.hops if hop.action == "text") for q in chains)
    assert any(way[-3:] == ("maker", "person", "town") for way in kinds)
    assert {way[-1] for way in kinds} == {"person", "town"}
    assert max(len(question.hops) for question in chains) >= 4


def test_both_sides_of_a_comparison_are_looked_up_at_the_same_time(asked: Asked) -> None:
    pairs = [q for q in asked.questions if q.family == "comparison"]
    shapes = {tuple((hop.round, hop.action) for hop in question.hops) for question in pairs}
    assert ((0, "text"), (0, "text")) in shapes
    assert ((0, "image"), (0, "image"), (1, "text"), (1, "text")) in shapes
    assert any({(0, "text"), (0, "image"), (1, "text")} == set(shape) for shape in shapes)


def test_comparisons_name_the_right_one(asked: Asked) -> None:
    more = {
        **dict.fromkeys(("newer", "costs more", "higher price", "weighs more", "heavier"), True),
        **dict.fromkeys(("longer", "taller", "wider"), True),
        **dict.fromkeys(("older", "costs less", "cheaper", "weighs less", "lighter"), False),
        **dict.fromkeys(("shorter", "narrower"), False),
    }
    for question in (q for q in asked.questions if q.family == "comparison"):
        pair = [asked.things[entry] for entry in question.gold_entries]
        numbers = {t.name: int(t.facts[question.gold_attribute or ""].split()[0]) for t in pair}
        assert len({t.facts[question.gold_attribute or ""].partition(" ")[2] for t in pair}) == 1
        wanted = next(flag for word, flag in more.items() if word in question.text)
        assert question.answer == (max if wanted else min)(numbers, key=lambda name: numbers[name])


def test_a_stranger_is_in_the_picture_and_in_no_entry() -> None:
    world = with_core(make_world(31, 60, format=2), core_world(2))
    strangers = {thing.id for thing in world.strangers}
    nothing = make_unknowable(world, 200, 3, format=2)
    assert {question.answer for question in nothing} == {ABSTAIN}
    shown = [q for q in nothing if strangers & {placed.thing.id for placed in q.scene.things}]
    assert len(shown) > 30
    assert all(not question.hops and not question.gold_entries for question in shown)


def test_a_world_where_nothing_was_taught_still_asks_in_every_group() -> None:
    questions = make_questions(make_world(3, 60, format=2), 200, 1, format=2)
    assert Counter(question.group for question in questions) == dict.fromkeys(GROUPS, 50)


@pytest.mark.parametrize("things", [2, 3, 9])
def test_the_smallest_worlds_can_be_asked_about(things: int) -> None:
    for seed in range(2, 6):
        asked = Asked.of(make_world(seed, things, format=2), 40, seed, unseen_share=None)
        for question in asked.questions:
            check(asked, question)


def test_the_core_alone_can_be_asked_about() -> None:
    assert {q.group for q in make_questions(core_world(2), 40, 1, groups=("text", "none"), format=2)} == {
        "none",
        "text",
    }
