"""Pages of HTML: read back by Lexbor, which parses as browsers do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from selectolax.lexbor import LexborHTMLParser

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in

_NO_CONTENT = (
    "script, style, noscript, template, nav, aside, svg, math, iframe, button, select, textarea, datalist, label"
)
"""As docs/knowledge.md says what is left out."""
_OF_A_SITE = ", ".join(f"{end}:not(article *, main *, section *)" for end in ("header", "footer"))
_WITHIN_WORDS = re.compile(r"</?(?:a|b|i|em|strong|code|font|small|span|u)\b[^<>]*>")
"""Tags that no reader sees: what stands on both sides of one is one word."""
_CHARSETS = (
    ("utf-8", "utf-8"),
    ("Shift_JIS", "cp932"),
    ("windows-1251", "cp1251"),
    ("iso-8859-1", "cp1252"),
    ("", "utf-8"),
)
_HOSTILE = (
    "<div>" * 30_000,
    "<b a=1><p>x" * 12_000,
    "<table><tr><td>a" * 9_000,
    "<dl>" * 40_000,
    "<a " * 60_000,
    "<!--" * 40_000,
    "<" * 150_000,
    "&#" + "1" * 90_000 + ";",
    "<svg>" * 30_000,
    "<h1>" * 40_000,
    "<select><option>" * 9_000,
    "<![CDATA[" * 20_000,
    "<form><input>" * 10_000,
)


def draw(random: Random, folder: Path) -> Drawn:
    """A page, sometimes as a browser has saved it."""
    path = folder / random.choice(("page.html", "Page two.HTM", "page.xhtml", "index.html"))
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (3, 4, 3, 2))[0]
    words = Words(random)
    if state == HOSTILE:
        path.write_text(f"<h1>{words()}</h1>{random.choice(_HOSTILE)}<p>{words.sentence()}</p>")
        return Drawn(folder, state)
    declared, encoding = random.choice(_CHARSETS) if state != PLAIN else ("utf-8", "utf-8")
    page = _page(random, words, declared, odd=state != PLAIN)
    raw = page.encode(encoding, "xmlcharrefreplace")
    if state == DAMAGED:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    return Drawn(random.choice((folder, path)), state, tuple(seen(raw, path.name)), what=declared)


def seen(raw: bytes, name: str) -> list[Seen]:
    """Words that the opened page shows, without what is no content."""
    return seen_in(shown(raw.decode("latin-1")), [name])


def shown(page: str) -> str:
    """What is read on a page, but for what is no content."""
    parsed = LexborHTMLParser(page.replace("\0", ""))
    for node in reversed(parsed.css(f"{_NO_CONTENT}, {_OF_A_SITE}")):
        node.decompose()
    if (body := parsed.body) is None:
        return ""
    images = [image.attributes.get("alt") or "" for image in body.css("img")]
    boxes = LexborHTMLParser(_WITHIN_WORDS.sub("", body.html or ""))
    return " ".join([boxes.text(separator=" "), *images])


def _page(random: Random, words: Words, declared: str, *, odd: bool) -> str:
    parts = [random.choice(_PARTS if odd else _PARTS[:5])(random, words) for _ in range(random.randrange(1, 9))]
    head = f"<title>{words()} - {words()}</title><style>p {{ color: {words()} }}</style>"
    charset = (
        {
            "meta": f"<meta charset={declared}>",
            "http": f'<META http-equiv="Content-Type" content="text/html; charset={declared}">',
        }[random.choice(("meta", "http"))]
        if declared
        else ""
    )
    inner = "\n".join(parts)
    if odd:
        inner = random.choice(
            ("{}", "<main>{}</main>", "<form action=x>{}</form>", "<div><article>{}</article></div>")
        ).format(inner)
        inner = random.choice(("", f"<header><p>{words()}</p></header>")) + inner
    return f"<!doctype html>\n<html><head>{charset}{head}</head>\n<body>{inner}</body></html>"


def _heading(random: Random, words: Words) -> str:
    level = random.randrange(1, 5)
    return f"<h{level} class=a>{words()} <i>{words()}</i></h{level}>"


def _paragraph(random: Random, words: Words) -> str:
    return f"<p>{' '.join(words.sentence() for _ in range(random.randrange(1, 9)))}</p>"


def _list(random: Random, words: Words) -> str:
    return f"<ul><li>{words()}<li>{words()}<ul><li>{words()}</ul></ul><dl><dt>{words()}<dd>{words()}</dl>"


def _table(random: Random, words: Words) -> str:
    return (
        f"<table><caption>{words()}</caption><tr><th>{words()}<th>{words()}"
        f"<tr><td>{words()}<td>{words()}<tr><td colspan=2>{words()}</table>"
    )


def _loose(random: Random, words: Words) -> str:
    return f"{words()}<br>{words()} <b>{words()}</b><img src=a alt='{words()}'> &amp; <a href=x>{words()}</a>"


def _without_content(random: Random, words: Words) -> str:
    return f"<script>var a = '{words()}'</script><nav><a>{words()}</a></nav><svg><title>{words()}</title></svg>"


def _of_an_article(random: Random, words: Words) -> str:
    return (
        f"<article><header><h2>{words()}</h2><p>{words()}</header><p>{words()}"
        f"<figure><figcaption>{words()}</figcaption></figure><footer>{words()}</footer></article>"
    )


def _odd(random: Random, words: Words) -> str:
    return random.choice(
        (
            f"<h2>{words()}</h2><h2>{words()}</h2>",
            f"<h1>{' '.join(words() for _ in range(40))}</h1>",
            f"<div>{words()}<p>{words()}<div>{words()}",
            f"<table><tr><td>{words()}<table><tr><td>{words()}</table><td>{words()}</table>",
            f"<h3>{words()}<p>{words()}",
            f"<pre>{words()}\n  {words()}</pre><blockquote>{words()}</blockquote>",
            f"<!-- {words()} --><p>{words()}",
            f"<center><font size=7>{words()}</font></center><marquee>{words()}</marquee>",
            f"<label>{words()}<input></label><textarea>{words()}</textarea><p>{words()}",
            f"<details><summary>{words()}</summary>{words()}</details>",
            f"<p>\u304c\u3063\u3053\u3046 {words()} caf\u00e9 \u041a\u043e\u0430\u043b\u0430",
            f"<custom-element>{words()}</custom-element><o:p>{words()}</o:p>",
            f"<li>{words()}<option>{words()}<li>{words()}",
        )
    )


_PARTS: tuple[Callable[[Random, Words], str], ...] = (
    _heading,
    _paragraph,
    _list,
    _table,
    _loose,
    _without_content,
    _of_an_article,
    _odd,
    _odd,
    _odd,
)
