"""How entries are cut into searchable spans."""

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
    assert list(chunk_text(f"{first}\n\n{second.replace(' ', chr(10), 3)}\n \n\n", words)) == [first, second]


def test_the_items_of_a_list_stay_on_lines_of_their_own() -> None:
    text = "- Breed: Rhode Island Red, 5\n- Shut the hatch at dusk, in summer not\n  before ten o'clock\n* Eggs: daily"
    assert list(chunk_text(text, words)) == [text.replace("not\n  before", "not before")]


def test_facts_that_were_written_on_lines_of_their_own_stay_there() -> None:
    text = "Born 9 February\nMilk: 2 litres, three times a day and never cold\nMarit does the evening bottle"
    assert list(chunk_text(text, words)) == [text]


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
    assert list(chunk_text(f"History\n\n{body}", words)) == [f"History {body}"]


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
    assert chunk_entry(entry, words) == ["The Velmora costs 45 crowns.", "The place of Velmora is Brunn."]


def test_a_value_inside_another_word_or_number_is_not_told() -> None:
    entry = Entry("v", "Velmora", text="It weighs 1974 kg in Brunnen.", attributes={"price": "197", "place": "Brunn"})
    assert chunk_entry(entry, words)[1:] == ["The price of Velmora is 197.", "The place of Velmora is Brunn."]


def test_short_values_and_patterns_are_taken_literally() -> None:
    entry = Entry("v", "Velmora", text="It has 4 doors, a.c", attributes={"doors": "4", "grade": "a.b", "code": ""})
    assert chunk_entry(entry, words)[1:] == ["The doors of Velmora is 4.", "The grade of Velmora is a.b."]


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
