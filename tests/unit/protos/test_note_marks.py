"""Marks of programs for notes are read as their reader sees them."""

import pytest
from markdown_it import MarkdownIt

from quizglass.note_marks import read_note_marks


def rendered(text: str) -> str:
    return read_note_marks(MarkdownIt("commonmark").enable("table")).render(text).strip()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("in the [[Receipts box|blue box]]", "<p>in the blue box</p>"),
        ("from [[people/Contacts#Henrik]], [[a/Mika]], [[Kettle#^a1]]", "<p>from Henrik, Mika, Kettle</p>"),
        (
            "![[IMG 1.jpg|300x200]] ![[x.png|a cat]]",
            '<p><img src="IMG 1.jpg" alt="" /> <img src="x.png" alt="a cat" /></p>',
        ),
        ("![[Errors]]", "<p>Errors</p>"),
        ("> [!warning]- Seal\n> dry", "<blockquote>\n<p>Seal: dry</p>\n</blockquote>"),
        ("- [ ] order\n- [x] clean", "<ul>\n<li>to do: order</li>\n<li>done: clean</li>\n</ul>"),
        ("==no **more** stickers==", "<p>no <strong>more</strong> stickers</p>"),
        ("Amira:: a bird feeder", "<p>Amira: a bird feeder</p>"),
        ("a book%% order it%%", "<p>a book</p>"),
        ("%%\nsecret\n\nmore\n%%\n\nafter", "<p>after</p>"),
        ("85 €, in 2023. ^service", "<p>85 €, in 2023.</p>"),
        ("# Lavender #garden", "<h1>Lavender</h1>"),
        ("#daily #home/kitchen\n\nwoke up", "<p></p>\n<p>woke up</p>"),
    ],
)
def test_marks_of_notes(text: str, html: str) -> None:
    assert rendered(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "`[[x]] ==y== %%z%%`",
        "std::vector, a == b == c, 100 %% of it",
        "Locker #B2",
        "room #12 and #hall is upstairs",
        "x^2",
        "[[]] ![[ [[",
        "[x](y)",
    ],
)
def test_what_is_no_mark_stays(text: str) -> None:
    assert rendered(text) == MarkdownIt("commonmark").render(text).strip()
