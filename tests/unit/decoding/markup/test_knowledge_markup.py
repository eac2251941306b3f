"""Markdown and HTML become blocks under their headings; what is no content is left out."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Entry
from quizglass_server.decoding.markup.blocks import Block, blocks
from quizglass_server.knowledge.content.chunks import MAX_TOKENS, chunk_entry

MARKDOWN = """# Velmora

A *red* car of
two lines, `fast`. ![its front](front.jpg)

## Engine

| part | made by |
|------|---------|
| pump | Tandex  |

- four cylinders
- two belts
  - one spare

```
code = 1
```

## History

<p>Begun in <b>1974</b>.</p>
"""


def test_markdown_by_headings() -> None:
    assert blocks(MARKDOWN, "markdown") == [
        Block(("Velmora",), "A red car of\ntwo lines, fast. its front"),
        Block(("Velmora", "Engine"), "part: pump; made by: Tandex"),
        Block(("Velmora", "Engine"), "- four cylinders\n- two belts one spare"),
        Block(("Velmora", "Engine"), "code = 1"),
        Block(("Velmora", "History"), "Begun in 1974."),
    ]


def test_marks_of_programs_for_notes_are_no_words() -> None:
    note = """![[IMG_2041.jpg|300]]
Bought at [[Shops#Conrad|Conrad]], receipt in the [[Blue box]]. ~~39 €~~ 45 € #kitchen

> [!warning] Seal
> Replace it ==every two years==. ^seal

- [x] clean the lid
- [ ] order a seal %%in May%%
"""
    assert blocks(note, "markdown") == [
        Block((), "Bought at Conrad, receipt in the Blue box. 45 €"),
        Block((), "Seal: Replace it every two years."),
        Block((), "- done: clean the lid\n- to do: order a seal"),
    ]


@pytest.mark.parametrize("heads", ["| What | Value |", "| Item | Details |", "| | |"])
def test_a_table_of_names_and_values_reads_like_labelled_lines(heads: str) -> None:
    table = f"{heads}\n|---|---|\n| made by | Bürgel |\n| price | 48 € |\n"
    assert blocks(table, "markdown") == [Block((), "made by: Bürgel"), Block((), "price: 48 €")]
    assert blocks(table.replace(heads, "| Part | Price |"), "markdown")[1] == Block((), "Part: price; Price: 48 €")


def test_html_without_what_is_no_content() -> None:
    page = """<html><head><title>T</title><style>p {}</style></head><body><nav>Home</nav><header>Site</header>
        <main><h1>Top <i>thing</i></h1>Loose text<p>One &amp; two<br>three</p><script>alert(1)</script>
        <h3>Deep</h3><dl><dt>Price</dt><dd>45</dd></dl><h2>Next</h2><table><tr><td>a</td><td>b</td></tr></table>
        </main><footer>Imprint</footer></body></html>"""
    assert blocks(page, "html") == [
        Block(("Top thing",), "Loose text"),
        Block(("Top thing",), "One & two\nthree"),
        Block(("Top thing", "Deep"), "Price; 45"),
        Block(("Top thing", "Next"), "a; b"),
    ]


@pytest.mark.parametrize(
    ("table", "texts"),
    [
        ("<caption>Prices <b>1974</b></caption><tr><th>a<th>b<tr><td>1<td>2", ["Prices 1974", "a: 1; b: 2"]),
        ("<caption>Prices</caption>", ["Prices"]),
        ("<tr><th>a<th>b<tr><td>1<td>", ["a: 1", "a; b"]),
        ("<tr><th>a<th>b<tr><td><td>", ["a; b"]),
        (
            "<tr><td>H<sub>2</sub>O<td><img alt=water><td>one<p>two<td><ul><li>x<li>y</ul>",
            ["H2O; water; one two; x; y"],
        ),
        ("<tr><th>Velmora<th>1974", ["Velmora; 1974"]),
        ("<thead><tr><th>a<tbody><tr><td>1<tfoot><tr><td>2", ["a: 1", "a: 2"]),
        (
            "<tr><td>out<table><caption>In</caption><tr><th>c<tr><td>3<table><tr><td>deep</table></table>side"
            "<table><tr><td>4</table><tr><td>last",
            ["out side", "last", "In", "c: 3", "deep", "4"],
        ),
        ("<tr><th>x<table><tr><td>1</table><tr><td>2", ["x: 2", "1"]),
    ],
)
def test_all_of_a_table_is_there_once(table: str, texts: list[str]) -> None:
    made = blocks(f"<h1>Top</h1><table>{table}</table>after", "html")
    assert [block.text for block in made] == [*texts, "after"]
    assert {block.headings for block in made} == {("Top",)}


@pytest.mark.parametrize(
    ("table", "texts"),
    [
        (
            "<tr><th>model<th>year<th>price<tr><td rowspan=2>Velmora<td>1974<td>45<tr><td>1975<td>50",
            ["model: Velmora; year: 1974; price: 45", "model: Velmora; year: 1975; price: 50"],
        ),
        ("<tr><th>a<th>b<th>c<tr><td>1<td rowspan=2>2<td>3<tr><td>4<td>5", ["a: 1; b: 2; c: 3", "a: 4; b: 2; c: 5"]),
        ("<tr><th>part<th>maker<th>price<tr><td colspan=2>pump<td>45", ["part: pump; price: 45", "part; maker; price"]),
        (
            "<tr><th>model<th colspan=2>engine<th>price<tr><td>Velmora<td>90 hp<td>petrol<td>45",
            ["model: Velmora; engine: 90 hp; engine: petrol; price: 45"],
        ),
        (
            "<tr><th rowspan=2>model<th colspan=2>engine<tr><th>power<th>fuel<tr><td>Velmora<td>90 hp<td>petrol",
            ["model: Velmora; engine: power: 90 hp; engine: fuel: petrol"],
        ),
        ("<tr><th>a<th>b<tr><td rowspan=0>x<td>1<tr><td>2<tr><td>3", ["a: x; b: 1", "a: x; b: 2", "a: x; b: 3"]),
        ("<thead><tr><th rowspan=9>a<th>b<tbody><tr><td>1<td>2", ["a: 1; b: 2"]),
        ("<tr><td rowspan=2>Velmora<td>1974<tr><td>1975", ["Velmora; 1974", "Velmora; 1975"]),
        ("<tr><th>a<th>b<tr><td rowspan=x colspan=-1>1<td colspan>2", ["a: 1; b: 2"]),
    ],
)
def test_a_cell_over_several_rows_or_columns_puts_no_other_under_another_name(table: str, texts: list[str]) -> None:
    assert [block.text for block in blocks(f"<table>{table}</table>", "html")] == texts


LONG_HEAD = "long " * 30


@pytest.mark.parametrize(
    ("table", "texts"),
    [
        (
            "<thead><tr><th rowspan=2>Shop<th colspan=2>Opening hours<tr><th>Monday<th>Tuesday"
            "<tbody><tr><td>Hollis<td>9-17<td>10-16<tr><td>Brint<td>closed<td>9-12",
            [
                "Shop: Hollis; Opening hours: Monday: 9-17; Opening hours: Tuesday: 10-16",
                "Shop: Brint; Opening hours: Monday: closed; Opening hours: Tuesday: 9-12",
            ],
        ),
        (
            "<tr><th colspan=2>Prices<tr><th>part<th>crowns<tr><td>pump<td>45",
            ["Prices: part: pump; Prices: crowns: 45"],
        ),
        (
            "<tr><th><th colspan=4>1974<tr><th><th colspan=2>spring<th colspan=2>autumn"
            "<tr><th>town<th>low<th>high<th>low<th>high<tr><td>Brenn<td>1<td>9<td>2<td>8",
            [
                "town: Brenn; 1974: spring: low: 1; 1974: spring: high: 9; 1974: autumn: low: 2; 1974: autumn: high: 8",
            ],
        ),
        (
            "<tr><th colspan=2>day<th>price<tr><th>day<th>hour<th><tr><td>Monday<td>9<td>45",
            ["day: Monday; day: hour: 9; price: 45"],
        ),
        (
            f"<tr><th colspan=2>{LONG_HEAD}<tr><th>a<th>b<tr><td>1<td>2",
            [LONG_HEAD.strip(), "a: 1; b: 2"],
        ),
        ("<tr><th colspan=2>Velmora<tr><th>a<th>b", ["Velmora: a; Velmora: b"]),
        ("<tr><th colspan=2>Velmora<tr><th>Maker<td>Tandex", ["Velmora: Maker; Velmora: Tandex"]),
        ("<tr><th>a<th>b<tr><th>c<th>d<tr><td>1<td>2", ["a: c; b: d", "a: 1; b: 2"]),
    ],
)
def test_columns_in_groups_are_named_with_their_group(table: str, texts: list[str]) -> None:
    assert [block.text for block in blocks(f"<table>{table}</table>", "html")] == texts


@pytest.mark.parametrize("end", ["  ", "\\"])
def test_lines_that_are_broken_on_purpose_stay_lines(end: str) -> None:
    text = f"# Hollis{end}\n\nHollis bakery{end}\n12 Mill Lane{end}\nSaltash\nin Brenn\n\n- one{end}\n  two\n"
    expected = "Hollis bakery\n12 Mill Lane\nSaltash in Brenn"
    assert [block.text for block in blocks(text, "markdown")] == [expected, "- one two"]
    page = "<h1>The<br>Hollis</h1><address>Hollis bakery<br>12 Mill\nLane<br><br>Saltash</address>"
    assert blocks(page, "html") == [Block(("The Hollis",), "Hollis bakery\n12 Mill Lane\nSaltash")]


def test_plain_text_is_left_alone() -> None:
    assert blocks("# No heading\n\n<b>", "") == [Block((), "# No heading\n\n<b>")]


@pytest.mark.parametrize(
    "text", ["", "   ", "<", "<div>" * 5000 + "deep", "</p></div>", "<table><tr>", "\0<p>x", "* " * 900]
)
@pytest.mark.parametrize("text_format", ["markdown", "html"])
def test_broken_markup_is_read_as_far_as_it_goes(text: str, text_format: str) -> None:
    assert all(block.text for block in blocks(text, text_format))


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 38_000,
        "<dl>" * 48_000,
        "".join(f"<b a={number}>" for number in range(2000)) + "<p>x" * 2000,
    ],
)
def test_markup_that_parsers_take_long_for_is_read_as_text(markup: str) -> None:
    before = thread_time()
    (block,) = blocks(f"{markup}deep &amp; down", "html")
    assert thread_time() - before < 1  # it took seconds, in which nothing else could run
    assert block.text.endswith("deep & down")


@pytest.mark.parametrize(
    ("markup", "text_format"),
    [
        ("<table><tr><td>" * 200 + "word " * 30_000 + "</table>" * 200, "html"),  # each would repeat what is within
        ("<table><tr><th>" + "word " * 20_000 + "</th></tr>" + "<tr><td>a</td></tr>" * 4000 + "</table>", "html"),
        (
            "<table><tr>" + f"<td rowspan=9999 colspan=3>{'word ' * 19}" * 99 + "<tr><td>a" * 18_000,
            "html",
        ),
        ("<table><tr>" + "<th colspan=9999 rowspan=9999>a" * 2_000 + "<tr><td>a" * 9_000, "html"),
        ("<table><tr>" + f"<th colspan=50>{'word ' * 4000}" * 4 + "<tr>" + "<th>a" * 200 + "<tr><td>b" * 900, "html"),
        ("a\n\n" * 12_000, "markdown"),
        ("# a\n\nb\n\n" * 6_000, "markdown"),
        ("# " + "word " * 20_000 + "\n\n" + "a\n\n" * 4_000, "markdown"),
    ],
)
def test_no_markup_becomes_many_times_as_much_text_or_chunks(markup: str, text_format: str) -> None:
    made = blocks(markup, text_format)
    assert len(made) <= 5_000
    assert sum(len(block.text) for block in made) <= 1_000_000
    assert all(len(heading) <= 300 for block in made for heading in block.headings)


@pytest.mark.parametrize("page", ["<p>a &#{}; b", "<p>a &#x{}; b", "<div>" * 40_000 + "a &#{}; b"])
def test_a_number_of_no_character_is_no_failure(page: str) -> None:
    assert blocks(page.format("1" * 6000), "html")[0].text.startswith("a")


@given(
    st.text(alphabet=st.sampled_from("ab#*_<>/hp|-`\n &;[]()!\"'="), max_size=300),
    st.sampled_from(["markdown", "html"]),
)
def test_any_text_can_be_read(text: str, text_format: str) -> None:
    assert all(block.text == block.text.strip() for block in blocks(text, text_format))


def test_chunks_carry_their_headings_and_no_markup() -> None:
    chunks = chunk_entry(
        Entry("v", "Velmora", text=MARKDOWN, text_format="markdown", attributes={"year": "1974"}), words
    )
    assert chunks[0] == "Velmora:\nA red car of two lines, fast. its front"
    assert "Velmora: Engine:\npart: pump; made by: Tandex" in chunks
    assert "Velmora: Engine:\n- four cylinders\n- two belts one spare" in chunks
    assert not any("1974." in chunk and "year" in chunk for chunk in chunks), "the text says the year already"


def test_chunks_under_headings_fit_like_others() -> None:
    text = "# A heading of some words\n\n" + "".join(f"Word {number} and more of them here. " for number in range(100))
    chunks = chunk_entry(Entry("v", "V", text=text, text_format="markdown"), words)
    assert len(chunks) > 3
    assert all(words(chunk) <= MAX_TOKENS for chunk in chunks)
    assert all(chunk.startswith("A heading of some words:\n") for chunk in chunks)


def found(text: str, text_format: str = "markdown") -> list[str]:
    return chunk_entry(Entry("v", "V", text=text, text_format=text_format), words)


def test_headings_with_nothing_under_them_are_blocks() -> None:
    text = "# Ulmo drill\n\n## Price: 64 crowns\n\n## Weight: 2 kg\n\n### Box\n\n## \n\n# End"
    assert blocks(text, "markdown") == [
        Block(("Ulmo drill",), "Price: 64 crowns"),
        Block(("Ulmo drill", "Weight: 2 kg"), "Box"),
        Block((), "End"),
    ]
    assert found("# Ulmo drill") == ["Ulmo drill"]
    assert found("<h2>Price</h2><script>x</script><h2>Colour</h2><p>Red.", "html") == ["Price", "Colour:\nRed."]


@pytest.mark.parametrize("length", [31, 80, 300])
def test_headings_that_are_too_long_to_be_repeated_are_found_by_themselves(length: int) -> None:
    heading = " ".join(f"word{number}" for number in range(length))
    chunks = found(f"# {heading}\n\nText.\n\n## Short\n\nMore.\n")
    assert " ".join(chunks[:-2]).split() == heading.split()
    assert chunks[-2:] == ["Text.", "Short:\nMore."]


def test_headings_that_are_too_long_together_are_each_found() -> None:
    one, other = "one " * 20, "other " * 20
    chunks = found(f"# {one}\n\n## {other}\n\nText.\n")
    assert chunks == [one.strip(), f"{other.strip()}:\nText."]


def test_headings_of_very_many_blocks_are_kept() -> None:
    text = "".join(f"# Heading {number}\n\nText.\n\n" for number in range(6_000))
    (block,) = blocks(text, "markdown")
    assert block.text.split("\n\n")[-2:] == ["Heading 5999", "Text."]


def test_front_matter_is_no_heading_and_can_be_found() -> None:
    text = "\ufeff---\ntitle: Velmira\naliases: [the red kettle]\n---\n\nThe Velmira costs 45 crowns.\n"
    assert blocks(text, "markdown") == [
        Block((), "The Velmira costs 45 crowns."),
        Block((), "Title: Velmira.\nAliases: the red kettle."),
    ]
    assert blocks("---\ntitle: [no YAML\n...\nText", "markdown")[1] == Block((), "Title: [no YAML.")


def test_lists_texts_and_links_of_front_matter_are_said_with_their_keys() -> None:
    front = """lenses:
  - 50mm f/1.8
- '135mm'
films: [Kodak Gold 200, "Ilford HP5"]
owner: "[[people/Henrik]]"
borrower: [[Anna|my sister]]
repaired: true
maker:
  name: Pentacon
  town: Dresden
about: >
  Two
  lines.

empty:
"""
    assert blocks(f"---\n{front}---\nText.", "markdown")[-1].text.splitlines() == [
        "Lenses: 50mm f/1.8, 135mm.",
        "Films: Kodak Gold 200, Ilford HP5.",
        "Owner: Henrik.",
        "Borrower: my sister.",
        "Repaired: yes.",
        "Maker: name: Pentacon, town: Dresden.",
        "About: Two lines.",
    ]


@pytest.mark.parametrize("text", ["---\n\nText.\n\n---\n\nMore.", "---\ntitle: Velmira\n\nIt has no end."])
def test_what_is_no_front_matter_stays_where_it_is(text: str) -> None:
    assert blocks(text, "markdown")[-1].text in ("More.", "It has no end.")


def test_a_header_of_an_article_and_a_form_around_a_page_are_content() -> None:
    page = """<header><h1>The site</h1></header><form><article><header><h2>Hollis chair</h2><p>By Ida.</header>
        <p>It costs 55 crowns.<footer>Seen in Saltash.</footer></article>
        <label>Search</label><textarea>x</textarea><select><option>y</select></form><footer>Imprint</footer>"""
    assert blocks(page, "html") == [
        Block(("Hollis chair",), "By Ida."),
        Block(("Hollis chair",), "It costs 55 crowns."),
        Block(("Hollis chair",), "Seen in Saltash."),
    ]


def test_words_of_lists_are_those_of_paragraphs() -> None:
    assert blocks("<ul><li>H<sub>2</sub>O <img alt=water><li>two<br>lines</ul>", "html") == [
        Block((), "- H2O water\n- two lines")
    ]


def test_a_long_name_of_a_column_is_a_row() -> None:
    name = " ".join(f"word{number}" for number in range(40))
    (row, names) = blocks(f"<table><tr><th>{name}<tr><td>1</table>", "html")
    assert (row.text, names.text) == (f"{name[:100]}: 1", name)


def test_words_of_elements_that_a_page_defines_are_words_apart() -> None:
    assert blocks("<shop-price>45</shop-price><x:unit>crowns</x:unit>, a <b>b</b>ig <i>one</i>", "html") == [
        Block((), "45 crowns , a big one")
    ]


HEADINGS = st.lists(st.tuples(st.integers(1, 6), st.text("abc ", min_size=1, max_size=400)), max_size=12)


@given(HEADINGS, st.booleans())
def test_whatever_a_heading_says_is_in_a_passage(headings: list[tuple[int, str]], filled: bool) -> None:
    text = "\n".join(f"<h{level}>{words}</h{level}>{'<p>Text.' if filled else ''}" for level, words in headings)
    said = " ".join(found(text, "html"))
    assert all(word in said for _, heading in headings for word in heading.split() if len(word) < 100)


def words(text: str) -> int:
    return len(text.split())
