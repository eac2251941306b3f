"""Queries, passages and candidates of the retrieval models' training data."""

import random

import pytest

pytest.importorskip("torch")

from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import make_world
from quizglass_lab.retrieval import rerank_data
from quizglass_lab.retrieval.linked import Links
from quizglass_lab.retrieval.pairs import PassageLibrary
from quizglass_lab.retrieval.rerank_data import (
    IGNORED,
    PromptReader,
    candidate,
    collate,
    draw_candidate,
    renamed,
    similar_name,
    syllables,
)
from quizglass_lab.starter.model.tokenizer import build_tokenizer

LINKED = PassageLibrary(make_world(4242, 60, format=2))


@pytest.fixture(scope="module")
def library():
    return PassageLibrary(make_world(4242, 60))


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    build_tokenizer(folder)
    return PromptReader(folder / "tokenizer.json")


def test_gold_passages_of_questions_tell_the_answer(library):
    single_hop = ("fact", "specific", "named", "printed-name", "dialogue", "founder-named", "founder", "maker-home")
    questions = [q for q in make_questions(library.world, 200, 3) if q.family in single_hop]
    pairs = [(q, library.pair(q)) for q in questions]
    assert len(pairs) > 50
    for question, pair in pairs:
        assert pair is not None
        assert all(question.answer in library.passages[i].text for i in pair.gold)


def test_every_drawn_pair_has_a_gold_passage_of_the_entry_it_names(library):
    rng = random.Random(1)
    for _ in range(300):
        pair = library.draw(rng)
        assert pair.gold
        assert all(library.passages[i].title in pair.query for i in pair.gold)


def test_hard_negatives_never_answer(library):
    rng = random.Random(2)
    for _ in range(100):
        pair = library.draw(rng)
        negatives = library.hard_negatives(pair, rng, 3)
        assert not set(negatives) & set(pair.gold)
        assert negatives


def test_whatever_there_is_to_tell_of_a_thing_is_in_all_of_its_passages_and_in_no_other(library):
    rng = random.Random(9)
    pair = next(p for p in iter(lambda: library.draw(rng), None) if p.family == "about")
    entry = library.passages[pair.gold[0]].entry
    assert list(pair.gold) == library.of_entry[entry]
    assert all(candidate(library, pair, number).right for number in pair.gold)
    other = renamed(candidate(library, pair, pair.gold[0]), rng)
    assert not other.right
    assert other.told in other.passage.text
    assert not any(candidate(library, pair, number).right for number in library.hard_negatives(pair, rng, 3))


@pytest.mark.parametrize("world", [1, 2])
def test_the_colour_of_a_thing_is_told_by_its_first_passage_alone(world):
    library, rng = PassageLibrary(make_world(4242, 60, format=world)), random.Random(9)
    drawn = [pair for pair in (library.draw(rng) for _ in range(300)) if pair.attribute == "colour"]
    assert len(drawn) > 5
    for pair in drawn:
        thing = library.world.things[library.thing_index[library.passages[pair.gold[0]].entry]]
        assert pair.gold == (library.of_entry[thing.id][0],)
        assert f"a {thing.look.body} " in library.passages[pair.gold[0]].text.replace(" an ", " a ")
        assert thing.name in pair.query
        assert [candidate(library, pair, number).right for number in library.of_entry[thing.id]].count(True) == 1


def test_questions_for_the_colour_of_a_named_thing_are_pairs_too():
    pairs = [pair for pair in LINKED.pairs(2000, 3) if pair.family == "colour-named"]
    assert pairs
    assert all(pair.attribute == "colour" and "colour" in pair.query for pair in pairs)


def test_a_similar_name_differs_and_is_made_of_syllables():
    rng = random.Random(3)
    for name in ("Velrora", "Balbin", "Tagel"):
        for _ in range(50):
            other = similar_name(name, rng)
            assert other != name
    assert syllables("Balbin") == ["bal", "bin"]
    assert syllables("Ana Brint") == ["ana brint"]


def test_candidates_are_right_only_when_name_and_fact_fit(library):
    pair = next(p for p in iter(lambda: library.draw(random.Random(5)), None) if p.family == "thing")
    gold = candidate(library, pair, pair.gold[0])
    assert gold.right
    assert not renamed(gold, random.Random(6)).right
    entry = library.passages[pair.gold[0]].entry
    siblings = [i for i in library.of_entry[entry] if i not in pair.gold]
    assert siblings
    assert not any(candidate(library, pair, i).right for i in siblings)


def test_examples_are_what_the_server_reads_and_labels_fit(library, reader):
    rng = random.Random(7)
    for _ in range(100):
        item = draw_candidate(library, rng)
        example = reader.example(item)
        assert example.ids == reader.ids(item.query, item.passage.text)
        assert example.named[-1] == int(item.named)
        assert example.told[-1] == int(item.told is not None)
        assert example.right == int(item.named and item.told is not None)
        assert example.seen[0] == IGNORED


def test_collate_pads_on_the_right_and_points_at_the_last_token(library, reader):
    rng = random.Random(8)
    examples = [reader.example(draw_candidate(library, rng)) for _ in range(6)]
    batch = collate(examples, 0)
    for row, example in enumerate(examples):
        assert batch.mask[row].sum() == len(example.ids)
        assert batch.ids[row, batch.last[row]] == example.ids[-1]
        assert (batch.labels["named"][row, len(example.ids) :] == IGNORED).all()


def test_the_prompt_is_the_bundles_template():
    assert rerank_data.PROMPT.is_file()


def test_linked_passages_lead_to_the_answer_or_lack_something() -> None:
    links = Links(LINKED, 1)
    rng = random.Random(3)
    drawn = [links.draw(rng) for _ in range(300)]
    assert 0.3 < sum(each.right for each in drawn) / len(drawn) < 0.5
    answers = {query: answer for query, _, answer in links.chains}
    for each in drawn:
        assert each.passage.text.startswith(f"{each.passage.title}: ")
        if each.right:
            assert answers.get(each.query, each.told) == each.told
            assert str(each.told) in each.passage.text
        else:
            assert each.told is None
    several = [each for each in drawn if each.right and each.passage.text.count(": ") == 3]
    assert several, "a question of three lookups is among them"


def test_a_chain_without_its_end_is_no_answer() -> None:
    links = Links(LINKED, 1)
    wrong = [each for each in map(links.draw, [random.Random(n) for n in range(60)]) if not each.right]
    answers = {query: answer for query, _, answer in links.chains}
    ended = [answers[each.query] in each.passage.text for each in wrong if each.query in answers]
    assert not any(ended)


def test_half_of_a_comparison_is_right_by_itself() -> None:
    links = Links(LINKED, 1)
    drawn = [each for each in map(links.draw, [random.Random(n) for n in range(200)]) if ": " in each.passage.text]
    compared = {query for query, _, _ in links.halves}
    assert compared
    assert not compared & {query for query, _, _ in links.chains}
    halves = [each for each in drawn if each.query in compared]
    assert {each.right for each in halves} == {True, False}
    assert all(each.passage.title in each.query for each in halves if each.right)
