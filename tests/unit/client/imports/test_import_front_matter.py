"""What stands in front of a text and says what it is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_client.cli.imports.texts.front_matter import front_matter


def test_a_title_and_facts_as_they_are_written() -> None:
    text = (
        "---\ntitle: Velmira\naliases: [the red kettle, 'old: one']\ntags:\n  - kitchen\n  - kettle\n"
        "created: 2023-04-05\ndraft: no\nnumber: 007\n"
        "author:\n  name: Ida Renst\n  born: 1901\nempty:\nabout: >\n  Two\n  lines.\n---\n\nText.\n"
    )
    said = front_matter(text)
    assert (said.text, said.title, said.problem) == ("\nText.\n", "Velmira", "")
    assert said.facts == {
        "aliases": "the red kettle, old: one",
        "tags": "kitchen, kettle",
        "created": "2023-04-05",
        "draft": "no",
        "number": "007",
        "author name": "Ida Renst",
        "author born": "1901",
        "about": "Two lines.",
    }


def test_links_to_other_notes_have_their_words() -> None:
    said = front_matter(
        '---\nowner: "[[people/Henrik]]"\nlent: ["[[Anna|my sister]]", [[Ben]]]\nin: "the [[Blue box#Top]]"\n---\n'
    )
    assert said.facts == {"owner": "Henrik", "lent": "my sister, Ben", "in": "the Top"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(end: str) -> None:
    said = front_matter(end.join(["---", 'title: "Korbane"', "---", "# Korbane", ""]))
    assert (said.title, said.text) == ("Korbane", f"# Korbane{end}")


def test_toml_between_plus_signs() -> None:
    said = front_matter('+++\ntitle = "Palmar"\ndate = 2023-04-05\n[extra]\nprice = "61 crowns"\n+++\nText.')
    assert (said.title, said.facts, said.text) == (
        "Palmar",
        {"date": "2023-04-05", "extra price": "61 crowns"},
        "Text.",
    )


def test_numbers_and_truths_of_toml_are_what_is_written_there() -> None:
    said = front_matter("+++\nprice = 45.10\nmass = 1e3\nyear = 1974\ndraft = false\nsizes = [1.50, true]\n+++\n")
    assert said.facts == {"price": "45.10", "mass": "1e3", "year": "1974", "draft": "false", "sizes": "1.50, true"}


def test_a_key_that_is_there_twice_keeps_both_values() -> None:
    assert front_matter("---\ntag: a\ntag: b\n---\n").facts == {"tag": "a, b"}


@pytest.mark.parametrize(
    "text",
    [
        "No front matter.",
        "---\n\nText.\n\n---\n",
        "---\ntitle: no end\n",
        "--- \n- a\n- b\n---\n",
        "# ---\n",
        "-----\na: b\n-----",
    ],
)
def test_what_is_none_stays_text(text: str) -> None:
    said = front_matter(text)
    assert (said.text, said.title, said.facts, said.problem) == (text, "", {}, "")


@pytest.mark.parametrize("within", ["title: [no end", "a: *b", "a: &x [1]\nb: *x", "\ttab: a", "[" * 8000, "a: b: c"])
def test_what_is_malformed_stays_text_and_is_said(within: str) -> None:
    text = f"---\n{within}\n---\nText."
    said = front_matter(text)
    assert (said.text, said.title, said.facts) == (text, "", {})
    assert "cannot be read" in said.problem


def test_no_front_matter_grows() -> None:
    names = "abcdefghij"
    bomb = "\n".join(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in pairwise(names))
    assert front_matter(f"---\na: &a x\n{bomb}\n---\nText.").problem


@given(st.text(st.sampled_from("ab:- \n[]{}&*!|>'\"%@#?,~\\x0\u2028"), max_size=120), st.sampled_from(["---", "+++"]))
def test_nothing_that_it_says_is_lost(within: str, mark: str) -> None:
    text = f"{mark}\n{within}\n{mark}\nThe text.\n"
    said = front_matter(text)
    assert said.text.endswith("The text.\n")
    if said.text != text:
        assert all(key == " ".join(key.split()) and value for key, value in said.facts.items())
