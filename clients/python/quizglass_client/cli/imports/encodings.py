"""In which encoding a text is: as it declares, as it can be told, or as is assumed, which then has to be said."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

_PIECE = 1 << 20
_MARKS = (  # the longer first: that of UTF-32 begins as that of UTF-16 does
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_OF_TEXTS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MEANT = {
    **dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "latin-1", "ascii", "us-ascii", "cp819"), "cp1252"),
    **dict.fromkeys(("windows-1252", "cp1252", "x-cp1252"), "cp1252"),
    **dict.fromkeys(("iso-8859-9", "latin5", "windows-1254"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620", "windows-874"), "cp874"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "ms_kanji"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ksc5601", "windows-949"), "cp949"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "gb_2312-80", "gb18030"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "x-x-big5"), "big5hkscs"),
    # A declaration that can be read as ASCII is in no encoding of two bytes.
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8", "utf-16", "utf-16le", "utf-16be"), "utf-8"),
    **{f"windows-{number}": f"cp{number}" for number in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    **{f"iso-8859-{part}": f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{name: name for name in ("euc-jp", "iso-2022-jp", "koi8-r", "koi8-u")},
    **{"ibm866": "cp866", "cp866": "cp866", "macintosh": "mac_roman", "x-mac-roman": "mac_roman"},
    **{"x-mac-cyrillic": "mac_cyrillic"},
}
"""What browsers read under the names that pages declare, as Python calls it."""


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How a text is decoded."""

    name: str
    """As Python calls it."""
    guess: str = ""
    """What is assumed, for the report; empty where the text says it or it cannot be otherwise."""
    errors: str = "strict"


class NoText(ValueError):
    """What should be a text is none that can be read; the message says what to do."""


def encoding_of(file: BinaryIO, declared: str = "") -> TextEncoding:
    """The encoding of a file, which is read in pieces to its end and left at its beginning.

    A byte order mark counts first, then what the text declares, then UTF-8 if it is that. What is mostly UTF-8 is taken
    as damaged; else Windows-1252 is assumed, if it can be that.

    Raises:
        NoText: it is none of these.
    """
    begins = file.read(4)
    marked = next((name for mark, name in _MARKS if begins.startswith(mark)), "")
    named = marked or _MEANT.get(declared.strip().lower(), "")
    if named and _is_in(file, named):
        return TextEncoding(named)
    if named != "utf-8" and _is_in(file, "utf-8"):
        return TextEncoding("utf-8", f"it declares {declared} and is read as UTF-8" if declared else "")
    good, bad = _sound(file, named or "utf-8")
    if marked.startswith(("utf-16", "utf-32")) and not good:
        raise NoText(f"is not UTF-8, nor the {marked.upper()} that its first bytes announce; save it as UTF-8")
    if named or good > bad:
        called = declared if named and not marked else (named or "utf-8").removesuffix("-sig").upper()
        return TextEncoding(named or "utf-8", f"{bad} bytes or more that are not {called} are lost", "replace")
    if any(_NOT_OF_TEXTS.search(piece) for piece in _pieces(file)):
        raise NoText("is no text: it has characters that texts do not have")
    if _is_in(file, "cp1252"):
        return TextEncoding("cp1252", "it is not UTF-8 and is read as Windows-1252; if that is wrong, save it as UTF-8")
    raise NoText("is not UTF-8, and not Windows-1252 either; save it as UTF-8")


def decoded(raw: bytes, declared: str = "") -> tuple[str, str]:
    """A text, and what was assumed to read it: empty where nothing was. Raises NoText."""
    encoding = encoding_of(io.BytesIO(raw), declared)
    return raw.decode(encoding.name, encoding.errors), encoding.guess


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece
    file.seek(0)


def _is_in(file: BinaryIO, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in _pieces(file):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeError:
        file.seek(0)
        return False
    return True


def _sound(file: BinaryIO, encoding: str) -> tuple[int, int]:
    """Characters beyond ASCII that can be read, or any of UTF-16, and places that cannot."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    good = bad = 0
    for piece in chain(_pieces(file), (b"",)):
        text = decoder.decode(piece, final=not piece)
        lost = text.count("\ufffd")
        bad += lost
        good += len(text) - len(text.encode("ascii", "ignore")) - lost if encoding == "utf-8" else len(text) - lost
    return good, bad
