"""Which letters languages are written in."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

_LATIN = "LATIN"
_TAGS = {
    "CYRILLIC": "ab ba be bg ce cv kk ky mk mn ru sr tg tt uk",
    "ARABIC": "ar ckb fa ps sd ug ur",
    "HEBREW": "he yi",
    "DEVANAGARI": "hi mr ne sa",
    "BENGALI": "as bn",
    "GURMUKHI": "pa",
    "GUJARATI": "gu",
    "ORIYA": "or",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "SINHALA": "si",
    "THAI": "th",
    "LAO": "lo",
    "TIBETAN": "bo dz",
    "MYANMAR": "my",
    "GEORGIAN": "ka",
    "ETHIOPIC": "am ti",
    "KHMER": "km",
    "ARMENIAN": "hy",
    "GREEK": "el",
    "THAANA": "dv",
    "HANGUL": "ko",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "ja ko yue zh",
}
_BOTH = frozenset(("az", "kk", "sr", "tt", "uz"))
"""Languages that are written in Latin letters, too."""


def share_written_in(text: str, languages: Collection[str]) -> float:
    """Share of a text's letters that may belong to one of these languages; 1 of a text without letters."""
    letters = [character for character in text if character.isalpha()]
    scripts = tuple(_scripts(languages))
    fitting = sum(unicodedata.name(letter, "").startswith(scripts) for letter in letters)
    return fitting / len(letters) if letters else 1.0


def in_latin(languages: Collection[str]) -> frozenset[str]:
    """Those of the languages that are written in Latin letters."""
    others = frozenset(tag for tags in _TAGS.values() for tag in tags.split()) - _BOTH
    return frozenset(languages) - others


def _scripts(languages: Collection[str]) -> set[str]:
    """How the Unicode names of their letters begin."""
    found = {script for script, tags in _TAGS.items() if not set(languages).isdisjoint(tags.split())}
    return found | {_LATIN} if in_latin(languages) else found
