"""Where sentences end, by both sides of a stop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.domain.sentence_ends import cut, ends_sentence

ONE = """
Box is no. 4 in the attic.
The spare fuse is in box no. 7 under the stairs.
The plumber is St. Clair Heating in Bad St. Leonhard, Str. 14.
It is in Bahnhofstr. 5, 2nd ed. 1984, Nr. 12.
The meter is on the left, approx. 30 cm above the floor, e.g. behind Dr. Yildiz.
The gas bill is due on the 3. March each year, the other on 14. 2. 2024.
Costs about 1.200,50 Euro p.a. incl. VAT and excl. Sundays.
The valve is at 2.5 bar max. pressure, see p. 12, pp. 3-5, fig. B and art. IV.
Mr. J. R. Hartley serviced it on Oct. 5 2024.
Written by J.R. Hartley Jr. of the U.S. Army.
Call tel. 0551, Tel. +49 (0)551 or tel. (0551) 3, ext. 12.
Open Mon. - Fri. 9 a.m. - 5 p.m. and Sat. 9-12.
Water it every 6-8 wks. in winter, min. 3 tbsp. of it.
The no. of items is ca. Easter's.
1. Turn it off.
""".strip().splitlines()
TWO = """
No.|It is broken.
The answer is no.|He left.
This is Max.|He is four.
He likes modern art.|It hangs there.
i like art.|it is old.
The limit is 2 bar max.|Turn it back.
Vitamin C.|It is good.
Platform B.|Then left.
It holds 600 V.|Resolution is fine.
He is from the U.S.|The wall is his.
Closed at 5 p.m.|Ring twice.
It lives on Main St.|It is red.
Bolts, nuts etc.|They are his.
box is red.|key is at anna's.
Kept at Anna's.|water it.
It weighs 5 kg.|it is red.
He said "no."|Then he left.
(See p. 12.)|He did.
Due 5 Oct.|He pays it.
第一句。|第二句。
""".strip().splitlines()


@pytest.mark.parametrize("text", ONE)
def test_a_stop_that_more_has_to_follow_ends_no_sentence(text: str) -> None:
    assert cut(text) == [text]


@pytest.mark.parametrize("text", TWO)
def test_the_same_stop_ends_a_sentence_where_another_begins(text: str) -> None:
    first, second = text.split("|")
    assert [piece.strip() for piece in cut(f"{first} {second}")] == [first, second]


def test_a_line_ends_a_sentence_and_a_semicolon_only_where_it_is_to() -> None:
    assert cut("no meat\nno bread; lid on") == ["no meat\n", "no bread; lid on"]
    assert cut("no bread; lid on", semicolons=True) == ["no bread; ", "lid on"]


def test_whether_a_line_ends_a_sentence_depends_on_the_next() -> None:
    assert ends_sentence("It is in the attic.", "Ask Anna.")
    assert not ends_sentence("It is in box no.", "7 in the attic.")
    assert not ends_sentence("It is in", "the attic. Ask Anna.")


@given(
    st.lists(st.sampled_from(["no.", "Mr.", "Oct.", "5", "A", "it", "He", '"', ".", "…", ";", " ", "\n", "。"])).map(
        "".join
    )
    | st.text()
)
def test_joined_the_sentences_are_the_text(text: str) -> None:
    for semicolons in (False, True):
        pieces = cut(text, semicolons=semicolons)
        assert "".join(pieces) == text
        assert all(pieces)


def test_long_texts_are_cut_in_one_pass() -> None:
    for text in (" " * 200_000, "." * 200_000, '"' * 200_000, "a. " * 60_000, "no. 5 " * 30_000, "\n" * 200_000):
        assert "".join(cut(text)) == text
