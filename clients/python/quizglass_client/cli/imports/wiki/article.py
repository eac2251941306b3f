"""Reads an article's markup: its infobox, and its text as people read it. Knows no dumps and no processes.

The parameters of an infobox become attributes, its name the kind. Tables, references and templates that stand alone are
no part of the text, and neither is a sentence with a template that is not known: without it, it would be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from quizglass_client.cli.imports.wiki.templates import shown

_INFOBOX = re.compile(r"infobox[\s_]*(.*)", re.IGNORECASE | re.DOTALL)
_LONGEST_VALUE, _LONGEST_KEY, _MOST_FACTS, LONGEST_TEXT = 500, 60, 200, 200_000

# No text of XML has these characters, so that they can stand for what is found out later.
_UNKNOWN = 0xD800
"""From here on, a character stands for each of the things that are not known, by its number."""
_MOST_UNKNOWN = 0x800
_ANY_UNKNOWN = "[\ud800-\udfff]"
_BREAK = "\1"
"""Where a line of a list begins, or was broken."""
_NOTHING = "\2"
"""Where something was that shows nothing."""

_LEFT_OUT = frozenset(("ref", "references", "gallery", "templatestyles", "section", "templatedata", "categorytree"))
"""Tags of which a text shows nothing."""
_UNREADABLE = frozenset(("math", "chem", "ce", "score", "hiero", "timeline", "graph", "imagemap", "inputbox"))
"""Tags that show something that is no text."""
_LISTS = frozenset(("li", "dt", "dd"))
_OTHER_LANGUAGE = re.compile(r"(?!:)[a-z]{2,3}(-[a-z]{2,10})*:\S.*")
_SWITCH = re.compile(r"__[^\W\d_]{3,30}__")
_NOTE = re.compile(rf"(?<=[.!?,。！？…]){_ANY_UNKNOWN}+(?=\s|$)|(?<=[.!?。！？…])\s+{_ANY_UNKNOWN}+\s*$")
_BLOCK = re.compile(rf"^(?:{_ANY_UNKNOWN}|\s)*{_ANY_UNKNOWN}(?=[^\W\d_a-z]|[\"“„«'(])")
_EMPTY = re.compile(r"\s*\([\s,;:]*\x02[\s,;:\x02]*\)|(?<=\()[\s,;:]*\x02[\s,;:\x02]*|\s*\x02(?=[.,;:!?)])|\x02")
_BOUNDARY = re.compile(
    r"(?<=[.!?…])[\"'”’»)\]]*\s+(?=[\"'“‘„«(\[]?(?:[^\W_a-zß-öø-ÿ]|[\ud800-\udfff]))"  # then no small letter
    r"|(?<=[。！？])"
)
_NO_END = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|\d{1,2}|[^\W_](?:\.[^\W_])+|"
    r"(?:Dr|Mr|Mrs|Ms|St|Sr|Jr|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Hon|Gov|Sen|Rep|vs|cf|ca|no|nr|vol|pp?|fig|ed|eds|approx|inc|"
    r"ltd|co|corp|dept|est|etc|bzw|usw|ggf|evtl|sog|bspw|abb|av|ave|blvd|mt|ft|al))\.$",
    re.IGNORECASE,
)
_MOST_NAMED = 3  # templates, of one article
_TEMPLATES = "sentences with templates or formulas that are not known are left out"


@dataclass(slots=True)
class Article:
    """What an article says."""

    kind: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    cuts: list[tuple[str, str]] = field(default_factory=list)
    """What is missing: a place in the article or none, and why."""
    left_out: dict[str, int] = field(default_factory=dict)
    """How many parts of each kind are left out by rule."""


class ArticleReader:
    """Reads articles with mwparserfromhell."""

    def __init__(self, parser: Any, not_shown: Sequence[str] = ()) -> None:
        """`not_shown` are namespaces, such as "File", links to which are no part of a text."""
        self._parser = parser
        self.not_shown = sorted(not_shown)
        names = "|".join(map(re.escape, self.not_shown)) or r"(?!)"
        self._no_link = re.compile(rf"\s*(?:{names})\s*:", re.IGNORECASE)

    def read(self, markup: str) -> Article:
        """What an article says.

        Raises:
            Exception: whatever the parser does.
        """
        code = self._parser.parse(markup)
        article = Article()
        boxes = [template for template in code.filter_templates(recursive=False) if _box(template) is not None]
        writing = _Writing(self._parser, self._no_link, boxes)
        for box in boxes[:1]:
            article.kind = " ".join((_box(box) or "").split())[:_LONGEST_KEY]
            _read_facts(article, box, writing)
        if len(boxes) > 1:
            article.cuts.append(("", "infoboxes after the first are left out"))
        writing.write_out(code)
        _read_text(article, _stripped(code), writing)
        return article


class _Writing:
    """Puts what templates show into their places."""

    def __init__(self, parser: Any, no_link: re.Pattern[str], boxes: Sequence[Any]) -> None:
        self._nodes, self._no_link = parser.nodes, no_link
        self._boxes = {id(box) for box in boxes}  # as nodes, boxes of the same words are equal
        self.unknown: dict[str, str] = {}
        self.tables = 0

    def write_out(self, code: Any) -> None:
        """Change `code`, and all within it, to what of it can be read."""
        code.nodes = [node for old in code.nodes for node in self._written(old)]

    def _written(self, node: Any) -> Iterator[Any]:
        if isinstance(node, self._nodes.Template):
            yield self._nodes.Text(self._shown(node))
        elif isinstance(node, self._nodes.Tag):
            yield from self._tag(node)
        elif not (isinstance(node, self._nodes.Wikilink) and self._is_hidden(node)):
            self._write_out_within(node)
            yield node

    def _write_out_within(self, node: Any) -> None:
        for child in node.__children__():
            self.write_out(child)

    def _is_hidden(self, link: Any) -> bool:
        title = str(link.title)
        if self._no_link.match(title) is not None:
            return True
        return link.text is None and _OTHER_LANGUAGE.fullmatch(title.strip()) is not None

    def _tag(self, tag: Any) -> Iterator[Any]:
        name = str(tag.tag).strip().lower()
        if name in _UNREADABLE:
            yield self._nodes.Text(self._not_known(f"<{name}>"))
        elif name == "table":
            self.tables += 1
        elif name == "br":
            yield self._nodes.Text(_BREAK)
        elif name in _LEFT_OUT:
            yield self._nodes.Text(_NOTHING)
        else:
            if name in _LISTS:
                yield self._nodes.Text(_BREAK)
            self._write_out_within(tag)
            yield tag

    def _shown(self, template: Any) -> str:
        if id(template) in self._boxes:
            return ""
        self.write_out(template.name)
        name = _stripped(template.name)
        given: dict[str, str] = {}
        for parameter in template.params:
            self.write_out(parameter.value)
            given[_stripped(parameter.name).strip()] = _stripped(parameter.value).strip()
        said = shown(name, given)
        if said is None:
            return self._not_known(f"{{{{{' '.join(name.split())[:40]}}}}}")
        return said or _NOTHING

    def _not_known(self, name: str) -> str:
        return self.unknown.setdefault(name, chr(_UNKNOWN + min(len(self.unknown), _MOST_UNKNOWN - 1)))


def _box(template: Any) -> str | None:
    """The kind of an infobox; None: the template is none."""
    match = _INFOBOX.fullmatch(_stripped(template.name).strip())
    return None if match is None else match[1]


def _stripped(code: Any) -> str:
    return str(code.strip_code(normalize=True, collapse=True))


def _read_facts(article: Article, box: Any, writing: _Writing) -> None:
    for parameter in box.params:
        key = " ".join(_stripped(parameter.name).replace("_", " ").split())
        if not parameter.showkey or not key:
            continue
        writing.write_out(parameter.value)
        items = (" ".join(item.split()) for item in _stripped(parameter.value).split(_BREAK))
        value = _EMPTY.sub("", ", ".join(filter(None, items))).strip()
        if re.search(_ANY_UNKNOWN, value) is not None:
            why = "facts with templates or formulas that are not known are left out"
        elif len(value) > _LONGEST_VALUE or len(key) > _LONGEST_KEY:
            why = f"facts of more than {_LONGEST_VALUE} characters, or names of more than {_LONGEST_KEY}, are left out"
        elif len(article.attributes) >= _MOST_FACTS:
            why = f"facts after the first {_MOST_FACTS} are left out"
        else:
            if value:
                article.attributes[key] = value
            continue
        article.cuts.append((key[:_LONGEST_KEY], why))


def _read_text(article: Article, text: str, writing: _Writing) -> None:
    """The text with a blank line between paragraphs; headings are paragraphs of their own."""
    lines: list[str] = []
    lost: set[str] = set()
    for line in _SWITCH.sub("", text).replace(_BREAK, "\n").splitlines():
        whole = " ".join(_BLOCK.sub("", _NOTE.sub("", _EMPTY.sub("", line))).split())
        if re.sub(_ANY_UNKNOWN, "", whole).strip():
            kept = [sentence for sentence in _sentences(whole) if re.search(_ANY_UNKNOWN, sentence) is None]
            lost.update(re.findall(_ANY_UNKNOWN, whole))
            lines.append(" ".join("".join(kept).split()))
        elif whole:
            article.left_out["templates that stand alone"] = article.left_out.get("templates that stand alone", 0) + 1
    whole_text = "\n\n".join(filter(None, lines))
    article.text = whole_text[:LONGEST_TEXT]
    if lost:
        names = [name for name, character in writing.unknown.items() if character in lost]
        article.cuts.append((", ".join(names[:_MOST_NAMED]), _TEMPLATES))
    if len(whole_text) > LONGEST_TEXT:
        article.cuts.append(("", f"texts are cut after {LONGEST_TEXT} characters"))
    if writing.tables:
        article.left_out["tables"] = writing.tables


def _sentences(line: str) -> Iterator[str]:
    """The sentences of a line, with the spaces behind them. What may be an abbreviation ends none."""
    if re.search(_ANY_UNKNOWN, line) is None:
        yield line
        return
    start = 0
    for match in _BOUNDARY.finditer(line):
        if _NO_END.search(line[max(start, match.start() - 20) : match.start()]) is None:
            yield line[start : match.end()]
            start = match.end()
    yield line[start:]
