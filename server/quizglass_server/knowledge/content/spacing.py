"""Words for keyword search where none are written apart: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese; emoji.

A run of such a script becomes its overlapping pairs of characters, as in Lucene's CJKBigramFilter, and of Han each
character besides, which is often a word of its own: so any part of a run of two characters or more is found. Vowel and
tone signs are left out, as accents are elsewhere. An emoji becomes a word that no tokenizer takes apart. Entries and
questions go through the same function; text of all other scripts comes out as it went in.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_BOPOMOFO_HANGUL = "\u3105-\u312f\u31a0-\u31bf\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
_THAI_LAO = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf"
_BURMESE_KHMER = "\u1000-\u103f\u1050-\u108f\ua9e0-\ua9ef\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd"
_RUN = f"[{_HAN}{_KANA}{_BOPOMOFO_HANGUL}{_THAI_LAO}{_BURMESE_KHMER}]+"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_EMOJI = "[\U0001f000-\U0001f3fa\U0001f400-\U0001faff\u2600-\u27bf\u2b05-\u2b55\u231a\u231b\u23e9-\u23fa]"  # no skins
_UNSPACED = re.compile(f"(?P<run>{_RUN})|{_FLAG}|{_EMOJI}")
_ONE_HAN = re.compile(f"[{_HAN}]")


def spaced(text: str) -> str:
    """The text with spaces between what is searched for as words."""
    return text if text.isascii() else _UNSPACED.sub(_words, text)


def _words(match: re.Match[str]) -> str:
    run = match["run"]
    if run is None:
        return f" emoji{''.join(str(ord(character)) for character in match[0])} "
    # Half-width kana become whole ones, and a voicing mark part of its letter.
    letters = [one for one in unicodedata.normalize("NFKC", run) if not unicodedata.category(one).startswith("M")]
    pairs = ["".join(pair) for pair in pairwise(letters)]
    alone = [one for one in letters if len(letters) == 1 or _ONE_HAN.match(one)]
    return f" {' '.join([*pairs, *alone])} "
