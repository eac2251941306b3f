"""How entries are cut into searchable spans."""

from textwrap import fill
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Entry
from quizglass_server.knowledge.content.chunks import MAX_TOKENS, chunk_entry, chunk_text


def words(text: str) -> int:
    return len(text.split())


def sentence(number: int, length: int) -> str:
    return " ".join([f"Word{number}", *["more"] * (length - 2), "end."])


def test_each_paragraph_is_a_chunk_on_one_line() -> None:
    first, second = sentence(1, 20), sentence(2, 30)
    assert list(chunk_text(f"{first}\n\n{fill(second, 60)}\n \n\n", words)) == [first, second]


def test_the_items_of_a_list_stay_on_lines_of_their_own() -> None:
    text = "- Breed: Rhode Island Red, 5\n- Shut the hatch at dusk, in summer not\n  before ten o'clock\n* Eggs: daily"
    assert list(chunk_text(text, words)) == [text.replace("not\n  before", "not before")]


def test_facts_that_were_written_on_lines_of_their_own_stay_there() -> None:
    text = "Born 9 February\nMilk: 2 litres, three times a day and never cold\nMarit does the evening bottle"
    assert list(chunk_text(text, words)) == [text]


def test_notes_of_one_fact_a_line_stay_apart_whatever_they_begin_with() -> None:
    camera = """Canon F-1, 35 mm
Dad's. He bought it in 1976 in Hong Kong for 280 dollars, took it to Nepal in 1981.
battery: one PX625 (1.35 V) - not made any more, use a Wein cell
lens 50mm f/1.4
film in it right now: Ilford HP5, 12 shots taken
light meter reads half a stop too high
do not lend to Felix"""
    compost = (
        "GREY COMPOSTER\nno meat no citrus no bread!!\nturn it every 6-8 wks\nemptied: march + october\nlid must be on"
    )
    labels = "\n".join(
        f"part {letter}: {number} pieces that are kept in the box" for number, letter in enumerate("abc")
    )
    for text in (camera, compost, labels, "milk\neggs\nbread"):
        assert list(chunk_text(text, words)) == [text]


@pytest.mark.parametrize("text_format", ["", "markdown"])
def test_notes_of_one_fact_a_line_are_found_line_by_line_in_any_format(text_format: str) -> None:
    text = "Lent to Felix until May\nbattery: one PX625\nlens 50mm f/1.4"
    assert chunk_entry(Entry("v", "Camera", text=text, text_format=text_format), words) == [text]


@pytest.mark.parametrize("width", [40, 64, 72, 100, 140])
@pytest.mark.parametrize("text_format", ["", "markdown"])
def test_wrapped_prose_is_on_one_line_however_wide_it_is(width: int, text_format: str) -> None:
    prose = (
        "The beguinage was founded in the early 13th century, and it is a world heritage site since 1998; today it "
        "belongs to the university, and students and visiting academics live in it. The room that we had cost 85 "
        "euros a night without breakfast, which we had at a bakery down the road."
    )
    wrapped = fill(prose, width)
    assert chunk_entry(Entry("v", "V", text=wrapped, text_format=text_format), words) == [prose]


def test_a_line_above_wrapped_prose_stays_above_it() -> None:
    prose = "Water it every three weeks in summer and never let it stand in the water, which rots the roots of it."
    assert list(chunk_text(f"Watering\n{fill(prose, 60)}", words)) == [f"Watering\n{prose}"]


def test_short_paragraphs_stay_on_lines_of_their_own() -> None:
    assert list(chunk_text("Key at Anna's\n\nCode 4711", words)) == ["Key at Anna's\nCode 4711"]


def test_a_long_passage_is_cut_behind_no_abbreviation() -> None:
    text = " ".join(f"Part {number} is in box no. {number} of Mr. J. R. Hartley since Oct. 5." for number in range(40))
    chunks = list(chunk_text(text, words))
    assert len(chunks) > 3
    assert all(chunk.startswith("Part ") and chunk.endswith("since Oct. 5.") for chunk in chunks)


def test_a_wrapped_paragraph_is_on_one_line() -> None:
    text = "The mill was moved here from the village of\nEbersdorf, which had no more use for it, in\n1932."
    assert list(chunk_text(text, words)) == [text.replace("\n", " ")]


def test_a_long_list_is_cut_between_its_items() -> None:
    items = [f"- Item {number} {'more ' * 20}end" for number in range(12)]
    chunks = list(chunk_text("\n".join(items), words))
    assert {line for chunk in chunks for line in chunk.splitlines()} == set(items)
    assert all(words(chunk) <= MAX_TOKENS for chunk in chunks)


def test_a_heading_joins_the_paragraph_after_it() -> None:
    body = sentence(1, 20)
    assert list(chunk_text(f"History\n\n{body}", words)) == [f"History\n{body}"]


def test_a_heading_at_the_end_is_kept() -> None:
    assert list(chunk_text(f"{sentence(1, 20)}\n\nSee also", words))[-1] == "See also"


def test_a_long_paragraph_is_cut_between_sentences_and_repeats_a_short_one() -> None:
    sentences = [sentence(number, 25) for number in range(8)]
    chunks = list(chunk_text(" ".join(sentences), words))
    assert chunks[0] == " ".join(sentences[:4])
    assert chunks[1].startswith(sentences[3])
    assert all(words(chunk) <= MAX_TOKENS for chunk in chunks)
    assert all(any(one in chunk for chunk in chunks) for one in sentences)


def test_closing_quotes_stay_with_their_sentence() -> None:
    text = " ".join(f'He said "{sentence(number, 40)}"' for number in range(4))
    assert all(chunk.startswith("He said") and chunk.endswith('"') for chunk in chunk_text(text, words))


def test_a_sentence_without_end_is_cut_at_spaces() -> None:
    chunks = list(chunk_text("again " * 1000, words))
    assert all(words(chunk) <= MAX_TOKENS for chunk in chunks)
    assert words(" ".join(chunks)) == 1000


def test_a_word_without_end_is_cut_though_it_counts_as_one_token() -> None:
    chunks = list(chunk_text("x" * 5000, words))
    assert "".join(chunks) == "x" * 5000
    assert max(map(len, chunks)) <= MAX_TOKENS * 8


@given(st.text(alphabet=st.sampled_from("ab. \n。Ä"), max_size=3000))
def test_no_word_is_lost_and_no_chunk_is_too_long(text: str) -> None:
    chunks = list(chunk_text(text, words))
    assert all(chunk == chunk.strip() and chunk for chunk in chunks)
    assert all(words(chunk) <= MAX_TOKENS + 11 and len(chunk) <= 8 * (MAX_TOKENS + 11) for chunk in chunks)
    squeezed = "".join("".join(chunks).split())
    assert set("".join(text.split())) == set(squeezed)
    assert len(squeezed) >= len("".join(text.split()))


def test_attributes_that_the_text_does_not_tell_become_sentences() -> None:
    entry = Entry(
        "v", "Velmora", text="The Velmora costs 45 crowns.", attributes={"price": "45 crowns", "place": "Brunn"}
    )
    assert chunk_entry(entry, words) == ["The Velmora costs 45 crowns.", "Place: Brunn."]


def test_a_value_inside_another_word_or_number_is_not_told() -> None:
    entry = Entry("v", "Velmora", text="It weighs 1974 kg in Brunnen.", attributes={"price": "197", "place": "Brunn"})
    assert chunk_entry(entry, words)[1:] == ["Price: 197.", "Place: Brunn."]


def test_short_values_and_patterns_are_taken_literally() -> None:
    entry = Entry("v", "Velmora", text="It has 4 doors, a.c", attributes={"doors": "4", "grade": "a.b", "code": ""})
    assert chunk_entry(entry, words)[1:] == ["Doors: 4.", "Grade: a.b."]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("bought", "2018", "Bought: 2018."),
        ("price", "45 crowns", "Price: 45 crowns."),
        ("weighs", "620 g", "Weighs: 620 g."),
        ("serial_number", "PK-33871", "Serial number: PK-33871."),
        ("lastServiced", "2023-05-14", "Last serviced: 2023-05-14."),
        ("repaired", "true", "Repaired: yes."),
        ("insured", "False", "Insured: no."),
        ("films", "Kodak Gold 200, Ilford HP5", "Films: Kodak Gold 200, Ilford HP5."),
        ("note", "Keep it dry.", "Note: Keep it dry."),
        ("gekauft in", "Kiel", "Gekauft in: Kiel."),
        ("ISBN", "3-16-148410-0", "ISBN: 3-16-148410-0."),
        ("iPhone", "12", "IPhone: 12."),
    ],
)
def test_any_key_makes_a_sentence_that_can_be_said(key: str, value: str, said: str) -> None:
    assert chunk_entry(Entry("p", "Praktica", text="A camera.", attributes={key: value}), words)[1:] == [said]


def test_a_yes_or_no_is_not_told_by_the_same_word_of_a_text() -> None:
    entry = Entry("p", "Praktica", text="A true friend; yes.", attributes={"repaired": "true", "insured": "yes"})
    assert chunk_entry(entry, words)[1:] == ["Repaired: yes.", "Insured: yes."]


@pytest.mark.parametrize(("word", "text"), [("a" * 499 + "b", "a" * 199_000), ("a(" * 250, "a(" * 99_000 + "a")])
def test_looking_for_values_takes_no_time_whatever_they_are(word: str, text: str) -> None:
    attributes = {f"k{number}": word for number in range(200)}
    before = thread_time()
    chunk_entry(Entry("v", "V", text=text, attributes=attributes), lambda text: len(text) // 8)
    assert thread_time() - before < 5  # it took minutes


def test_headings_that_are_too_long_to_be_repeated_are_not_measured_for_every_block() -> None:
    text = "# " + "word " * 20_000 + "\n\n" + "".join(f"Some words {number}.\n\n" for number in range(300))
    measured: list[int] = []

    def count(text: str) -> int:
        measured.append(len(text))
        return len(text.split())

    chunks = chunk_entry(Entry("v", "V", text=text, text_format="markdown"), count)
    assert chunks[-300:] == [f"Some words {number}." for number in range(300)]
    assert max(measured) < len(text) / 10


def test_a_caption_that_the_text_does_not_hold_is_a_chunk() -> None:
    assert chunk_entry(Entry("v", "Velmora", caption="A red car."), words) == ["A red car."]
    assert chunk_entry(Entry("v", "Velmora", caption="A red car.", text="A red car. Fast."), words) == [
        "A red car. Fast."
    ]


def test_an_entry_of_a_title_alone_has_no_chunks() -> None:
    assert chunk_entry(Entry("v", "Velmora"), words) == []


def test_a_text_far_too_long_for_a_chunk_is_never_counted_as_a_whole() -> None:
    """Counting it would take as long as counting all its parts, each time."""
    text = "A sentence of ordinary words. " * 2000
    counted: list[int] = []

    def count(part: str) -> int:
        counted.append(len(part))
        return len(part.split())

    chunks = list(chunk_text(text, count))
    assert " ".join(chunks).split()[:5] == text.split()[:5]
    assert max(counted) < len(text) / 10


def test_what_a_text_repeats_is_a_chunk_once() -> None:
    repeated = sentence(1, 20)
    entry = Entry("v", "Velmora", text=f"{repeated}\n\n{sentence(2, 30)}\n\n{repeated}\n\n" + "<" * 150_000)
    chunks = chunk_entry(entry, lambda text: len(text.split()) + text.count("<"))
    assert chunks[:2] == [repeated, sentence(2, 30)]
    assert len(chunks) < 10
