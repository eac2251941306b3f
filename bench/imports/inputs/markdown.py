"""Notes in Markdown: read back by markdown-it-py and Lexbor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import yaml
from markdown_it import MarkdownIt

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in
from bench.imports.inputs import pages

_ENDS = ("\n", "\n", "\n", "\r\n", "\r")
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")
_HOSTILE = (
    "[" * 60_000,
    "![a](" * 40_000,
    "> " * 50_000 + "deep",
    "*a" * 80_000,
    "|a" * 20_000 + "\n" + "|-" * 20_000 + "\n" + "|b" * 20_000,
    "<div>" * 30_000,
    "---\n" + "a: " + "[" * 10_000 + "\n---\n",
    "---\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n---\n",
    "# " + "long " * 30_000,
    "`" * 100_000,
    "- " * 40_000,
    "a\n" * 90_000,
    "[a]: /x\n" * 20_000,
    "&#" + "1" * 100_000 + ";",
)


def draw(random: Random, folder: Path) -> Drawn:
    """A note, by itself or in its folder."""
    path = folder / random.choice(("note.md", "Note one.MD", "caf\u00e9.markdown", "IMG_2041.md", "README.mdown"))
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (3, 4, 3, 2))[0]
    words = Words(random)
    if state == HOSTILE:
        path.write_text(f"# {words()}\n\n{random.choice(_HOSTILE)}\n\n{words.sentence()}\n")
        return Drawn(folder, state)
    text = _text(random, words, odd=state != PLAIN)
    end = random.choice(_ENDS) if state != PLAIN else "\n"
    encoding = random.choice(_ENCODINGS) if state != PLAIN else "utf-8"
    raw = text.replace("\n", end).encode(encoding, "xmlcharrefreplace")
    if state == DAMAGED:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    return Drawn(random.choice((folder, path)), state, tuple(seen(raw, path.name)), what=encoding)


def seen(raw: bytes, name: str) -> list[Seen]:
    """Words of the rendered note, and of its front matter."""
    text = raw.decode("utf-16", "replace") if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else raw.decode("latin-1")
    text = text.removeprefix("\ufeff").removeprefix("\xef\xbb\xbf").replace("\r\n", "\n").replace("\r", "\n")
    before, body = _front(text)
    return seen_in(before, [name]) + seen_in(pages.shown(MarkdownIt("commonmark").enable("table").render(body)), [name])


def _front(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---" or "---" not in [line.rstrip() for line in lines[1:]]:
        return "", text
    end = 1 + [line.rstrip() for line in lines[1:]].index("---")
    try:
        said = yaml.safe_load("\n".join(lines[1:end]))
    except Exception:  # PyYAML's own, and those of its constructors
        return "", text
    return (repr(said), "\n".join(lines[end + 1 :])) if isinstance(said, dict) else ("", text)


def _text(random: Random, words: Words, *, odd: bool) -> str:
    parts = [_front_matter(random, words)] if random.random() < 0.4 else []
    parts += [random.choice(_PARTS if odd else _PARTS[:6])(random, words) for _ in range(random.randrange(1, 9))]
    return "\n\n".join(parts) + random.choice(("", "\n", "\n\n\n"))


def _front_matter(random: Random, words: Words) -> str:
    lines = {
        f"title: {words()}",
        f'title: "{words()} & more"',
        f"aliases: [{words()}, the {words()}]",
        f"tags:\n  - {words()}\n  - {words()}",
        "created: 2023-04-05",
        f"about: >\n  {words.sentence()}\n  {words.sentence()}",
        f"author:\n  name: {words()}",
        "draft: no",
        "empty:",
        f"long: {' '.join(words() for _ in range(60))}",
    }
    chosen = [line for line in sorted(lines) if random.random() < 0.4]
    if random.random() < 0.1:
        chosen.append(f"bad: [{words()}")
    return "\n".join(["---", *chosen, "---"])


def _heading(random: Random, words: Words) -> str:
    level = random.randrange(1, 5)
    return f"{'#' * level} {words()} {random.choice(('', 'and more', f'**{words()}**', f'`{words()}` #'))}"


def _underlined(random: Random, words: Words) -> str:
    return f"{words()} {words()}\n{random.choice(('=====', '-----', '=', '---'))}"


def _paragraph(random: Random, words: Words) -> str:
    return " ".join(words.sentence() for _ in range(random.randrange(1, 12)))


def _list(random: Random, words: Words) -> str:
    mark = random.choice(("-", "*", "1."))
    return "\n".join(f"{mark} {words()}" for _ in range(3)) + f"\n    {mark} {words()}"


def _table(random: Random, words: Words) -> str:
    return f"| {words()} | {words()} |\n|---|---|\n" + "\n".join(f"| {words()} | {words()} |" for _ in range(3))


def _marked(random: Random, words: Words) -> str:
    linked = f"[{words()}](https://example.org/a_b) ![{words()}](a.png)"
    return f"*{words()}* {linked} `{words()}` <b>{words()}</b> &amp; \\*{words()}"


def _code(random: Random, words: Words) -> str:
    return random.choice((f"```sh\n# {words()}\n```", f"~~~\n{words()}\n~~~", f"    {words()}\n    # {words()}"))


def _quoted(random: Random, words: Words) -> str:
    return f"> {words.sentence()}\n>\n> # {words()}\n>\n> - {words()}"


def _raw(random: Random, words: Words) -> str:
    return random.choice(
        (
            f"<!--\n# {words()}\n-->",
            f"<svg><title>{words()}</title></svg>",
            f"<details><summary>{words()}</summary>\n\n{words.sentence()}\n\n</details>",
            f"<h1 align=center>{words()}</h1>",
            f"<div>\n<p>{words()}</p>\n</div>",
        )
    )


def _odd(random: Random, words: Words) -> str:
    return random.choice(
        (
            "---",
            f"#{words()}",
            f"# {' '.join(words() for _ in range(40))}",
            f"[{words()}][x]\n\n[x]: /url",
            f"{words()}  \n{words()}\\\n{words()}",
            "#",
            f"## {words()}\n\n## {words()}\n\n### {words()}",
            f"\t{words()}",
            f"a\u2028{words()}\u0085{words()}",
            f"caf\u00e9 {words()} \u20ac",
        )
    )


_PARTS: tuple[Callable[[Random, Words], str], ...] = (
    _heading,
    _paragraph,
    _paragraph,
    _list,
    _table,
    _marked,
    _underlined,
    _code,
    _quoted,
    _raw,
    _odd,
    _odd,
)
