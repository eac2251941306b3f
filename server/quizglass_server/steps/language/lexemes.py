"""The words of a text with what each stands for: stems, synonyms, numbers, units and dates in one form.

English by its tables (`english.py`) and Snowball stems. Words of another language keep what stands written, or a stem
of it that is the same on both sides of a comparison.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, localcontext
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from snowballstemmer import stemmer

from quizglass_server.steps.language import english
from quizglass_server.steps.language.wording import Word, words

_STEM = stemmer("english")
_UNITS = {"single": 1} | {word: number for number, word in enumerate(english.NUMBERS.split())}
_TENS = {word: number * 10 for number, word in enumerate(english.TENS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {word: str(number) for number, word in enumerate(english.ORDINALS.split(), 3)}
_PARTS = _ORDINALS | {f"{word}s": number for word, number in _ORDINALS.items()}
_MEANINGS = {word: group.split()[0] for group in english.SAME.strip().splitlines() for word in group.split()}
_STEMS = {_STEM.stemWord(word): first for word, first in reversed(_MEANINGS.items())}
_SHORT_UNITS = dict(pair.split("=") for pair in english.SHORT_UNITS.split())
_MONTHS = frozenset(english.MONTHS.split())
_NAMES_TOO = frozenset(("may", "will"))
"""Function words that are names when written with a capital."""
_CURRENCIES = frozenset(("euro", "dollar", "pound", "yen"))
_SYMBOL = re.compile(r"[%€$£¥°]|(?<![\w.,)])[-\u2212](?=\d)|(?<=\d)[-\u2013\u2014](?=\d)")
_MINUS = ("-", "\u2212", "minus")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DOTTED = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?(?![.,]?\d)")
_TO_COMMAS = str.maketrans(".,", ",.")
_SUFFIXES = frozenset(("st", "nd", "rd", "th"))
_MOST_WHOLE = 3
"""Digits of the whole number before a fraction: "in 1990 1/3 of them" is two numbers."""
_FRACTION = "\u2044"
"""What parts the two numbers of a character like one half, once it is compatibility-normalised."""
_MOST_DIGITS = 60
_EXACT = Context(prec=2 * _MOST_DIGITS, traps=[InvalidOperation, DivisionByZero])
"""Numbers are compared as they are written: by floats "8.2 million" is not 8,200,000, and a long one has no end."""
_SPACES = frozenset(" \u00a0\u2009\u202f")


class Lexeme(NamedTuple):
    """A word, or several that say one thing together ("sixty-five", "square kilometres")."""

    word: Word
    """Its first word, as far as the end of its last."""
    meaning: str
    """What lexemes of the same meaning share: a stem, digits, or the first of a group of synonyms."""

    @property
    def number(self) -> bool:
        """Whether it is a number."""
        return self.meaning[0].isdigit() or (self.meaning[0] == "-" and len(self.meaning) > 1)


@lru_cache(maxsize=16384)
def meaning(key: str) -> str:
    """What a single word stands for; `key` as of `Word`, or with a capital as of `_as_name`."""
    key = key.casefold()
    if key[0].isdigit():
        if _FRACTION in key:
            return _fraction(*key.split(_FRACTION, 1))
        whole = key.replace(",", "") if _THOUSANDS.fullmatch(key) else key.replace(",", ".")
        # Of "1.2.10" and "5.6.2000", versions and dates, zeros at the end count.
        return whole.rstrip("0").rstrip(".") if whole.count(".") == 1 else whole
    bare = key.removesuffix("'s").removesuffix("'")
    if bare in _UNITS or bare in _TENS:
        return str(_UNITS.get(bare) or _TENS.get(bare, 0))
    if bare in _ORDINALS or bare in _MEANINGS:
        return _ORDINALS.get(bare) or _MEANINGS[bare]
    stem = str(_STEM.stemWord(bare))
    return _STEMS.get(stem, stem)


def _phrases() -> dict[tuple[str, ...], str]:
    """Several words of one meaning, by the meanings of the words."""
    lines = (line.split("=") for line in english.PHRASES.strip().splitlines())
    return {tuple(meaning(word) for word in said.split()): whole.strip() for whole, said in lines}


_PHRASES = _phrases()
_LONGEST = max(map(len, _PHRASES))
_FIRSTS = frozenset(phrase[0] for phrase in _PHRASES)


def lexemes(text: str) -> list[Lexeme]:
    """The lexemes of a text in order, but a day before its month and an amount before its currency."""
    signs = [Word(_read(sign, text), sign.start(), sign.end(), named=False) for sign in _SYMBOL.finditer(text)]
    spoken = sorted((*words(text), *signs), key=lambda word: word.start) if signs else list(words(text))
    spoken = [_as_name(word, text) if word.key in _NAMES_TOO else word for word in spoken]
    return _ordered(_joined(_counted(spoken, text)))


def regrouped(text: str) -> str:
    """The text with "1.000" as "1,000", and "1.000,5" as "1,000.5": German and other languages group digits by dots.

    Whether such a number is three decimals or a thousand, it alone does not say. The length stays.
    """
    return _DOTTED.sub(lambda number: number[0].translate(_TO_COMMAS), text)


def _as_name(word: Word, text: str) -> Word:
    """With a key of its own if a capital inside a sentence, or a day beside it, makes a name of a function word."""
    written = text[word.start : word.end]
    if not written.istitle():
        return word
    before, behind = text[: word.start].rstrip(), text[word.end :].lstrip()
    begins = not before or before[-1] in ".!?:;\n" or "\n" in text[len(before) : word.start]
    return word if begins and not behind[:1].isdigit() else word._replace(key=written)


def _read(sign: re.Match[str], text: str) -> str:
    """A sign as a word: the dash of "10-12" as "to"."""
    return "to" if text[max(sign.start() - 1, 0)].isdigit() and sign[0] in "-\u2013\u2014" else sign[0]


def _counted(spoken: Sequence[Word], text: str) -> list[Lexeme]:
    """Each word as a lexeme, and each run of words for one number as one."""
    counted: list[Lexeme] = []
    at = 0
    while at < len(spoken):
        end, word = _number_end(spoken, at, text), spoken[at]
        if end == at + 1:
            lexeme = Lexeme(word, meaning(word.key))
        else:
            lexeme = Lexeme(word._replace(end=spoken[end - 1].end), _number(spoken[at:end]))
        if counted and (mixed := _mixed(counted[-1], lexeme, text)) is not None:
            counted[-1] = mixed
        else:
            counted.append(lexeme)
        at = end
    return counted


def _mixed(whole: Lexeme, part: Lexeme, text: str) -> Lexeme | None:
    """ "2" and "1/2" as one number; None where they are none."""
    short = whole.meaning.isdecimal() and len(whole.meaning) <= _MOST_WHOLE
    if not (short and part.word.key[0].isdigit() and text[whole.word.end : part.word.start] in ("", *_SPACES)):
        return None
    over, slash, under = {"half": "1/2", "quarter": "1/4"}.get(part.meaning, part.meaning).partition("/")
    if not (slash and over.isdecimal() and under.isdecimal() and int(over) < int(under)):
        return None
    value = f"{int(whole.meaning) + int(over) / int(under):.4f}".rstrip("0")
    return Lexeme(whole.word._replace(end=part.word.end), value)


def _number_end(spoken: Sequence[Word], at: int, text: str) -> int:
    """Behind the last word of the number that begins at a word; behind the word itself if there is none."""
    if spoken[at].key in _MINUS:
        return at + 2 if at + 1 < len(spoken) and spoken[at + 1].key[0].isdigit() else at + 1
    if not _counts(spoken[at].key):
        return at + 1
    end = at + 1
    while end < len(spoken):
        key, last = spoken[end].key, spoken[end - 1].key
        gap = text[spoken[end - 1].end : spoken[end].start]
        if key == "and" and last in _SCALES and end + 1 < len(spoken) and _small(spoken[end + 1].key):
            end += 2
        elif _goes_on(last, key, gap, first=end == at + 1):
            end += 1
        else:
            break
    return end


def _goes_on(last: str, key: str, gap: str, first: bool) -> bool:
    """Whether a word continues a number: "sixty" five, "5" million, "390" 000, "1" / 6, "two" thirds, "1970" s."""
    if key[0].isdigit():
        digits = last.isdigit() and key.isdigit()
        grouped = gap in _SPACES and len(key) == 3 and (len(last) <= 3 if first else len(last) == 3)
        return digits and (grouped or (first and gap == "/"))
    if key == "s" and gap in ("", "'", "\u2019"):
        return first and last.isdigit() and len(last) == 4
    if not gap:
        return first and last.isdigit() and key in _SUFFIXES
    if gap not in _SPACES and gap != "-":
        return False
    if key in _SCALES:
        return True
    if key in _PARTS:
        return first and (last in _UNITS or last.isdigit()) and last not in ("4", "single")
    return (last in _TENS or last in _SCALES) and _small(key) and not (last in _TENS and key in _TENS)


def _counts(key: str) -> bool:
    return key[0].isdigit() or _small(key) or key in _SCALES


def _small(key: str) -> bool:
    return key in _UNITS or key in _TENS


def _number(run: Sequence[Word]) -> str:
    """The value of a run of words for a number, in digits."""
    keys = [word.key for word in run if word.key != "and"]
    if keys[0] in _MINUS:
        return f"-{meaning(keys[1])}"
    if keys[-1] in _PARTS or (len(keys) == 2 and keys[0].isdigit() and keys[1].isdigit() and _is_fraction(run)):
        return _fraction(meaning(keys[0]), _PARTS.get(keys[-1], keys[-1]))
    if keys[-1] == "s":
        return "".join(keys)
    if keys[-1] in _SUFFIXES:
        return {"1": "first", "2": "second"}.get(keys[0], keys[0])
    digits = list(takewhile(str.isdigit, keys))
    if len(digits) == len(keys):
        return "".join(keys)
    with localcontext(_EXACT):
        total, part = Decimal(0), Decimal(0)
        if len(digits) > 1:  # "2 000" million, "1/2" million
            part = _amount("/".join(digits)) if _is_fraction(run) else _amount("".join(digits))
        for key in keys[len(digits) :] if len(digits) > 1 else keys:
            if key in _SCALES:
                part = (part or Decimal(1)) * _SCALES[key]
                if _SCALES[key] > 100:
                    total, part = total + part, Decimal(0)
            else:
                part += _UNITS.get(key, _TENS.get(key, 0)) if not key[0].isdigit() else _amount(meaning(key))
        return _written(total + part)


def _is_fraction(run: Sequence[Word]) -> bool:
    return len(run[1].key) != 3


def _fraction(over: str, under: str) -> str:
    return {("1", "2"): "half", ("1", "4"): "quarter"}.get((over, under), f"{over}/{under}")


def _amount(digits: str) -> Decimal:
    """The value of digits, a fraction among them; 0 where they are no number, as a date."""
    over, _, under = {"half": "1/2", "quarter": "1/4"}.get(digits, digits).partition("/")
    try:
        return Decimal(over) / Decimal(under or 1)
    except (InvalidOperation, DivisionByZero):
        return Decimal(0)


def _written(value: Decimal) -> str:
    """A value in digits; what is longer than any number that is meant, short."""
    if value.adjusted() >= _MOST_DIGITS:
        return str(value.normalize())
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _joined(plain: Sequence[Lexeme]) -> list[Lexeme]:
    """With words that say one thing together put together, and units written out behind a number."""
    joined: list[Lexeme] = []
    at = 0
    while at < len(plain):
        one = plain[at]
        if at and plain[at - 1].number and one.word.key in _SHORT_UNITS:
            one = Lexeme(one.word, _SHORT_UNITS[one.word.key])
        size = 1
        for longer in range(min(_LONGEST, len(plain) - at) if one.meaning in _FIRSTS else 1, 1, -1):
            whole = _PHRASES.get((one.meaning, *(part.meaning for part in plain[at + 1 : at + longer])))
            if whole:
                word = Word(one.word.key, one.word.start, plain[at + longer - 1].word.end, one.word.named)
                one, size = Lexeme(word, whole), longer
                break
        joined.append(one)
        at += size
    return joined


def _ordered(joined: list[Lexeme]) -> list[Lexeme]:
    """With "October 28" as "28 October", and "€ 2" as "2 €"."""
    at = 0
    while at + 1 < len(joined):
        one, other = joined[at], joined[at + 1]
        dated = one.word.key.casefold() in _MONTHS and len(other.meaning) <= 2
        if other.number and (dated or (one.meaning in _CURRENCIES and not one.word.key.isalpha())):
            joined[at], joined[at + 1] = other, one
            at += 1
        at += 1
    return joined
