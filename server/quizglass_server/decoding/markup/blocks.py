"""Markdown and HTML as blocks of plain text under their headings.

HTML is read by selectolax (Lexbor, which parses as browsers do); Markdown becomes HTML first, by markdown-it-py
(CommonMark with tables, words struck out and the marks of programs for notes). What is not content, such as scripts,
styles, navigation and what was struck out, is left out.

What comes out is bounded, whatever the markup: nested tables or headings repeat no text without an end. How long it
takes is not bounded here: `converter.py` runs what is long elsewhere and ends it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser, LexborNode

from quizglass.note_marks import read_note_marks
from quizglass_server.decoding.markup.front_matter import front_facts

FORMATS = ("markdown", "html")
"""Formats that have a structure."""

_LEFT_OUT = """
    script, style, noscript, template, nav, aside, svg, math, iframe, button, select, textarea, datalist, label,
    header, footer, s, strike, del
"""
_OF_ARTICLES = ("article", "main", "section")  # whose headers and footers are content, as those of a site are not
_BLOCK_TAGS = """
    address article blockquote body caption center dd details dir div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol p pre search section summary table tbody tfoot
    thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADING = re.compile(r"h([1-6])")
_DEEPEST = 100  # elements within each other; what is deeper is taken as one text
_MOST_WORK = 300_000_000  # open elements squared times tags: a third of a second at the worst; pages have a hundredth
_TAG, _WHOLE_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)"), re.compile(r"<[^<>]*>")
_CLOSED_BY_THE_NEXT = """
    area base br col dd dt embed hr img input li link meta option p param source tbody td tfoot th thead tr track wbr
"""
_NEVER_DEEP = frozenset(_CLOSED_BY_THE_NEXT.split())
_MARKDOWN = read_note_marks(MarkdownIt("commonmark").enable(["table", "strikethrough"]))
_ITEMS = "; "  # between the cells of a row, and the items of a list within one
_BEGIN_ITEM = ("first item", "item")
_APART = {"text": "", "line": "\n"} | dict.fromkeys(_BEGIN_ITEM, "\n- ")  # what stands before a part of a paragraph
_SOFT = "\r"  # a line break of the source, which parsed text has none of
_LONGEST_HEADING = 240  # characters; longer ones are never put in front of a chunk, and are blocks themselves
_LONGEST_COLUMN = 100  # characters of a column's name, which is repeated in every row
_MOST_HEADS = 3  # rows of columns' names above each other
_WIDEST, _MOST_REACHING = 50, 100  # columns of one cell, and of all cells of a table that reach into the next row
_MOST_REPEATED = 200_000  # characters of a table's cells that are there again in the rows below
_OF_A_PAIR = 2  # columns
_SAYING_NOTHING = """
    answer attribute data description detail details entry fact facts field info information item key label name note
    notes property question spec specification thing title value what
"""
_SAY_NOTHING = frozenset(_SAYING_NOTHING.split())  # as the names of both columns
_NUMBER = re.compile(r"\s*\+?(\d{1,5})")
_MOST_BLOCKS = 5_000  # a block is a chunk at least
_MOST_CHARACTERS = 1_000_000  # of all blocks: five times the longest text of an entry
_LONGEST_FRONT_MATTER = 16_384  # characters
_KEY = re.compile(r"[\w\"'][^:]*:\s")
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}|&#[xX][0-9a-fA-F]{7,}")  # no character; Python refuses numbers of 4,300 digits


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list, a table's row or a piece of code."""

    headings: tuple[str, ...]
    """Headings above it, from the outermost to the nearest."""
    text: str


def blocks(text: str, text_format: str) -> list[Block]:
    """What a text consists of, in order; a plain text has no structure beyond its paragraphs and is one block."""
    if text_format not in FORMATS:
        return [Block((), text)]
    collected, characters = list[Block](), 0
    for block in _markdown(text) if text_format == "markdown" else _html(text):
        collected.append(block)
        characters += len(block.text)
        if characters > _MOST_CHARACTERS:
            return plain(text, text_format)
    return collected if len(collected) <= _MOST_BLOCKS else _joined(collected)


def plain(text: str, text_format: str) -> list[Block]:
    """The same without its structure: Markdown as it stands, HTML without its tags. Takes milliseconds for any text."""
    if text_format == "html":
        text = " ".join(html.unescape(_LONG_NUMBER.sub(" ", _WHOLE_TAG.sub(" ", text))).split())
    return [Block((), text)] if text else []


def _joined(collected: list[Block]) -> list[Block]:
    """Fewer blocks: those under the same headings as paragraphs of one, and if that is not enough, all of them."""
    under = [
        Block(headings, "\n\n".join(block.text for block in group))
        for headings, group in groupby(collected, key=lambda block: block.headings)
    ]
    if len(under) <= _MOST_BLOCKS:
        return under
    texts, above = list[str](), tuple[str, ...]()
    for block in under:
        texts += [heading for at, heading in enumerate(block.headings) if above[: at + 1] != block.headings[: at + 1]]
        texts.append(block.text)
        above = block.headings
    return [Block((), "\n\n".join(texts))]


def _is_parsed_soon(text: str) -> bool:
    """Whether parsing, during which nothing else runs, is short.

    For a tag a parser may look at every open element, and open each anew: markup that closes none would take minutes.
    """
    unclosed = Counter[str]()
    now = most = tags = 0
    for closing, tag in _TAG.findall(text):
        name = tag.lower()
        tags += 1
        if name in _NEVER_DEEP:
            continue
        if not closing:
            unclosed[name] += 1
            now += 1
            most = max(most, now)
        elif unclosed[name]:
            unclosed[name] -= 1
            now -= 1
    return most * most * tags <= _MOST_WORK


class _Outline:
    """The headings above the place that is read; one that nothing stands under is a block itself."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._bare = False  # whether nothing has come since the last heading

    def enter(self, level: int, heading: str) -> Iterator[Block]:
        """A heading of this level (1 is the highest) begins. Gives the one before it, where that is a block."""
        if self._open and level <= self._open[-1][0]:
            yield from self.end()
        self._open = [(above, words) for above, words in self._open if above < level]
        if len(heading) > _LONGEST_HEADING:
            yield self.block(heading)
        elif heading:
            self._open.append((level, heading))
            self._bare = True

    def block(self, text: str) -> Block:
        """A block below the headings."""
        self._bare = False
        return Block(tuple(words for _, words in self._open), text)

    def end(self) -> Iterator[Block]:
        """Nothing more comes under the last heading."""
        if self._bare:
            self._bare = False
            *above, (_, heading) = self._open
            yield Block(tuple(words for _, words in above), heading)


def _markdown(text: str) -> Iterator[Block]:
    """Blocks of Markdown, and at last what stands in front of it as YAML: that is no heading, as Markdown has it."""
    text = text.removeprefix("\ufeff")
    front = _front_matter(text)
    yield from _html(_MARKDOWN.render(text[sum(map(len, front)) :]), lines=True)
    if facts := "\n".join(front_facts(front[1:-1])):
        yield Block((), facts)


def _front_matter(text: str) -> list[str]:
    """Lines in front of a text that say what it is, from "---" to "---"; empty if there are none."""
    lines = text[:_LONGEST_FRONT_MATTER].splitlines(keepends=True)
    if len(lines) < 2 or lines[0].rstrip() != "---" or not _KEY.match(lines[1]):
        return []
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() in ("---", "...")), -1)
    return lines[: end + 1]


def _html(text: str, *, lines: bool = False) -> Iterator[Block]:
    """Blocks of HTML. `lines`: whether line breaks of its source stay, as those of notes in Markdown do."""
    if not _is_parsed_soon(text):
        yield from plain(text, "html")
        return
    parsed = LexborHTMLParser(text)
    for node in reversed(parsed.css(_LEFT_OUT)):  # those within others first, while all stand where they stood
        if node.tag not in ("header", "footer") or not _is_of_an_article(node):
            node.decompose()
    if parsed.body is None:
        return
    outline, words = _Outline(), list[str]()
    for kind, content in _walk(parsed.body):
        if kind in _APART:
            words += (_APART[kind], content.replace("\n", _SOFT if lines else " "))
            continue
        paragraph, words = _by_lines(words), []
        if kind.startswith("/h") and _HEADING.fullmatch(kind[1:]):
            yield from outline.enter(int(kind[2]), " ".join(paragraph.split()))
        elif paragraph:
            yield outline.block(paragraph)
    if rest := _by_lines(words):
        yield outline.block(rest)
    yield from outline.end()


def _by_lines(words: list[str]) -> str:
    """A paragraph on one line but for breaks that its writer made, as in an address; a list with an item on each.

    Those of Markdown's source may be meant where the paragraph has none that are marked as such.

    Items are marked as in Markdown, which is how people write lists.
    """
    text = "".join(words)
    text = text.replace(_SOFT, " " if "\n" in text else "\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def _is_of_an_article(node: LexborNode) -> bool:
    above, steps = node.parent, 0
    while above is not None and steps < _DEEPEST:
        if above.tag in _OF_ARTICLES:
            return True
        above, steps = above.parent, steps + 1
    return False


def _walk(node: LexborNode, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Texts, and the beginnings and ends of blocks, in document order; a list and a table's row are a block each.

    An item of a list begins with "item", the first one with "first item", and a new line of a paragraph with "line";
    none of these has a text.
    """
    for child in node.iter(include_text=True):
        tag = child.tag or ""
        if tag == "-text":
            yield "text", child.text(deep=False)
        elif depth > _DEEPEST:
            yield from _as_block(tag, child.text(separator=" ") or "")
        elif tag in ("ul", "ol"):
            yield tag, ""
            for at, part in enumerate(_parts(child, depth + 1)):
                yield _BEGIN_ITEM[min(at, 1)], ""
                yield "text", part
            yield f"/{tag}", ""
        elif tag == "dl":
            yield from _as_block(tag, _ITEMS.join(_parts(child, depth + 1)))
        elif tag == "table":
            for text in _table(child, depth + 1):
                yield from _as_block("tr", text)
        elif tag in _BLOCKS:
            yield tag, ""
            yield from _walk(child, depth + 1)
            yield f"/{tag}", ""
        elif tag == "br":
            yield "line", ""
        elif tag == "option" or "-" in tag or ":" in tag:  # elements that pages define are boxes, as a rule
            yield "text", " "
            yield from _walk(child, depth + 1)
            yield "text", " "
        elif tag == "img":
            yield "text", f" {child.attributes.get('alt') or ''} "
        else:
            yield from _walk(child, depth + 1)


def _as_block(tag: str, text: str) -> Iterator[tuple[str, str]]:
    yield tag, ""
    yield "text", text
    yield f"/{tag}", ""


def _table(table: LexborNode, depth: int) -> list[str]:
    """A table's caption and rows, then those of the tables in its cells, which are taken out of them."""
    texts: list[list[str]] = []
    for inner in reversed(table.css("table table")):  # those within others first
        texts.append([*_captions(inner, depth), *_rows(inner, depth)])
        inner.replace_with(" ")
    texts.append([*_captions(table, depth), *_rows(table, depth)])
    return [text for each in reversed(texts) for text in each]


def _captions(table: LexborNode, depth: int) -> Iterator[str]:
    return (_words(child, depth) for child in table.iter() if child.tag == "caption")


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell in its place."""

    columns: range
    text: str
    rows: int = 0
    """How many rows below it reaches into."""

    def below(self) -> _Cell:
        """The same in the next row."""
        return _Cell(self.columns, self.text, self.rows - 1)


class _Grid:
    """Places the cells of a table's rows, of which some are several columns wide or several rows high, as browsers do.

    A short cell that is several rows high is a cell of each of them: what a row says would lack its subject without it.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._reaching: list[_Cell] = []
        self._section = 0
        self._room = _MOST_REPEATED

    def row(self, row: LexborNode, *, repeated: bool = True) -> list[_Cell]:
        """Cells of the next row, by column. Without `repeated` they are in no other, however high they are."""
        section = row.parent.mem_id if row.parent is not None else 0
        above = self._reaching if section == self._section else []
        self._section = section
        taken, at = {column for cell in above for column in cell.columns}, 0
        cells: list[_Cell] = []
        for node in row.iter():
            while at in taken:
                at += 1
            columns = range(at, at + min(max(1, _number(node, "colspan")), _WIDEST))
            rows = _number(node, "rowspan") or 1 << 16  # 0: all that there are
            cells.append(_Cell(columns, _words(node, self._depth), rows - 1))
            at = columns.stop
        again = self._again(above) if any(cell.text for cell in cells) else []
        self._reaching = [cell.below() for cell in above if cell.rows > 1]
        self._reach(cells, repeated)
        return sorted([*cells, *again], key=lambda cell: cell.columns.start)

    def _again(self, above: list[_Cell]) -> list[_Cell]:
        said = [cell for cell in above if cell.text]
        self._room -= sum(len(cell.text) for cell in said)
        return said if self._room >= 0 else []

    def _reach(self, cells: list[_Cell], repeated: bool) -> None:
        """Keep those cells that are higher than their row."""
        room = _MOST_REACHING - sum(len(cell.columns) for cell in self._reaching)
        for cell in cells:
            if cell.rows and (room := room - len(cell.columns)) >= 0:
                text = cell.text if repeated and len(cell.text) <= _LONGEST_COLUMN else ""
                self._reaching.append(_Cell(cell.columns, text, cell.rows))


def _number(cell: LexborNode, name: str) -> int:
    """An attribute of a cell as browsers read it; 1 where it says no number."""
    match = _NUMBER.match(cell.attributes.get(name) or "")
    return 1 if match is None else int(match[1])


def _rows(table: LexborNode, depth: int) -> Iterator[str]:
    """Rows as "column: value" where the first of several is one of headings: a row too, if no other names them all.

    Of two columns "What" and "Value" a row is "price: 48 €". Below headings of groups of columns the next row's are
    joined to theirs: "group: column: value".
    """
    rows = table.css("tr")
    grid, height = _Grid(depth), _height_of_heads(rows)
    heads = list[_Cell]()
    for row in rows[:height]:
        below = grid.row(row, repeated=False)
        yield from (head.text for head in heads if len(head.text) > _LONGEST_COLUMN and _is_above(head, below))
        heads = _joined_heads(heads, below)
    whole = [head.text for head in heads]
    if _pairs(whole):
        yield from (": ".join(cell.text for cell in grid.row(row) if cell.text) for row in rows[height:])
        return
    columns = {column: at for at, head in enumerate(heads) for column in head.columns}
    unsaid = {at for at, name in enumerate(whole) if name}
    for row in rows[height:]:
        said = list[str]()
        for cell in filter(lambda cell: cell.text, grid.row(row)):
            at = columns.get(cell.columns.start, -1)
            name = whole[at][:_LONGEST_COLUMN] if at >= 0 else ""
            if at >= 0 and name == whole[at]:
                unsaid.discard(at)
            said.append(_named(cell.text, name))
        yield _ITEMS.join(said)
    if unsaid:
        yield _ITEMS.join(filter(None, whole))


def _pairs(heads: list[str]) -> bool:
    """Whether each row of a table names a thing and says its value, which the names of its columns do not add to."""
    return len(heads) == _OF_A_PAIR and all(not head or head.casefold() in _SAY_NOTHING for head in heads)


def _height_of_heads(rows: list[LexborNode]) -> int:
    """How many rows at a table's top are headings of the rows below: 0 where the first one is none."""
    height = 0
    while height < min(len(rows) - 1, _MOST_HEADS) and rows[height].css("th") and not rows[height].css("td"):
        height += 1
        if all(_number(cell, "colspan") == 1 for cell in rows[height - 1].iter()):
            break
    return height


def _joined_heads(heads: list[_Cell], below: list[_Cell]) -> list[_Cell]:
    """The names of columns, of which those in the next row begin with the names of their groups."""
    names = {column: head.text for head in heads for column in head.columns if len(head.text) <= _LONGEST_COLUMN}
    taken = {column for cell in below for column in cell.columns}
    joined = [
        _Cell(cell.columns, ": ".join(dict.fromkeys(filter(None, (names.get(cell.columns.start), cell.text)))))
        for cell in below
    ]
    for head in heads:
        left = [range(column, column + 1) for column in head.columns if column not in taken]
        whole = len(left) == len(head.columns)
        joined += [_Cell(columns, head.text) for columns in ([head.columns] if whole else left)]
    return sorted(joined, key=lambda cell: cell.columns.start)


def _is_above(head: _Cell, below: list[_Cell]) -> bool:
    return any(cell.columns.start in head.columns for cell in below)


def _named(cell: str, column: str) -> str:
    return f"{column}: {cell}" if column else cell


def _parts(node: LexborNode, depth: int) -> Iterator[str]:
    """Texts of the direct children."""
    for child in node.iter(include_text=True):
        words = " ".join(child.text(deep=False).split()) if child.tag == "-text" else _words(child, depth)
        if words:
            yield words


def _words(node: LexborNode, depth: int) -> str:
    """All that is within, on one line; what stands in blocks of their own is apart."""
    apart = {"item": _ITEMS}
    said = "".join(content if kind == "text" else apart.get(kind, " ") for kind, content in _walk(node, depth))
    return " ".join(said.split())
