"""The notes and questions of the benchmark of own things, its judge, and what it draws; nothing is downloaded."""

import io
import json
import struct
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bench.own.asking import Log, Told, marked
from bench.own.dataset import (
    KINDS,
    READ,
    SPLITS,
    WAYS,
    Gold,
    OwnQuestion,
    OwnThing,
    all_asides,
    all_things,
    groups,
    of_split,
    split_of,
)
from bench.own.judge import Judged, judge, says, says_any
from bench.own.measures import DEFAULT, Case, answer_rows, by_kind, recognition_rows
from bench.own.photographs import PINS, SOURCES, Photographs
from bench.own.pictures import BACKGROUNDS, seen, stored
from bench.own.qt_resources import NoResources, resource
from bench.own.report import write_misses, write_report

THINGS = all_things()
QUESTIONS = [(thing, question) for thing in THINGS for question in thing.questions]
REFUSED = "I don't know."


def asked(
    kind: str = "fact", gold: str = "", whole: str = "", says: str = "", guess: tuple[str, ...] = ()
) -> OwnQuestion:
    return OwnQuestion("a/0", kind, "?", Gold(groups(gold), groups(whole), says, guess))


# The judge.


@pytest.mark.parametrize(
    ("question", "answer", "judged"),
    [
        (asked(gold="bicycles"), "Bicycles.", Judged.RIGHT),
        (asked(gold="bicycles"), "He is frightened of bicycles.", Judged.RIGHT),
        (asked(gold="bicycles"), "He gets 400 g of dry food.", Judged.WRONG),
        (asked(gold="bicycles"), "motorbicycles", Judged.WRONG),
        (asked(gold="bicycles"), REFUSED, Judged.REFUSED),
        (asked(gold="five | 5"), "There are five.", Judged.RIGHT),
        (asked(gold="eight hours"), "After 8 hours", Judged.RIGHT),
        (asked(gold="1 20"), "It cost 1.20 euros", Judged.RIGHT),
        (asked(gold="every three weeks", whole="winter"), "Every three weeks", Judged.INCOMPLETE),
        (asked(gold="every three weeks", whole="winter"), "Every three weeks, in winter every six", Judged.RIGHT),
        (asked("two", "Malta & 1988"), "Malta", Judged.INCOMPLETE),
        (asked("two", "Malta & 1988"), "From Malta, in 1988", Judged.RIGHT),
        (asked("tell", "a cutting & Malta & three weeks"), "A cutting from Malta.", Judged.RIGHT),
        (asked("tell", "a cutting & Malta & three weeks"), "It is from Malta.", Judged.INCOMPLETE),
        (asked("yesno", "wear gloves", says="yes"), "Yes.", Judged.RIGHT),
        (asked("yesno", "wear gloves", says="yes"), "Wear gloves.", Judged.RIGHT),
        (asked("yesno", "wear gloves", says="yes"), "No", Judged.WRONG),
        (asked("yesno", "no soil", says="no"), "No soil, no turf.", Judged.RIGHT),
        (asked("yesno", "never vinegar", says="no"), "Yes, never vinegar", Judged.WRONG),
        (asked("yesno", "not for Ella", "almonds", says="no"), "No.", Judged.INCOMPLETE),
        (asked("yesno", "not for Ella", "almonds", says="no"), "No, it has almonds.", Judged.RIGHT),
        (asked("unsaid"), REFUSED, Judged.RIGHT),
        (asked("unsaid"), "", Judged.RIGHT),
        (asked("unsaid"), "Nine years.", Judged.WRONG),
        (asked("unstored", guess=("parrot", "macaw")), "It may be a macaw.", Judged.RIGHT),
        (asked("unstored", guess=("parrot", "macaw")), "A macaw.", Judged.WRONG),
        (asked("unstored", guess=("parrot", "macaw")), "It may be a cup.", Judged.WRONG),
        (asked("unstored"), "It may be a cup.", Judged.WRONG),
    ],
)
def test_an_answer_is_judged_by_its_words(question: OwnQuestion, answer: str, judged: Judged) -> None:
    assert judge(question, answer) is judged


@given(st.text(max_size=200), st.sampled_from([question for _, question in QUESTIONS]))
def test_any_answer_is_judged(answer: str, question: OwnQuestion) -> None:
    assert judge(question, answer) in Judged


def test_phrases_are_found_word_for_word() -> None:
    assert says("The hose is due in 2033!", "due in 2033")
    assert not says("It is due, in the year 2033", "due in 2033")
    assert not says("20330", "2033")


# What is written down.


def test_there_are_as_many_things_and_questions_as_were_asked_for() -> None:
    assert sum(thing.stored and bool(thing.picture) for thing in THINGS) >= 60
    assert sum(not thing.stored for thing in THINGS) >= 10
    assert sum(not thing.picture for thing in THINGS) >= 10
    assert len(QUESTIONS) >= 300
    assert len({thing.picture.partition(":")[0] for thing in THINGS if thing.picture}) >= 4
    kinds = Counter(question.kind for _, question in QUESTIONS)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 20
    assert min(Counter(aside.kind for aside in all_asides()).values()) >= 10


def test_ids_are_of_one_thing_each_and_titles_of_one_note() -> None:
    assert len({thing.id for thing in THINGS}) == len(THINGS)
    titles = [thing.title for thing in THINGS if thing.stored]
    assert len(set(titles)) == len(titles)
    pictures = [thing.picture for thing in THINGS if thing.picture]
    assert len(set(pictures)) == len(pictures)


@pytest.mark.parametrize("thing", THINGS, ids=[thing.id for thing in THINGS])
def test_what_is_right_stands_in_the_note(thing: OwnThing) -> None:
    told = f"{thing.title}\n{thing.note}"
    for question in thing.questions:
        gold = question.gold
        for group in gold.groups + gold.whole:
            assert says_any(told, group), (question.text, group)
        assert gold.says in ("", "yes", "no")
        assert bool(gold.says) <= (question.kind in ("yesno", "qualified", "unpictured")), question.text
        assert judge(question, REFUSED) is (Judged.REFUSED if gold.groups else Judged.RIGHT)
        if thing.stored:
            assert judge(question, told) is (Judged.RIGHT if gold.groups else Judged.WRONG), question.text


@pytest.mark.parametrize("thing", THINGS, ids=[thing.id for thing in THINGS])
def test_kinds_are_what_they_say(thing: OwnThing) -> None:
    for question in thing.questions:
        kind = question.kind
        assert (kind == "unstored") is not thing.stored
        assert (kind == "unpictured") is not bool(thing.picture)
        assert kind == "unpictured" or question.answerable is not (kind in ("unsaid", "unstored")), question.text
        assert kind != "qualified" or question.gold.whole, question.text
        assert kind != "two" or len(question.gold.groups) == 2, question.text


def test_questions_are_written_one_by_one() -> None:
    texts = Counter(question.text for _, question in QUESTIONS if question.kind not in ("identity", "tell", "unstored"))
    assert max(texts.values()) <= 3, texts.most_common(3)


def test_each_thing_is_of_one_split_and_each_split_has_questions_of_every_kind() -> None:
    assert len({thing.id for thing in THINGS}) == len(THINGS) == sum(len(of_split(THINGS, split)) for split in SPLITS)
    for split in SPLITS:
        things = of_split(THINGS, split)
        assert {question.kind for thing in things for question in thing.questions} == set(KINDS)
        assert len(things) >= 40


def test_a_thing_that_is_added_changes_no_other_s_split() -> None:
    assert split_of("places", "aloe") == split_of("household", "aloe") in ("dev", "held")
    assert split_of("fresh", "aloe") == "fresh"
    assert split_of("fresh2", "aloe") == "fresh2"
    assert split_of("fresh3", "aloe") == "fresh3"


def test_asides_are_about_things_with_pictures() -> None:
    pictured = {thing.id for thing in THINGS if thing.picture}
    assert {aside.about for aside in all_asides()} <= pictured


def test_photographs_are_pinned_and_no_background_is_a_stored_thing() -> None:
    pins = json.loads(PINS.read_text(encoding="utf-8"))["sha256"]
    shown = {thing.picture for thing in THINGS} | {thing.seen for thing in THINGS} - {*WAYS} | {*BACKGROUNDS}
    assert shown - {""} == set(pins)
    assert {name.partition(":")[0] for name in pins} == set(SOURCES)
    assert not {*BACKGROUNDS} & {thing.picture for thing in THINGS}


# Pictures.


class Drawn(Photographs):
    """Hands out a red bar, cut out, in place of every photograph."""

    def read(self, name: str) -> bytes:
        image = Image.new("RGBA", (90, 60), (0, 0, 0, 0))
        image.paste((200, 30, 30, 255), (10, 20, 80, 40))
        encoded = io.BytesIO()
        image.save(encoded, "PNG")
        return encoded.getvalue()


@pytest.mark.parametrize("way", WAYS)
def test_what_is_seen_differs_from_what_is_stored_and_is_always_the_same(way: str) -> None:
    thing = OwnThing("bar", "Bar", "A bar.", "drawn:bar.png", way, (), "dev")
    drawn = Drawn(Path(), Path())
    assert seen(thing, drawn) == seen(thing, drawn)
    assert seen(thing, drawn) != stored(thing, drawn)
    with Image.open(io.BytesIO(seen(thing, drawn))) as image:
        assert image.mode == "RGB"
        assert min(image.size) > 100


def test_a_marked_picture_is_the_same_picture_in_another_file() -> None:
    encoded = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 30, 30)).save(encoded, "JPEG")
    plain = encoded.getvalue()
    ours, others = (marked(plain, comment) for comment in ("aloe/0 both", "aloe/0 image"))
    assert len({plain, ours, others}) == 3
    with Image.open(io.BytesIO(plain)) as before, Image.open(io.BytesIO(ours)) as after:
        assert before.tobytes() == after.tobytes()


def qt(files: dict[str, bytes], flags: int = 0) -> bytes:
    """A resource file with one folder."""
    nodes, names, contents = [], b"", b""

    def named(name: str) -> int:
        nonlocal names
        at = len(names)
        names += struct.pack(">HI", len(name), 0) + name.encode("utf-16-be")
        return at

    nodes.append(struct.pack(">IHIIQ", named(""), 2, 1, 1, 0))
    nodes.append(struct.pack(">IHIIQ", named("folder"), 2, len(files), 2, 0))
    for name, content in files.items():
        nodes.append(struct.pack(">IHHHIQ", named(name), flags, 0, 0, len(contents), 0))
        contents += struct.pack(">I", len(content)) + content
    tree = b"".join(nodes)
    return (
        struct.pack(">4sIIII", b"qres", 2, 20, 20 + len(tree), 20 + len(tree) + len(contents)) + tree + contents + names
    )


def test_a_file_comes_out_of_qt_resources(tmp_path: Path) -> None:
    path = tmp_path / "some.rcc"
    path.write_bytes(qt({"dog.webp": b"woof", "hotdog.webp": b"mustard"}))
    assert resource(path, "dog.webp") == b"woof"
    assert resource(path, "folder/hotdog.webp") == b"mustard"
    with pytest.raises(NoResources, match=r"some\.rcc: 0 files end with /cat\.webp"):
        resource(path, "cat.webp")
    path.write_bytes(qt({"dog.webp": b"packed"}, flags=1))
    with pytest.raises(NoResources, match="is compressed"):
        resource(path, "dog.webp")


@given(cut=st.integers(0, 150), at=st.integers(0, 150), byte=st.integers(0, 255))
def test_damaged_qt_resources_are_refused_and_never_loop(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, byte: int
) -> None:
    data = bytearray(qt({"dog.webp": b"woof"}))
    data[at % len(data)] = byte
    path = tmp_path_factory.mktemp("damaged") / "some.rcc"
    path.write_bytes(bytes(data[: len(data) - cut]))
    with suppress(NoResources):
        assert isinstance(resource(path, "dog.webp"), bytes)


# What is counted.

ALOE = OwnThing("aloe", "Gran's aloe", "Water every three weeks.", "opencv:a.jpg", "warp", (), "dev")
DOG = OwnThing("dog", "Rex", "He gets 400 g.", "opencv:b.jpg", "busy", (), "dev")
STRANGER = OwnThing("cat", "", "", "opencv:c.jpg", "warp", (), "dev")


def case(thing: OwnThing, question: OwnQuestion, text: str, outcome: str = "", recognised: str = "") -> Case:
    return Case(question, thing, Told(text, outcome, first_ms=10, whole_ms=20), recognised)


def test_words_of_another_note_count_only_while_the_thing_is_recognised() -> None:
    question = asked(gold="three weeks")
    things = [ALOE, DOG]
    assert case(ALOE, question, "400 g", recognised="aloe").foreign(things)
    assert not case(ALOE, question, "400 g").foreign(things)
    assert not case(ALOE, question, "three weeks", recognised="aloe").foreign(things)
    assert not case(ALOE, question, "a fortnight or so", recognised="aloe").foreign(things)
    assert not case(ALOE, question, REFUSED, recognised="aloe").foreign(things)


def test_rows_say_what_is_right_and_what_misleads() -> None:
    fact, unsaid = asked(gold="three weeks"), asked("unsaid")
    ours = [case(ALOE, fact, "three weeks", "supported", "aloe"), case(ALOE, unsaid, "400 g", "supported", "aloe")]
    peer = [case(ALOE, fact, REFUSED), case(ALOE, unsaid, "400 g")]
    rows = {row.name.partition(" (")[0]: row for row in answer_rows({DEFAULT: ours, "both": peer}, [ALOE, DOG])}
    assert rows["default: right"].value == 50
    assert rows["default: right"].ok is False
    assert (rows["above the best of the rest"].value, rows["above the best of the rest"].peer) == (50, "both")
    assert rows["answerable: right and complete"].value == 100
    assert rows["wrong and marked supported, of all"].value == 50
    assert rows["answers in words of another thing's note, one recognised"].value == 1
    assert rows["thing or fact not in the store: refused"].value == 0
    assert by_kind({DEFAULT: ours})[DEFAULT]["unsaid"] == {"wrong": 1, "wrong and supported": 1}


def test_identity_counts_on_things_that_were_recognised() -> None:
    question = asked("identity", "aloe")
    cases = [case(ALOE, question, "Gran's aloe", recognised="aloe"), case(ALOE, question, REFUSED, recognised="")]
    rows = {row.name.partition(" (")[0]: row for row in answer_rows({DEFAULT: cases}, [ALOE])}
    assert rows["what is it, things that were recognised: right"].value == 100


def test_recognition_counts_the_right_thing_alone() -> None:
    found = [(ALOE, "aloe"), (DOG, "aloe"), (STRANGER, "")]
    rows = {row.name.partition(" (")[0]: row.value for row in recognition_rows(found)}
    assert rows["recognised and accepted"] == 50
    assert rows["recognised and accepted, busy"] == 0
    assert rows["recognised and accepted, warp"] == 100
    assert rows["taken for another thing"] == 50
    assert rows["in no note, but accepted"] == 0


def test_the_list_has_every_miss_and_what_would_be_right(tmp_path: Path) -> None:
    cases = [case(ALOE, asked(gold="three weeks"), "400 g", "supported", "aloe")]
    write_report(tmp_path / "dev.md", {DEFAULT: cases})
    text = (tmp_path / "dev.md").read_text(encoding="utf-8")
    for part in ("| all | 1 | 0 / 0 / 0 / 1 (1) |", "1 of 1 not right", "Water every three weeks.", "'400 g'"):
        assert part in text


def test_the_misses_that_are_kept_are_those_of_the_default_alone(tmp_path: Path) -> None:
    cases = [case(ALOE, asked(gold="three weeks"), text, "supported", "aloe") for text in ("400 g", "three weeks")]
    write_misses(tmp_path / "misses.md", "held", cases)
    text = (tmp_path / "misses.md").read_text(encoding="utf-8")
    assert text.startswith("# Own things, split held: 1 of 2 not right\n")
    assert "- said: '400 g'" in text
    assert "- said: 'three weeks'" not in text
    assert READ == ("dev", "held", "fresh"), "what is asked at the end is kept in no list that is read"


def test_answers_are_kept_and_a_broken_line_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    asked_for: list[str] = []

    def ask() -> Told:
        asked_for.append("asked")
        return Told("three weeks", cited=["aloe"])

    Log(path).get("a/0", "both", ask)
    with path.open("a", encoding="utf-8") as file:
        file.write('["a/1", "both", {"te')
    again = Log(path)
    assert again.get("a/0", "both", ask).cited == ["aloe"]
    assert len(asked_for) == 1
    again.get("a/1", "both", ask)
    assert len(asked_for) == 2
