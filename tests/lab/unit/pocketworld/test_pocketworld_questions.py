"""Questions: right by the world, in the group they say, and the files they are written to."""

import argparse
import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from quizglass_lab.pocketworld.articles import world_articles
from quizglass_lab.pocketworld.dataset import build_world, command, export_world
from quizglass_lab.pocketworld.phrasing import NUMBER_WORDS, SIGN_WORDS, SLOT_WORDS
from quizglass_lab.pocketworld.questions import ABSTAIN, GROUPS, Question, make_questions, make_unknowable
from quizglass_lab.pocketworld.world import Thing, World, core_world, is_core, make_world, with_core

FAMILIES = {
    "none": {"visible", "printed", "identity", "fact", "maker-home"},
    "image": {"identity", "fact", "maker-home"},
    "text": {"named", "printed-name", "specific", "founder", "founder-named", "dialogue", "comparison"},
    "both": {"specific", "fact", "founder", "founder-birthplace"},
}


@pytest.fixture(scope="module")
def world() -> World:
    return with_core(make_world(31, 500), core_world())


@pytest.fixture(scope="module")
def things(world: World) -> dict[str, Thing]:
    return {thing.id: thing for thing in world.things}


@pytest.fixture(scope="module")
def questions(world: World) -> list[Question]:
    return make_questions(world, 4000, 5, unseen_share=0.5)


def of_family(questions: list[Question], *families: str) -> list[Question]:
    found = [question for question in questions if question.family in families]
    assert found
    return found


def test_groups_are_balanced_and_hold_every_family(questions: list[Question]) -> None:
    assert Counter(question.group for question in questions) == dict.fromkeys(GROUPS, 1000)
    for group, families in FAMILIES.items():
        assert {question.family for question in questions if question.group == group} == families


def test_the_same_seed_asks_the_same_and_another_does_not(world: World, questions: list[Question]) -> None:
    assert make_questions(world, 4000, 5, unseen_share=0.5) == questions
    other = make_questions(world, 4000, 6, unseen_share=0.5)
    assert sum(a.text == b.text for a, b in zip(questions, other, strict=True)) < 400
    assert len({question.id for question in questions + other}) == 8000


def test_a_question_is_where_it_says_by_what_the_model_was_taught(
    questions: list[Question], things: dict[str, Thing]
) -> None:
    for question in of_family(questions, "identity", "fact", "maker-home", "specific", "founder", "founder-birthplace"):
        assert question.target is not None
        known = things[question.target].recognised
        assert question.group in (("none", "text") if known else ("image", "both"))
        if question.group == "none" and question.gold_attribute == "designer":
            assert things[question.target].studied
        if question.group == "text" and question.gold_attribute == "designer":
            assert not things[question.target].studied


def test_half_of_the_targets_are_new(questions: list[Question], things: dict[str, Thing]) -> None:
    targets = [things[question.target] for question in questions if question.target]
    assert abs(sum(not is_core(thing) for thing in targets) / len(targets) - 0.5) < 0.03


def test_most_scenes_show_one_thing(questions: list[Question]) -> None:
    shown = Counter(len(question.scene.things) for question in questions)
    assert 0.65 < shown[1] / len(questions) < 0.75
    assert shown[2] > shown[3] > 0


def test_the_question_says_which_of_several_things_it_means(
    questions: list[Question], things: dict[str, Thing]
) -> None:
    several = [q for q in of_family(questions, "identity", "fact", "specific") if len(q.scene.things) > 1]
    for question in several:
        target = things[question.target or ""]
        slot = next(placed.slot for placed in question.scene.things if placed.thing.id == target.id)
        kinds = [placed.thing.kind for placed in question.scene.things]
        positions = [name for name, words in SLOT_WORDS.items() if words in question.text]
        assert positions == [slot] or (not positions and kinds.count(target.kind) == 1)
        assert target.kind in question.text


def test_answers_stand_in_the_gold_entries_in_the_same_words(world: World, questions: list[Question]) -> None:
    articles = {article.id: article for article in world_articles(world)}
    for question in questions:
        if question.family in ("visible", "printed"):
            assert not question.gold_entries
            continue
        text = " ".join(" ".join(articles[entry].paragraphs) for entry in question.gold_entries)
        assert question.answer in text


def test_gold_queries_stand_alone(questions: list[Question], things: dict[str, Thing]) -> None:
    for question in questions:
        if question.family in ("visible", "printed", "comparison"):
            assert question.gold_query == question.text
        elif question.family in ("founder", "founder-birthplace", "maker-home"):
            assert things[question.target or ""].maker in question.gold_query
        elif question.target:
            assert things[question.target].name in question.gold_query
        assert " this " not in question.gold_query or question.family == "visible"
        assert " it " not in question.gold_query


def test_image_queries_ask_for_the_name(questions: list[Question]) -> None:
    for question in questions:
        assert question.image_query.startswith("What is ")
        assert question.image_query.endswith(" called?")
    for question in of_family(questions, "named"):
        assert question.image_answer in question.image_query


def test_visible_answers_are_what_the_scene_holds(questions: list[Question], things: dict[str, Thing]) -> None:
    for question in of_family(questions, "visible"):
        target = things[question.target or ""]
        placed = next(p for p in question.scene.things if p.thing.id == target.id)
        right = {
            target.look.body,
            target.kind,
            target.look.shape,
            placed.slot,
            NUMBER_WORDS[len(question.scene.things)],
        }
        assert question.answer in right


def test_printed_words_are_on_the_sign(questions: list[Question], things: dict[str, Thing]) -> None:
    for question in of_family(questions, "printed"):
        assert question.answer == question.words == question.scene.sign
        assert question.answer == question.answer.title()
        assert set(question.answer.lower().split()) <= set(SIGN_WORDS)
    for question in of_family(questions, "printed-name"):
        name = things[question.target or ""].name
        assert question.words == name
        assert name not in question.text


def test_dialogues_carry_the_name_in_their_history(questions: list[Question], things: dict[str, Thing]) -> None:
    for question in of_family(questions, "dialogue"):
        name = things[question.target or ""].name
        assert question.history[0][1] == name
        assert name not in question.text
        assert question.answer not in [answer for _, answer in question.history]


def test_comparisons_name_the_right_one(questions: list[Question], world: World) -> None:
    by_id = {thing.id: thing for thing in world.things}
    more = {
        "newer": True,
        "costs more": True,
        "higher price": True,
        "older": False,
        "costs less": False,
        "cheaper": False,
    }
    for question in of_family(questions, "comparison"):
        pair = [by_id[entry] for entry in question.gold_entries]
        numbers = {t.name: int(t.facts[question.gold_attribute or ""].split()[0]) for t in pair}
        wanted = next(flag for word, flag in more.items() if word in question.text)
        assert question.answer == (max if wanted else min)(numbers, key=lambda name: numbers[name])


def test_what_nothing_answers_is_told_by_no_article(world: World) -> None:
    things = {thing.id: thing for thing in world.things}
    names = {thing.name for thing in world.things}
    asked = make_unknowable(world, 400, 2)
    assert {question.answer for question in asked} == {ABSTAIN}
    assert {question.group for question in asked} == {None}
    for question in asked:
        if question.target is None:
            assert not any(f"the {name} " in question.text or f"the {name}?" in question.text for name in names)
        elif question.gold_attribute:
            assert question.gold_attribute not in things[question.target].facts


def test_a_world_where_nothing_was_taught_still_asks_in_every_group() -> None:
    questions = make_questions(make_world(3, 60), 200, 1)
    assert {q.family for q in questions if q.group == "none"} == {"visible", "printed"}
    assert Counter(q.group for q in questions) == dict.fromkeys(GROUPS, 50)


def test_the_smallest_world_can_be_asked_about() -> None:
    assert len(make_questions(make_world(3, 1), 40, 1, groups=("image", "text", "both"))) == 40


def test_only_the_groups_asked_for() -> None:
    assert {q.group for q in make_questions(core_world(), 20, 1, groups=("text",))} == {"text"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": ("nowhere",)}, "groups: .*nowhere.*choose from none, image, text, both"),
        ({"groups": ()}, "groups: empty"),
        ({"unseen_share": 0.5}, "unseen_share: the world holds only core things"),
        ({"unseen_share": 50.0}, r"unseen_share: expected 0 to 1, not 50\.0"),
        ({"unseen_share": -0.1}, r"unseen_share: expected 0 to 1, not -0\.1"),
        ({"unseen_share": float("nan")}, "unseen_share: expected 0 to 1, not nan"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_questions(core_world(), 4, 1, **arguments)  # type: ignore[arg-type]


def test_a_world_on_disk_holds_together_and_is_the_same_twice(tmp_path: Path) -> None:
    stages: list[str] = []
    one = export_world(9, 12, tmp_path / "a", questions=8, progress=lambda stage, *_: stages.append(stage))
    assert export_world(9, 12, tmp_path / "b", questions=8) == one
    assert Counter(stages) == {"pictures": 12, "scenes": 8}
    written = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert written == sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.*"))
    assert all((tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes() for path in written)
    entries = [json.loads(line) for line in (tmp_path / "a/entries.jsonl").read_text().splitlines()]
    ids = {entry["id"] for entry in entries}
    assert len(ids) == len(entries) == one.entries
    for line in (tmp_path / "a/questions.jsonl").read_text().splitlines():
        question = json.loads(line)
        assert set(question["gold_entries"]) <= ids
        with Image.open(tmp_path / "a" / question["picture"]) as picture:
            assert picture.size == (448, 448)
    assert sum(len(entry["pictures"]) for entry in entries) == 12
    assert all((tmp_path / "a" / path).exists() for entry in entries for path in entry["pictures"])


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError, match="not empty; choose another folder or pass --overwrite"):
        export_world(9, 4, tmp_path, questions=1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_core_seed_cannot_stand_for_other_things() -> None:
    with pytest.raises(ValueError, match="seed: 1 is the trained core"):
        build_world(1, 30)
    assert len(build_world(4, 30, core=True).things) == 430


def test_the_command_writes_and_sums_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    line = ["--seed", "4", "--things", "9", "--questions", "4", "--out", str(tmp_path / "w"), "--json"]
    assert command.run(parser.parse_args(line)) == 0
    assert json.loads(capsys.readouterr().out)["groups"] == dict.fromkeys(GROUPS, 1)
    assert command.run(parser.parse_args(line)) == 2
    assert "is not empty" in capsys.readouterr().err


def test_the_hops_lead_to_the_answer(world: World, questions: list[Question]) -> None:
    articles = {article.id: article for article in world_articles(world)}
    for question in questions:
        if question.family in ("visible", "printed"):
            assert question.hops == ()
            continue
        assert {hop.entry for hop in question.hops} == set(question.gold_entries)
        for hop in question.hops:
            article = articles[hop.entry]
            told = (article.title, article.caption) if hop.action == "image" else article.paragraphs
            assert any(hop.answer in text for text in told), (question.text, hop)
        if question.family == "comparison":
            assert [hop.action for hop in question.hops] == ["text", "text"]
        elif question.hops[-1].action == "text":
            assert question.hops[-1].answer == question.answer
        else:
            assert question.answer in articles[question.hops[-1].entry].caption


def test_an_untold_fact_has_no_hops(world: World) -> None:
    assert {question.hops for question in make_unknowable(world, 60, 5)} == {()}


def test_the_longest_way_has_three_hops(questions: list[Question]) -> None:
    ways = {tuple(hop.action for hop in q.hops) for q in of_family(questions, "founder-birthplace")}
    assert ways == {("image", "text", "text")}
