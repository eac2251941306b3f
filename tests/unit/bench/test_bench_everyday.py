"""What the everyday benchmark fetches, draws and counts; nothing is measured here, and nothing downloaded."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bench.everyday.fetched import things as drawing
from bench.everyday.fetched.debian import PackageMissing, unpacked
from bench.everyday.fetched.things import Thing, in_photograph, on_plain
from bench.everyday.notes import BASE, TAUGHT, Said, _rows
from bench.everyday.own import rows as own_rows
from bench.everyday.parity import beside
from bench.everyday.passages import Asked, Noun, nouns
from bench.everyday.pictures import CUTS, SERVED, SQUARED, Looked, Served, _busy_rows
from bench.everyday.planning import Question, Turn, _agent_rows, _best_rule, _heart_rows
from bench.everyday.refused import rows as refused_rows
from bench.everyday.tags import Tagged, shares
from bench.everyday.turns import _POLICIES, _photographs
from bench.sections import sampled
from quizglass.values import Entry
from quizglass_bundle.tuning import Tuning, Views
from quizglass_lab.everyday.facts import Fact
from quizglass_lab.everyday.knowledge import EIGHT, asked_path
from quizglass_lab.finetuning.asking.interface import Written
from quizglass_lab.finetuning.training.examples import TrainingExample
from quizglass_server.domain.entries import ChunkHit, EntryHit
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.steps.lookup.parts.crop import WHOLE, crop

NOUNS = """  1 This software and database is being provided to you, the LICENSEE
00002452 03 n 01 thing 0 009 @ 00001930 n 0000 | a separate and self-contained entity
02510455 05 n 03 giant_panda 0 panda 1 bear_cat 0 002 @ 02507649 n 0000 | large black-and-white herbivorous mammal
02510999 05 n 01 panda 0 002 @ 02507649 n 0000 | reddish-brown raccoon-like carnivore of the Himalayas
09225146 17 n 01 pit 0 001 @ 00001930 n 0000 | a hole
"""


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_a_package_that_lies_there_is_unpacked_once(tmp_path: Path) -> None:
    control = tmp_path / "made" / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: stamps\nVersion: 1.2-3\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: x\n")
    (tmp_path / "made" / "usr").mkdir()
    (tmp_path / "made" / "usr" / "koala.txt").write_text("A koala.")
    (tmp_path / "here").mkdir()
    package = tmp_path / "here" / "stamps_1.2-3_all.deb"
    subprocess.run(["dpkg-deb", "--build", str(tmp_path / "made"), str(package)], check=True, capture_output=True)
    for _ in range(2):
        root, version = unpacked("stamps", tmp_path / "here")
        assert (root / "usr/koala.txt").read_text() == "A koala."
        assert version == "1.2-3"
    package.write_bytes(b"no package")
    shutil.rmtree(root)
    with pytest.raises(PackageMissing, match=r"dpkg-deb --extract .*; fetch stamps on a Debian"):
        unpacked("stamps", tmp_path / "here")


def test_without_apt_it_is_said_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageMissing, match=r"apt-get: .*`apt-get download stamps`, and put the \.deb into .*here"):
        unpacked("stamps", tmp_path / "here")


@pytest.fixture
def koala(tmp_path: Path) -> Thing:
    """A red square with a transparent border."""
    pixels = np.zeros((60, 40, 4), np.uint8)
    pixels[10:50, 5:35] = (200, 20, 20, 255)
    Image.fromarray(pixels).save(tmp_path / "koala.png")
    return Thing("koala.png", "A koala.", tmp_path / "koala.png")


def test_things_are_cut_out_stored_on_white_and_drawn_alike_for_a_seed(koala: Thing, tmp_path: Path) -> None:
    assert koala.cut_out().size == (30, 40)
    stored = koala.entry()
    assert (stored.entry.id, stored.entry.title, len(stored.pictures)) == ("koala.png", "A koala.", 1)
    Image.new("RGB", (50, 50), "green").save(tmp_path / "meadow.jpg")
    for draw in (on_plain, lambda thing, seed: in_photograph(thing, [tmp_path / "meadow.jpg"], seed)):
        first, again, other = draw(koala, 1), draw(koala, 1), draw(koala, 2)
        assert first == again != other
        assert (first.width, first.height) == drawing._FRAME
        red = (first.pixels[..., 0] > 120) & (first.pixels[..., 1] < 60)
        assert 0.05 < red.mean() < 0.6, "the thing is there, and not all there is"


def test_every_way_to_cut_has_the_whole_frame_and_no_view_twice() -> None:
    picture = Picture(b"x" * 32, np.zeros((48, 64, 3), np.uint8))
    for way in CUTS.values():
        cuts = way.parts(picture)
        parts = [crop(picture, cut) for cut in cuts]
        assert cuts[0] == WHOLE
        assert parts[0] is picture
        assert len(set(parts)) == len(cuts)


def test_recall_counts_places_within_a_depth_and_only_the_bundles_squares_have_the_bar() -> None:
    whole, served = Looked([0, 3, 0, 0], [1] * 4, [0.1]), Looked([1, 3, 0, 5], [1, 1, 2, 2], [0.2])
    assert (served.within(1), served.within(5)) == (1, 3)
    rows = _busy_rows(SQUARED, served, whole, "whole frame")
    assert [(row.value, row.peer_value, row.bar, row.ok) for row in rows] == [
        (25, 0, "", None),
        (75, 25, ">= 85", False),
        (200, 100, "", None),
    ]
    alone = [_busy_rows(name, each, None, "") for name, each in (("whole frame", whole), (SERVED, served))]
    assert not any(row.bar or row.peer for rows in alone for row in rows)
    assert {row.peer for row in _busy_rows(SERVED, served, whole, "whole frame, from 0.5 on")} == {
        "whole frame, from 0.5 on"
    }


@pytest.mark.parametrize(("whole", "found", "searches"), [(0.6, "boat", 1), (0.4, "car", 2)])
async def test_what_is_served_looks_squares_up_where_the_whole_frame_shows_nothing_known(
    whole: float, found: str, searches: int
) -> None:
    class Base:
        async def search_views(self, vectors: list[Vector], _: int) -> list[list[EntryHit]]:
            boat, car = EntryHit(Entry("boat", "boat"), whole), EntryHit(Entry("car", "car"), 0.7)
            return [[boat if vector[0] else car] for vector in vectors]

    base: Any = Base()
    picture = Picture(b"x" * 32, np.zeros((48, 64, 3), np.uint8))
    how = Tuning(image_accept=0.5, views=Views(squares=(0.5,)))
    vectors = {part: np.full(1, part == WHOLE, np.float32) for part in Served.of(how).parts(picture)}
    assert len(vectors) > 4
    hits, count = await Served.of(how).look_up(base, picture, vectors)
    assert ([hit.entry.id for hit in hits], count) == ([found], searches)


def test_no_policy_is_asked_about_a_photograph_that_another_was_asked_about(tmp_path: Path) -> None:
    for asked in EIGHT:
        path = asked_path(tmp_path, asked)
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.random.default_rng(len(path.stem)).integers(0, 256, (40, 60, 3), np.uint8)).save(path)
    shown = [(asked, encoded) for policy in _POLICIES for asked, encoded in _photographs(tmp_path, 3, policy)]
    assert len(shown) == 3 * len(_POLICIES) * len(EIGHT)
    assert len(set(shown)) == len(shown)


def test_a_tag_is_right_if_it_shares_a_word_with_the_caption() -> None:
    tagged = [Tagged("Two tennis rackets.", ["racket"]), Tagged("A duck.", ["drake", "duck"]), Tagged("A yak.", [])]
    assert [round(row.value) for row in shares(tagged, 0.7)] == [67, 50, 100]
    assert [row.value for row in shares(tagged[2:], 0.7)] == [0]
    assert not Tagged("A bag of chips.", ["pot of gold"]).matches(1), "a word that says nothing is none"


def test_nouns_of_one_meaning_are_read(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(NOUNS)
    (thing,) = nouns(tmp_path / "data.noun")
    assert thing == Noun("00002452", ("thing",), "a separate and self-contained entity")
    many = Noun("1", ("giant panda", "bear cat"), "large mammal")
    assert many.entry().text == "Also called bear cat. large mammal"


def hit(entry: str, title: str, text: str) -> ChunkHit:
    return ChunkHit(Entry(entry, title), text, 1.0)


def test_a_passage_is_right_if_it_is_the_things_own_or_says_it() -> None:
    asked = Asked("facts", "From which city is France governed?", "country/7", ("France", "Paris"))
    assert asked.found([hit("other", "x", "y"), hit("country/7", "France", "It is large.")])
    assert asked.found([hit("noun/1", "Paris", "the capital of France")])
    assert not asked.found([hit("noun/2", "Paris", "a prince of Troy"), hit("noun/3", "France", "a country")])
    assert not Asked("nouns", "What is a panda?", "noun/1").found([hit("noun/2", "panda", "panda")])


def said(objective: str, target: str, text: str) -> Said:
    example = TrainingExample(id=text, objective=objective, task="answer", target=target)
    return Said(example, Written(text, seconds=0.1))


def test_answers_are_counted_exactly_generously_and_by_refusals() -> None:
    base = [
        said("answer", "Paris", "The capital of France is Paris."),
        said("answer", "meat", "I don't know"),
        said("abstain", "I don't know", "The capital of France is Rome."),
    ]
    taught = [said("answer", "Paris", "Paris."), said("answer", "the sun", "Sun"), said("abstain", "x", "I don't know")]
    rows = {(row.name.split(" (")[0]): row for row in _rows({BASE: base, TAUGHT: taught})}
    exact = rows["answers from notes, exact, with its adapter"]
    assert (exact.value, exact.peer_value, exact.ok) == (100, 0, True)
    assert rows["answers from notes that hold the right words, with its adapter"].value == 100, "as exact ones do"
    assert rows["answers from notes that hold the right words, base"].value == 50
    assert rows['"I don\'t know" where the notes do not say, with its adapter'].ok
    assert rows['"I don\'t know" where the notes do say, base'].value == 50
    assert rows["answers from notes, with its adapter over base"].value == 100
    alone = _rows({BASE: base})
    assert alone[-1].peer == "there is no trained adapter"
    assert not any(row.bar for row in alone), "bars are for what was trained"


def turn(right: bool, *, plan: str = "", image: int = 0, text: int = 0) -> Turn:
    return Turn(right, "", plan, image, text, 100, 10.0)


def test_a_planner_stands_beside_both_and_beside_the_best_rule_on_words() -> None:
    fact = Fact("animal", "koala", "food", "leaves", "quizglass")
    koala = Thing("koala.png", "A koala.", Path("koala.png"))
    asked = [Question(fact, "What does this animal eat?", points, koala, 1) for points in (True, True, False, False)]
    turns = {
        "none": [turn(False), turn(False), turn(False), turn(True)],
        "image": [turn(True, image=1), turn(False, image=1), turn(False, image=1), turn(False, image=1)],
        "text": [turn(False, text=1), turn(False, text=1), turn(True, text=1), turn(True, text=1)],
        "both": [turn(True, image=1, text=1), turn(True, image=1, text=1), turn(True, image=1, text=1), turn(False)],
        "planning-agent+": [
            *(turn(True, plan="both", image=1, text=1) for _ in range(2)),
            turn(True, plan="text", text=1),
            turn(True, plan="none"),
        ],
    }
    assert _best_rule(asked, turns) == {True: "both", False: "text"}
    rows = {row.name.split(" (")[0]: row for row in _agent_rows(asked, turns)}
    assert (rows["planning-agent+ over both"].value, rows["planning-agent+ over both"].ok) == (25, True)
    assert rows["planning-agent+ over the best rule on words"].value == 0
    assert rows["planning-agent+ over the best rule on words"].bar == ">= -1"
    assert rows["searches of planning-agent+, of both's"].value == pytest.approx(100 * 5 / 6)
    assert not rows["searches of planning-agent+, of both's"].ok
    assert rows["planned: both"].value == 50
    heart = {row.name: row.value for row in _heart_rows(turns)}
    assert heart["by heart: of these, overruled wrongly by evidence"] == 1
    assert heart["by heart: wrong, and right by evidence"] == 3


def test_own_passages_are_counted_question_by_question() -> None:
    with_own, without = [turn(True), turn(True), turn(False)], [turn(False), turn(True), turn(False)]
    counted = {row.name.split(" (")[0]: row for row in own_rows(with_own, without, 2)}
    title = "questions that point, policy image, own_passages"
    assert counted[f"{title} 0: right"].value == pytest.approx(100 / 3)
    assert counted[f"{title} 2: right"].value == pytest.approx(200 / 3)
    assert counted[f"{title} 2 over 0"].value == pytest.approx(100 / 3)
    assert counted[f"{title} 2 over 0"].ok


def test_two_cpus_compute_the_same_if_vectors_point_alike_and_all_else_is_equal() -> None:
    here = {"variant": "zen4", "texts": [[1, 0], [0, 2]], "pictures": [[1, 1]], "tags": [["cat"], []]}
    here |= {"plans": ["text", "both"], "written": [[1, 2], [3]]}
    there = {**here, "variant": "haswell", "texts": [[2, 0], [0, 2]], "tags": [["cat"], ["dog"]], "written": [[1], [4]]}
    rows = {row.name.partition(": ")[2]: row for row in beside(here, there)}
    assert [row.ok for row in rows.values()] == [True, True, False, True, False]
    assert rows["equal tags, of 2"].value == 50
    assert rows["equal answers, of 2"].value == 0
    assert all("haswell beside zen4" in row.name for row in beside(here, there))
    assert not any("answers" in row.name for row in beside({**here, "written": []}, {**there, "written": []}))


@given(st.lists(st.integers(), max_size=40), st.integers(1, 9))
def test_what_is_published_of_lists_is_drawn_evenly(items: list[int], most: int) -> None:
    kept = sampled({"a": {"said": items}, "seed": 7}, most)
    assert kept["seed"] == 7
    assert len(kept["a"]["said"]) == len(items) if len(items) <= most else 0 < len(kept["a"]["said"]) <= most
    assert kept["a"]["said"][:1] == items[:1]
    assert sampled([items], most)[0] == kept["a"]["said"]


def test_of_what_can_be_answered_nothing_may_be_refused_by_its_words() -> None:
    rows = refused_rows(
        {"facts": ["What does the koala eat?", "What colour is a ruby?"], "wrong": ["How many people do you see?"]},
        {"colours": ["What colour is this cup?", "What colour is the cup?"]},
    )
    assert [(row.value, row.ok) for row in rows] == [(0, True), (100, False), (50, None)]
