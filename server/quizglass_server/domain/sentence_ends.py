"""Where sentences end: one set of rules for cutting texts into passages, for quotes and for the check of answers.

A stop ends none behind an abbreviation that more has to follow ("no. 4", "Mr. J. R. Hartley", "Oct. 5"). Most are
abbreviations in front of some words and plain words in front of others, so the rules look at both sides of a stop:
"No. It is broken." are two sentences.
"""

from __future__ import annotations

import re

MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember)\b"
)
"""Pattern of a month's name, in any case."""
_SHORT_MONTHS = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|okt|nov|dec|dez"
_END = re.compile(r"[.!?…;][\"'”’)\]]*\s+|[。！？][」』”’)]*\s*|\n\s*")
_BEFORE, _AFTER = 40, 24
"""Characters on either side of a stop that are looked at."""
_BEGIN = r"(?:^|[\s(\[\"“/–-])"


def _behind(names: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(rf"{_BEGIN}(?:{names})\.$", flags)


_UNFINISHED = _behind(
    r"Mr|Mrs|Ms|Mme|Messrs|Dr|Prof|Hr|Hrn|Rev|Capt|Lt|Sgt"
    r"|approx|ca|incl|excl|inkl|exkl|zzgl|vs|cf|viz|resp|bzw|e\.g|i\.e|z\.\s?B|d\.\s?h"
)
"""What no sentence ends in."""
_NUMBERED = _behind(
    r"nos?|nrn?|art|figs?|p|pp|ed|eds|vols?|chs?|chap|sect?|para|pt|tel|fax|ext|rm|apt|bldg|ver|pos|ser|abb|kap|abs|ziff"
    rf"|\w*str|s|t|{_SHORT_MONTHS}"
)
"""What stands before a number; in front of anything else it may be a word ("no", "art", "jan")."""
_SHORTENED = _behind(
    r"etc|min|max|mind|hrs?|wks?|yrs?|mths?|tbsp|tsp|oz|lbs?|ft|jr|sr|st|dept|est|misc|temp|qty|pcs|avg|std|abt|evtl|ggf|usw|geb|gegr"
    rf"|inc|ltd|co|corp|bros|{_SHORT_MONTHS}"
    r"|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun|Mo|Di|Mi|Do|Fr|Sa|So)"
)
"""What may stand at the end of a sentence, and else before a small letter, a number or a mark."""
_NAMED = _behind(r"eds?|St|Ste|Sta|Mt|Ft|Fr|(?<!\d\s)[^\W\d_a-zß-öø-ÿ]|\w{0,3}\.[^\W\d_a-zß-öø-ÿ]", re.NOFLAG)
"""What stands before a name, such as an initial; behind a number a letter is a unit."""
_LETTER = _behind(r"(?<!\d\s)[a-zß-öø-ÿ]", re.NOFLAG)
_DOTTED = _behind(r"(?:[^\W\d_]\.)+[^\W\d_]")
_NO_VOWEL = _behind(r"(?<!\d\s)[bcdfghjklmnpqrstvwxz]{2,5}", re.NOFLAG)
_NUMBER = re.compile(
    r"[(\[#+~<>≈±№€$£]{0,3}\s?\d|[A-Z]{1,4}[-/]?\d|(?!I\b)[IVXLC]+\b(?!')|[B-HJ-Z]\b(?!')|(?:of|by)\b(?= )"
)
_GOES_ON = re.compile(r"[a-zß-öø-ÿ]|[-–—&/+,(=%]")
_DIGIT = re.compile(r"[(\[#+~]{0,2}\d")
_DAY, _DATE = re.compile(r"(?:^|[\s(–-])\d{1,2}\.$"), re.compile(r"(?:^|[\s(–-])\d{1,2}\.\s?\d{1,2}\.$")
_MONTH_NEXT = re.compile(rf"{MONTH}|(?:{_SHORT_MONTHS})\b\.?|\d{{1,2}}\.(?=\s|\d|$)", re.IGNORECASE)
_YEAR_NEXT = re.compile(r"\d{2,4}\b")
_COUNTED = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])")
"""All that stands before the stop of "1. Turn it off"."""
_FIRST_WORD = re.compile(r"([A-Za-z]+)(?!\.|\w)")
_STARTERS = frozenset(
    """a after all also an and any are as ask at because before both but by call check do does don each every first for
    from go he her here his how i if in is it its keep look my never next no not now of on one only or our please put
    see she since so some take that the their then there these they this those to turn use was we were what when where
    which while who why with you your""".split()  # noqa: SIM905, a list of words reads better
)
"""Words that begin a sentence rather than a name."""


def cut(text: str, *, semicolons: bool = False) -> list[str]:
    """The sentences of a text, each with the white space behind it; joined they are the text.

    Args:
        text: a line break ends a sentence in it.
        semicolons: whether they end one, too.
    """
    pieces, start = list[str](), 0
    for end in _END.finditer(text):
        if _ends(text, start, end, semicolons=semicolons):
            pieces.append(text[start : end.end()])
            start = end.end()
    if start < len(text):
        pieces.append(text[start:])
    return pieces


def ends_sentence(text: str, following: str) -> bool:
    """Whether a text ends in a stop that the words on the next line do not go on from."""
    last = f"{text[-_BEFORE:].lstrip()} "
    end = 0
    for piece in cut(f"{last}{following[:_AFTER].lstrip()}"):
        end += len(piece)
        if end >= len(last):
            return end == len(last)
    return False


def _ends(text: str, start: int, end: re.Match[str], *, semicolons: bool) -> bool:
    mark, following = end[0][0], text[end.end() : end.end() + _AFTER]
    if "\n" in end[0] or not following or mark in "。！？":
        return True
    if mark == ";":
        return semicolons
    small = following[0].islower()
    if len(end[0].rstrip()) > 1:  # a closing quote or bracket
        return not small
    if mark in "!?":
        return True
    before = text[max(start, end.start() + 1 - _BEFORE) : end.start() + 1]
    if before.endswith(("...", "…")):
        return not small
    return not (_COUNTED.fullmatch(text, start, end.start()) or _is_abbreviated(before, following))


def _is_abbreviated(before: str, following: str) -> bool:
    """Whether the stop that a text ends in stands for what is left out of a word or number, and more has to follow."""
    goes_on, counted = _GOES_ON.match(following) is not None, _DIGIT.match(following) is not None
    if _UNFINISHED.search(before) or (_NUMBERED.search(before) and _NUMBER.match(following)):
        return True
    if _DAY.search(before) and (_MONTH_NEXT.match(following) or (_DATE.search(before) and _YEAR_NEXT.match(following))):
        return True
    if _NAMED.search(before) and (goes_on or _names(following)):
        return True
    if _SHORTENED.search(before) or _LETTER.search(before):
        return goes_on or counted
    return goes_on and (_DOTTED.search(before) is not None or _NO_VOWEL.search(before) is not None)


def _names(following: str) -> bool:
    """Whether a name follows, and no word that begins a sentence."""
    word = _FIRST_WORD.match(following)
    return following[:1].isupper() and (word is None or word[1].lower() not in _STARTERS)
