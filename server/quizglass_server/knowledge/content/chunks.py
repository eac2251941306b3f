"""Articles cut into searchable spans, by paragraph and by length in the text encoder's own tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from quizglass.values import Entry
from quizglass_server.decoding.markup.blocks import Block, blocks
from quizglass_server.domain.facts import fact, is_truth
from quizglass_server.domain.sentence_ends import cut
from quizglass_server.knowledge.content.lines import unwrapped

CHUNKING = "chunks-9"
"""Version of the rules below, of `decoding/markup/blocks.py` and of the marks that it reads; part of the space of chunk
vectors, so that others' chunks are cut anew.
"""

MAX_TOKENS = 120
"""Longest chunk. With a title of ordinary length it fits the 256 tokens that sentence encoders are trained on."""
_OVERLAP_TOKENS = 30  # a sentence up to this long is repeated at the start of the next chunk, to carry its subject
_HEADINGS_TOKENS = 30  # headings of more than this are too long to be repeated with every chunk
_HEADING_TOKENS = 12  # a paragraph shorter than this joins the one that follows
_CHARACTERS_A_TOKEN = 8  # WordPiece counts a word of any length above 100 characters as one token: bound it ourselves
_MOST_PLACES = 100  # where a value may stand in a text, of which it is looked whether it stands there as a word
_SHORTEST_TELLING_VALUE = 3  # "7" found somewhere in a text does not tell that the text states the attribute

_PARAGRAPH = re.compile(r"\n[ \t]*\n")

CountTokens = Callable[[str], int]


def chunk_entry(entry: Entry, count_tokens: CountTokens, content: Sequence[Block] | None = None) -> list[str]:
    """Chunks of an entry, without its title, each once: of the text, then of the facts that the text leaves out.

    That is the caption, and each attribute as "<Key>: <value>.", a chunk each. `content` is what the text
    consists of, where it is known already.
    """
    if content is None:
        content = blocks(entry.text, entry.text_format)
    chunks = list(dict.fromkeys(_chunk_blocks(content, count_tokens)))
    said = " ".join(" ".join(block.text.split()) for block in content).casefold()
    if entry.caption and not _says(said, entry.caption):
        chunks.append(entry.caption)
    for key, value in entry.attributes.items():
        if value and (is_truth(value) or not _says(said, value)):
            chunks.extend(_split_long(fact(key, value), count_tokens))
    return chunks


def _chunk_blocks(content: Sequence[Block], count_tokens: CountTokens) -> Iterator[str]:
    """Chunks of blocks, each under the headings above it as far as these leave most of the room to the text.

    A heading that is too long to stand in front of any chunk is one before them.
    """
    lengths: dict[str, int | None] = {}

    def length(words: str) -> int | None:
        if words not in lengths:
            lengths[words] = _within(_HEADINGS_TOKENS, words, count_tokens)
        return lengths[words]

    shown = [_shown(block.headings, length) for block in content]
    said = {heading for headings in shown for heading in headings}
    for block, headings in zip(content, shown, strict=True):
        for heading in block.headings:
            if heading not in said:
                said.add(heading)
                yield from chunk_text(heading, count_tokens)
        above = ": ".join(headings)
        for chunk in chunk_text(block.text, count_tokens, MAX_TOKENS - (length(above) or 0)):
            yield f"{above}:\n{chunk}" if above else chunk


def _shown(headings: tuple[str, ...], length: Callable[[str], int | None]) -> tuple[str, ...]:
    """The headings that are put in front of the chunks of a block: all of them, the nearest, or none."""
    for some in (headings, headings[-1:]):
        if some and length(": ".join(some)) is not None:
            return some
    return ()


def passage(title: str, chunk: str) -> str:
    """A chunk as encoders and rerankers see it."""
    return f"{title}: {chunk}"


def chunk_text(text: str, count_tokens: CountTokens, room: int = MAX_TOKENS) -> Iterator[str]:
    """Paragraphs of at most `room` tokens; longer ones by sentences, with a short one repeated as overlap."""
    heading = ""
    for block in _PARAGRAPH.split(text):
        paragraph = f"{heading}\n{unwrapped(block)}".strip()
        heading = ""
        if not paragraph:
            continue
        if _within(_HEADING_TOKENS - 1, paragraph, count_tokens) is not None:
            heading = paragraph
        else:
            yield from _split_long(paragraph, count_tokens, room)
    if heading:
        yield heading


def _says(text: str, words: str) -> bool:
    """Whether a text, casefolded, has these words as words of its own; the first places alone are looked at."""
    if len(words) < _SHORTEST_TELLING_VALUE:
        return False
    words, at = words.casefold(), -1
    for _ in range(_MOST_PLACES):
        at = text.find(words, at + 1)
        if at < 0:
            return False
        if not (_in_word(text[at - 1 : at]) or _in_word(text[at + len(words) : at + len(words) + 1])):
            return True
    return False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _length(text: str, count_tokens: CountTokens) -> int:
    return max(count_tokens(text), -(-len(text) // _CHARACTERS_A_TOKEN))


def _within(room: int, text: str, count_tokens: CountTokens) -> int | None:
    """A text's length; None if it is more than `room`, which of a very long one is known without counting."""
    if len(text) > room * _CHARACTERS_A_TOKEN:
        return None
    length = _length(text, count_tokens)
    return length if length <= room else None


def _split_long(paragraph: str, count_tokens: CountTokens, room: int = MAX_TOKENS) -> Iterator[str]:
    if _within(room, paragraph, count_tokens) is not None:
        yield paragraph
        return
    chunk: list[tuple[str, int]] = []
    for sentence in _sentences(paragraph, count_tokens, room):
        if chunk and sum(length for _, length in chunk) + sentence[1] > room:
            yield _joined(chunk)
            last = chunk[-1]
            carried = len(chunk) > 1 and last[1] <= _OVERLAP_TOKENS and last[1] + sentence[1] <= room
            chunk = [last] if carried else []
        chunk.append(sentence)
    yield _joined(chunk)


def _joined(pieces: list[tuple[str, int]]) -> str:
    return " ".join(text for text, _ in pieces).replace("\n ", "\n").strip()


def _sentences(paragraph: str, count_tokens: CountTokens, room: int) -> Iterator[tuple[str, int]]:
    """Sentences with their lengths; one that is too long comes in pieces that are not."""
    for sentence in cut(paragraph):
        line = "\n" if "\n" in sentence[len(sentence.rstrip()) :] else ""
        yield from _halves(f"{sentence.strip()}{line}", count_tokens, room)


def _halves(text: str, count_tokens: CountTokens, room: int) -> Iterator[tuple[str, int]]:
    """Halve at the space nearest the middle, or in the middle of a run without spaces, until every piece fits."""
    length = _within(room, text, count_tokens)
    if length is not None or len(text) < 2:
        yield text, _length(text, count_tokens) if length is None else length
        return
    middle = len(text) // 2
    spaces = [at for at in (text.rfind(" ", 0, middle), text.find(" ", middle)) if 0 < at < len(text) - 1]
    cut = min(spaces, key=lambda at: abs(at - middle), default=middle)
    for half in (text[:cut].strip(), text[cut:].strip()):
        if half:
            yield from _halves(half, count_tokens, room)
