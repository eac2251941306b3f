"""Sources that contradict each other: what each says, who is right, and that nothing else is asked about them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_lab.pocketworld.articles import Article, world_articles
from quizglass_lab.pocketworld.dataset import export_world
from quizglass_lab.pocketworld.disputes import DISPUTE_KINDS, MEMORY_KINDS, PICTURE_KINDS, with_disputes
from quizglass_lab.pocketworld.names import SYLLABLES, split, twin_names
from quizglass_lab.pocketworld.question import Conflict, Question
from quizglass_lab.pocketworld.questions import make_conflicts, make_questions
from quizglass_lab.pocketworld.world import Thing, World, core_world, make_world, taught, with_core


def disputed_world(seed: int, things: int = 300) -> World:
    return with_disputes(with_core(make_world(seed, things, format=2), core_world(2)))


@pytest.fixture(scope="module")
def world() -> World:
    return disputed_world(77)


@pytest.fixture(scope="module")
def articles(world: World) -> dict[str, Article]:
    return {article.id: article for article in world_articles(world)}


@pytest.fixture(scope="module")
def things(world: World) -> dict[str, Thing]:
    return {thing.id: thing for thing in world.things}


@pytest.fixture(scope="module")
def questions(world: World) -> list[Question]:
    return make_conflicts(world, 1800, 3)


def of_kind(questions: list[Question], *kinds: str) -> list[tuple[Question, Conflict]]:
    return [(q, q.conflict) for q in questions if q.conflict and q.conflict.kind in kinds]


def told(article: Article, value: str) -> bool:
    return value == article.title or any(value in paragraph for paragraph in article.paragraphs)


def test_one_world_gives_three_hundred_questions_of_every_kind(questions: list[Question]) -> None:
    assert Counter(q.conflict.kind for q in questions if q.conflict) == dict.fromkeys(DISPUTE_KINDS, 300)
    assert len({(q.id, q.scene.seed) for q in questions}) == 1800
    assert len({(q.text, q.target, q.scene.seed) for q in questions}) == 1800


def test_each_side_is_the_right_one_often(questions: list[Question]) -> None:
    sides = Counter((q.conflict.kind in MEMORY_KINDS, q.conflict.right) for q in questions if q.conflict)
    assert min(sides[True, "memory"], sides[True, "evidence"]) >= 300
    assert {side for _, side in sides} == {"memory", "evidence", "picture", "text"}
    assert sides[False, "picture"] >= 140


def test_the_wrong_answer_is_told_by_the_rival_and_the_right_one_is_not(
    questions: list[Question], articles: dict[str, Article]
) -> None:
    for question, conflict in of_kind(questions, *DISPUTE_KINDS):
        assert conflict.wrong_answer != question.answer
        if conflict.rival:
            assert told(articles[conflict.rival], conflict.wrong_answer)
            assert not told(articles[conflict.rival], question.answer)


def test_stale_memory_is_corrected_by_the_article(questions: list[Question], articles: dict[str, Article]) -> None:
    core = {thing.id: thing for thing in core_world().things}
    for question, conflict in of_kind(questions, "stale"):
        thing, attribute = core[question.target or ""], question.gold_attribute or ""
        assert taught(thing, attribute)
        assert conflict == Conflict("stale", "evidence", thing.facts[attribute], "")
        assert told(articles[thing.id], question.answer)
        assert "Older books are wrong" in articles[thing.id].paragraphs[0]
        assert question.group == "text"


def test_memory_that_is_right_was_taught_and_the_store_has_only_what_misleads(
    questions: list[Question], articles: dict[str, Article], things: dict[str, Thing]
) -> None:
    for question, conflict in of_kind(questions, "rumour", "twin"):
        thing = things[question.target or ""]
        if conflict.right == "memory":
            assert taught(thing, question.gold_attribute or "")
            assert thing.id not in articles
            assert (question.group, question.hops, question.gold_entries) == ("none", (), ())
        else:
            assert thing.id in articles
            assert not thing.recognised
        if conflict.kind == "rumour":
            assert articles[conflict.rival].source == "a visitor's note"
        else:
            ours, theirs = split(thing.name), split(things[conflict.rival].name)
            assert len(ours) == len(theirs)
            assert sum(a != b for a, b in zip(ours, theirs, strict=True)) == 1


def test_near_twins_differ_in_their_accent_and_captions_tell_it(
    questions: list[Question], articles: dict[str, Article], things: dict[str, Thing]
) -> None:
    for question, conflict in of_kind(questions, "near-twin"):
        one, other = things[question.target or ""].look, things[conflict.rival].look
        alike = ("kind", "body", "pattern", "shape", "params")
        assert all(getattr(one, name) == getattr(other, name) for name in alike)
        assert one.accent != other.accent
        assert one.accent in articles[question.target or ""].caption
        assert other.accent in articles[conflict.rival].caption


def test_a_swapped_picture_shows_what_is_asked_about_and_its_text_another_colour(
    questions: list[Question], world: World, articles: dict[str, Article], things: dict[str, Thing]
) -> None:
    for question, conflict in of_kind(questions, "swapped-picture"):
        shown = things[question.target or ""].look
        assert world.disputes.pictured[conflict.rival] == shown
        assert f" {shown.body} " not in articles[conflict.rival].caption
        assert f" {shown.body} " in articles[question.target or ""].caption


def test_a_telling_caption_is_right_or_belongs_to_the_other(
    questions: list[Question], articles: dict[str, Article], things: dict[str, Thing]
) -> None:
    for question, conflict in of_kind(questions, "telling-caption"):
        colour = f" {things[question.target or ''].look.body} "
        own, other = articles[question.target or ""].caption, articles[conflict.rival].caption
        assert (colour in own, colour in other) == ((True, False) if conflict.right == "text" else (False, True))


def test_what_picture_and_text_disagree_on_is_not_known_by_sight(
    questions: list[Question], things: dict[str, Thing]
) -> None:
    for question, _ in of_kind(questions, *PICTURE_KINDS):
        assert not things[question.target or ""].recognised
        assert [placed.thing.id for placed in question.scene.things] == [question.target]
        assert question.group in ("image", "both")


def test_other_questions_are_not_about_what_is_in_dispute(world: World) -> None:
    for question in make_questions(world, 600, 1, unseen_share=0.5, format=2):
        assert question.conflict is None
        assert not {question.target, *question.gold_entries} & world.disputes.touched


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(2, 2**31))
def test_disputes_follow_from_the_seed_and_names_never_collide(seed: int) -> None:
    world = disputed_world(seed, 60)
    assert world == disputed_world(seed, 60)
    everything = [thing.name for thing in (*world.things, *world.strangers)]
    assert len(set(everything)) == len(everything)
    ids = [article.id for article in world_articles(world)]
    assert len(set(ids)) == len(ids)
    assert {case.kind for case in world.disputes.cases} == set(DISPUTE_KINDS)
    assert make_conflicts(world, 60, 1) == make_conflicts(world, 60, 1)


def test_a_disputed_world_on_disk_says_what_is_in_dispute(tmp_path: Path) -> None:
    summary = export_world(5, 60, tmp_path, questions=8, core=True, conflicts=12, sessions=2)
    assert (summary.conflicts, summary.sessions) == (12, 2)
    entries = {e["id"]: e for e in map(json.loads, (tmp_path / "entries.jsonl").read_text().splitlines())}
    lines = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    disputed = [line for line in lines if line["conflict"]]
    assert Counter(line["conflict"]["kind"] for line in disputed) == dict.fromkeys(DISPUTE_KINDS, 2)
    for line in disputed:
        assert (line["target"] in entries) == (line["conflict"]["right"] != "memory")
        assert line["conflict"]["rival"] in {"", *entries}
    assert {Path(picture).stem for e in entries.values() for picture in e["pictures"]} == {
        path.stem for path in (tmp_path / "pictures").iterdir()
    }
    turns = [line["session"] for line in lines if line["session"]]
    assert len(set(turns)) == 2
    assert len(turns) == summary.turns
    assert json.loads((tmp_path / "world.json").read_text())["turns"] == summary.turns


def test_format_one_has_neither_disputes_nor_sessions(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format 1 has none; choose format 2"):
        export_world(5, 60, tmp_path, questions=8, sessions=2, format=1)
    with pytest.raises(ValueError, match="sessions: the number of questions cannot be negative"):
        export_world(5, 60, tmp_path, questions=8, sessions=-1)


def test_a_world_without_a_core_disputes_pictures_alone() -> None:
    world = with_disputes(make_world(5, 120, format=2))
    assert {case.kind for case in world.disputes.cases} == set(PICTURE_KINDS)
    with pytest.raises(ValueError, match="no disputes of stale, rumour, twin in this world"):
        make_conflicts(world, 6, 1)
    assert len(make_conflicts(world, 30, 1, kinds=PICTURE_KINDS)) == 30


@pytest.mark.parametrize(
    ("seed", "things", "message"),
    [(1, 400, "conflicts: the trained core's own world has none"), (5, 9, "conflicts: a world of 9 things has none")],
)
def test_a_world_on_disk_that_can_have_no_disputes_is_refused(
    tmp_path: Path, seed: int, things: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        export_world(seed, things, tmp_path, questions=4, conflicts=3)
    assert not any(tmp_path.iterdir())


def test_the_core_itself_and_a_world_in_dispute_are_left_alone() -> None:
    for world in (core_world(2), disputed_world(5, 60)):
        with pytest.raises(ValueError, match="another seed than the core's that is not in dispute yet"):
            with_disputes(world)


@given(st.lists(st.sampled_from(SYLLABLES), min_size=2, max_size=3, unique=True), st.randoms(use_true_random=False))
def test_a_name_splits_into_its_syllables_and_twins_differ_in_one(syllables: list[str], rng: object) -> None:
    name = "".join(syllables).capitalize()
    assert split(name) == syllables
    twin = split(next(twin_names(name, rng)))  # type: ignore[arg-type]
    assert sum(a != b for a, b in zip(syllables, twin, strict=True)) == 1
