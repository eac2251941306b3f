"""Marks that programs for notes add to Markdown: wiki links, embeds, highlights, tasks, comments.

The dialect of Obsidian, much of which Logseq, Foam, Zettlr and wikis share, as a reader of the note sees it. The client
learns by it which pictures a note shows, the server which words it has. Nothing within code is changed.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the client's core is installed without it
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_WIKI = re.compile(r"(?P<shown>!?)\[\[(?P<target>[^\[\]|\n]*)(?:\|(?P<alias>[^\[\]\n]*))?\]\]")
_SIZE = re.compile(r"\s*\d+(?:\s*x\s*\d+)?\s*", re.IGNORECASE)
_CALLOUT = re.compile(r"\[![A-Za-z][\w-]*(?:\|[^\[\]\n]*)?\][+-]?[ \t]*(?P<title>[^\n]*)\n?")
_TASK = re.compile(r"\[(?P<mark>[ xX/>-])\][ \t]+(?=\S)")
_TASKS = {"x": "done: ", "X": "done: ", " ": "to do: ", "/": "to do: "}
"""Words for the marks of tasks; one that is cancelled or put off has none."""
_FIELD = re.compile(r"(?<=[\w)*_])::(?=\s+\S)")
_HIGHLIGHT = re.compile(r"==(?=\S)(?P<text>[^=\n]{1,1000}?)(?<=\S)==")
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_ANCHOR = re.compile(r"\^[A-Za-z0-9-]+[ \t]*(?=\n|\Z)")
_TAG = r"#[^\W\d_][^\W\d]+(?:[/-][^\W\d]+)*"
_TAGS = re.compile(rf"{_TAG}(?:[ \t]+{_TAG}){{0,15}}[ \t]*(?=\n|\Z)")
"""Tags at the end of a line, or alone on it. Those with digits ("Locker #B2") are words."""
_PICTURES = frozenset(
    (
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".png",
        ".webp",
        ".gif",
        ".bmp",
        ".dib",
        ".tif",
        ".tiff",
        ".avif",
        ".heic",
        ".heif",
        ".hif",
        ".svg",
    )
)


def read_note_marks(markdown: MarkdownIt) -> MarkdownIt:
    """The parser, which from now on reads these marks too; returns it.

    A link has the words that are shown for it, or the name of its target; an embedded picture is an image, and an
    embedded note its name. A callout keeps its title, a task says whether it is done. Comments, anchors of blocks and
    tags at the end of a line are left out.
    """
    markdown.block.ruler.before("paragraph", "note_comment", _comment_block)
    rules = (("wiki", _wiki), ("note_begin", _beginning), ("note_mark", _mark))
    for name, rule in rules:
        markdown.inline.ruler.before("escape", name, rule)
    return markdown


def link_words(text: str) -> str:
    """A property's value with the words of its wiki links: "Henrik" of "[[people/Henrik]]"."""
    return _WIKI.sub(lambda match: (match["alias"] or "").strip() or _name(match["target"]), text)


def _comment_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment of several lines, between "%%" and "%%"; one without an end is text."""
    if not state.src.startswith("%%", state.bMarks[start] + state.tShift[start]):
        return False
    begin = state.bMarks[start] + state.tShift[start]
    close = state.src.find("%%", begin + 2, state.eMarks[end - 1])
    if close < 0:
        return False
    last = next(line for line in range(start, end) if close < state.eMarks[line])
    if state.src[close + 2 : state.eMarks[last]].strip():
        return False  # words follow: a comment within a paragraph
    if not silent:
        state.line = last + 1
    return True


def _wiki(state: StateInline, silent: bool) -> bool:
    """As "[[Target]]", "[[Target|words]]" and "![[picture.jpg|300]]" are written."""
    if state.src[state.pos] not in "![":
        return False
    match = _WIKI.match(state.src, state.pos, state.posMax)
    if match is None or not (match["target"].strip() or match["alias"]):
        return False
    if not silent:
        target, alias = match["target"].strip(), (match["alias"] or "").strip()
        file = target.partition("#")[0].strip()
        if match["shown"] and PurePosixPath(file).suffix.lower() in _PICTURES:
            _image(state, file, "" if _SIZE.fullmatch(alias) else alias)
        else:
            _say(state, alias if alias and not _SIZE.fullmatch(alias) else _name(target))
    state.pos = match.end()
    return True


def _image(state: StateInline, file: str, words: str) -> None:
    token = state.push("image", "img", 0)
    token.attrs = {"src": file, "alt": ""}
    token.content = words
    token.children = []
    if words:
        state.md.inline.parse(words, state.md, state.env, token.children)


def _name(target: str) -> str:
    """What a link without words of its own is called: "Henrik" of "people/Contacts#Henrik"."""
    page, _, part = target.strip().partition("#")
    part = part.rpartition("#")[2].strip()
    if part and not part.startswith("^"):
        return part
    name = page.strip().rpartition("/")[2]
    return name.removesuffix(".md")


def _beginning(state: StateInline, silent: bool) -> bool:
    """What a callout, with its title, or a task begins with."""
    if state.pos or state.src[0] != "[":
        return False
    if (match := _TASK.match(state.src)) is not None:
        if not silent:
            _say(state, _TASKS.get(match["mark"], ""))
    elif (match := _CALLOUT.match(state.src)) is None:
        return False
    elif not silent and match["title"]:
        _within(state, match.span("title"))
        if match.end() < state.posMax:  # it says what the lines below are about
            _say(state, ": ")
    state.pos = match.end()
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    """Highlights, comments, fields, anchors and tags."""
    src, at = state.src, state.pos
    character = src[at]
    if character == "=" and (match := _HIGHLIGHT.match(src, at, state.posMax)) is not None:
        if not silent:
            _within(state, match.span("text"))
    elif character == ":" and (match := _FIELD.match(src, at)) is not None:
        if not silent:
            _say(state, ":")
    elif character == "%":
        match = _COMMENT.match(src, at, state.posMax)
    elif character in "^#" and (at == 0 or src[at - 1].isspace()):
        match = (_ANCHOR if character == "^" else _TAGS).match(src, at)
        if match is not None and not silent:
            state.pending = state.pending.rstrip(" \t")
    else:
        return False
    if match is None:
        return False
    state.pos = match.end()
    return True


def _within(state: StateInline, span: tuple[int, int]) -> None:
    """Read a part of the text."""
    most = state.posMax
    state.pos, state.posMax = span
    state.md.inline.tokenize(state)
    state.posMax = most


def _say(state: StateInline, words: str) -> None:
    state.pending += words
