"""What templates of wikis show: numbers, dates, lists and the like. What is not known here shows nothing.

A template is called by its name without regard to case, and has arguments that are counted from 1 or named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Arguments = Mapping[str, str]
"""What a template was given, as text: by "1", "2" and so on, or by name."""


def shown(name: str, given: Arguments) -> str | None:
    """What a template shows; empty where that is nothing of a text, such as a note. None: it is not known."""
    name = " ".join(name.replace("_", " ").split()).casefold()
    function, colon, argument = name.partition(":")
    if colon and function in _FUNCTIONS:
        return _FUNCTIONS[function](argument.strip())
    if name in _NOTHING or name.startswith(_NOTHING_BEGINS):
        return ""
    if name in _FIXED:
        return _FIXED[name]
    if name in _CURRENCIES:
        return f"{_CURRENCIES[name]}{given.get('1', '')}"
    if name in _SHOWN:
        return _SHOWN[name](given)
    return _first(given) if name.startswith("lang-") else None


def _names(words: str) -> frozenset[str]:
    return frozenset(name.strip() for name in words.split(","))


def _positional(given: Arguments) -> list[str]:
    """Arguments that are counted and not empty, in order."""
    numbered = sorted((int(key), value) for key, value in given.items() if key.isascii() and key.isdigit())
    return [value for _, value in numbered if value]


def _first(given: Arguments) -> str | None:
    return given.get("1") or None


def _second(given: Arguments) -> str | None:
    return given.get("2") or None


def _last(given: Arguments) -> str | None:
    return next(reversed(_positional(given)), None)


def _second_or_first(given: Arguments) -> str | None:
    return _second(given) or _first(given)


def _linked(given: Arguments) -> str | None:
    return given.get("lt") or given.get("display") or _first(given)


def _quoted(given: Arguments) -> str | None:
    return given.get("text") or given.get("quote") or _first(given)


def _listed(given: Arguments) -> str | None:
    return ", ".join(_positional(given)) or None


def _joined(given: Arguments) -> str | None:
    return "".join(_positional(given)) or None


def _words(given: Arguments) -> str | None:
    return " ".join(_positional(given)) or None


def _nihongo(given: Arguments) -> str | None:
    english, *others = given.get("1", ""), *(given.get(key, "") for key in ("2", "3"))
    beside = ", ".join(filter(None, others))
    return f"{english} ({beside})" if english and beside else english or beside or None


def _yes(given: Arguments) -> str:
    return _first(given) or "yes"


def _no(given: Arguments) -> str:
    return _first(given) or "no"


_FORMATS_OF_DATES = _names("dmy, mdy, ymd, iso, none, long, short, y, yes")


def _date(given: Arguments) -> str | None:
    """A date as ISO 8601 has it where it is numbers from the year on; else as it was written."""
    parts = _positional(given)
    if not parts:
        return None
    if not re.fullmatch(r"\d{3,4}", parts[0]):
        return parts[0] if len(parts) == 1 or parts[1].casefold() in _FORMATS_OF_DATES else " ".join(parts[:3])
    date = [parts[0]]
    for part in parts[1:3]:
        if not re.fullmatch(r"\d{1,2}", part):
            break
        date.append(f"{int(part):02}")
    return "-".join(date)


def _as_of(given: Arguments) -> str | None:
    if given.get("alt"):
        return given["alt"]
    date = _date(given)
    begins = "since" if given.get("since") else "as of"
    begins = begins if given.get("lc") else begins.capitalize()
    return f"{begins} {date}{given.get('post', '')}" if date else None


def _circa(given: Arguments) -> str:
    years = _positional(given)[:2]
    return " – ".join(f"c. {year}" for year in years) or "c."


def _fraction(given: Arguments) -> str | None:
    match _positional(given):
        case [lower]:
            return f"1/{lower}"
        case [upper, lower]:
            return f"{upper}/{lower}"
        case [whole, upper, lower]:
            return f"{whole} {upper}/{lower}"
        case _:
            return None


def _value(given: Arguments) -> str | None:
    """A number with its uncertainty, power of ten and unit, as {{val}} has them."""
    match _positional(given):
        case [number]:
            value = number
        case [number, error]:
            value = f"{number}±{error}"
        case [number, above, below]:
            value = f"{number}+{above}-{below}"
        case _:
            return None
    power = f"×10^{given['e']}" if given.get("e") else ""
    unit = given.get("u") or given.get("ul") or ""
    below = given.get("up") or given.get("upl") or ""
    unit = f"{unit}/{below}" if below else unit
    return f"{given.get('p', '')}{value}{power}{given.get('s', '')}{' ' if unit else ''}{unit}"


_BETWEEN = {"to": "to", "and": "and", "or": "or", "-": "–", "–": "–", "to(-)": "to", "by": "by", "x": "×", "*": "×"}
_BETWEEN |= {"×": "×", "xx": "×", "+": "+", "±": "±", "+/-": "±", "and(-)": "and", "to about": "to about"}
_UNITS = {"c": "°C", "f": "°F", "sqmi": "sq mi", "sqft": "sq ft", "sqin": "sq in", "cuft": "cu ft", "cuin": "cu in"}
_UNITS |= {
    f"{unit}{power}": f"{unit}{sign}" for unit in ("mm", "cm", "m", "km") for power, sign in (("2", "²"), ("3", "³"))
}
_THOUSANDS = {"e3": "thousand", "e6": "million", "e9": "billion", "e12": "trillion"}
_SMALLER = {("ft", "in"), ("yd", "ft"), ("mi", "yd"), ("mi", "ft"), ("lb", "oz"), ("st", "lb"), ("mi", "chain")}


def _quantity(given: Arguments) -> str | None:
    """What is measured, in the unit in which it was given; what {{convert}} works out of it is left out."""
    parts = iter([given[str(at)] for at in range(1, len(given) + 1) if str(at) in given])
    words: list[str] = []
    number, unit = next(parts, ""), next(parts, "")
    while unit in _BETWEEN and re.search(r"\d", number):
        words += [number, _BETWEEN[unit]]
        number, unit = next(parts, ""), next(parts, "")
    if not re.search(r"\d", number) or not unit:
        return None
    words.append(number)
    if (large := re.fullmatch(r"(e3|e6|e9|e12)(\D.*)", unit)) is not None:
        words.append(_THOUSANDS[large[1]])
        unit = large[2]
    words.append(_UNITS.get(unit.casefold(), unit))
    smaller, of_it = next(parts, ""), next(parts, "")
    if (unit, of_it) in _SMALLER:
        words += [smaller, of_it]
    return " ".join(words).replace(" – ", "–")


def _height(given: Arguments) -> str | None:
    return " ".join(f"{given[unit]} {unit}" for unit in ("m", "cm", "ft", "in") if given.get(unit)) or None


def _duration(given: Arguments) -> str | None:
    parts = [given.get(name) or given.get(at) or "" for name, at in (("h", "1"), ("m", "2"), ("s", "3"))]
    units = (f"{part} {unit}" for part, unit in zip(parts, ("h", "min", "s"), strict=True) if part)
    return " ".join(units) or None


def _place(given: Arguments) -> str | None:
    """Coordinates: degrees, minutes and seconds with their directions, or two numbers."""
    parts = [part for part in _positional(given) if ":" not in part]
    if len(parts) == 2:
        return ", ".join(parts)
    words, signs = "", iter("°′″")
    for part in parts:
        if part in ("N", "S", "E", "W", "O"):
            words, signs = f"{words}{part} ", iter("°′″")
        else:
            words += part + next(signs, " ")
    return words.strip() or None


def _marriage(given: Arguments) -> str | None:
    years = "–".join(filter(None, (given.get("2"), given.get("3"))))
    return f"{given['1']} ({years})" if given.get("1") and years else _first(given)


def _money(given: Arguments) -> str | None:
    return f"{given['2']} {given['1']}" if given.get("1") and given.get("2") else None


def _power_of_ten(given: Arguments) -> str | None:
    return f"10^{given['1']}" if given.get("1") else None


def _times_power_of_ten(given: Arguments) -> str | None:
    return f"×10^{given['1']}" if given.get("1") else None


_FUNCTIONS: dict[str, Callable[[str], str | None]] = {
    **dict.fromkeys(("formatnum", "lc", "uc", "lcfirst", "ucfirst"), lambda argument: argument or None),
    **dict.fromkeys(("defaultsort", "displaytitle", "#tag", "defaultsortkey"), lambda _: ""),
}
_NOTHING = _names(
    "citation needed, cn, fact, when, who, whom, by whom, which, where, why, how, clarify, clarify span, "
    "vague, dubious, disputed inline, verify source, verification needed, failed verification, better "
    "source needed, page needed, full citation needed, according to whom, update inline, update after, "
    "needs update inline, dead link, webarchive, cbignore, subscription required, registration required, "
    "pov statement, citation, harvnb, harv, harvtxt, harvp, efn, efn-ua, efn-lr, refn, ref, r, rp, ref "
    "label, note, note label, notetag, ref-en, ref-de, anchor, clear, -, audio, listen, pronunciation, "
    "respell, flagicon, flag icon, increase, decrease, steady, gain, loss, profit, ntsh, hs, hidden sort "
    "key, wbr, shy, zwsp, zwj, nowrap begin, nowrap end, nowrapbegin, nowrapend, plainlist start, "
    "endplainlist, startplainlist, end plainlist, flatlist start, endflatlist, end flatlist, italic title, "
    "dagger, double dagger, short description, belege fehlen, quelle, refnec, refsou, citazione necessaria, "
    "senza fonte"
)
_NOTHING_BEGINS = ("cite ", "ipa", "sfn", "pp-", "use ", "toc")
_FIXED = {
    **dict.fromkeys(("nbsp", "spaces", "space", "thinsp", "thin space", "hair space", "hairsp", "0"), " "),
    **dict.fromkeys(("snd", "spnd", "spaced ndash", "spaced en dash"), " – "),
    **dict.fromkeys(("–", "ndash", "endash", "en dash"), "–"),
    **dict.fromkeys(("—", "mdash", "emdash", "em dash"), "—"),
    **dict.fromkeys(("·", "•", "dot", "middot", "bull", "bullet", "\\"), " · "),
    **{"!": "|", "=": "=", "'": "'", "½": "1/2", "¼": "1/4", "¾": "3/4", "break": " ", "br": " ", "crlf": " "},
}
_CURRENCIES = {
    **dict.fromkeys(("us$", "usd", "usdollar"), "US$"),
    **dict.fromkeys(("a$", "aud", "au$"), "A$"),
    **dict.fromkeys(("c$", "cad", "ca$", "can$"), "C$"),
    **dict.fromkeys(("nz$", "nzd"), "NZ$"),
    **{"hk$": "HK$", "hkd": "HK$", "s$": "S$", "sgd": "S$", "r$": "R$", "brl": "R$", "$": "$", "mxn": "MX$"},
    **dict.fromkeys(("£", "gbp", "pound sterling"), "£"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("¥", "jpy", "jp¥", "yen"), "¥"),
    **dict.fromkeys(("cn¥", "cny", "rmb", "renminbi"), "CN¥"),
    **dict.fromkeys(("₹", "inr", "indian rupee", "indian rupees", "rs"), "₹"),
    **dict.fromkeys(("₩", "krw", "won", "south korean won"), "₩"),
    **{"₱": "₱", "php": "₱", "₽": "₽", "rub": "₽", "ruble": "₽", "₺": "₺", "try": "₺", "₴": "₴", "uah": "₴"},
    **{name: f"{name.upper()} " for name in ("chf", "sek", "nok", "dkk", "zar", "pln", "czk", "huf")},
}
_FAMILIES: tuple[tuple[frozenset[str], Callable[[Arguments], str | None]], ...] = (
    (_names("convert, cvt, convinfobox, unit convert"), _quantity),
    (
        _names(
            "nowrap, nobr, nobold, nobreak, small, smaller, big, bigger, larger, large, center, centre, "
            "mono, code, kbd, var, samp, em, strong, bold, italic, italics, noitalic, normal, sic, as "
            "written, not a typo, typo, abbr, tooltip, abbrlink, visible anchor, vanchor, proper name, "
            "angbr, sup, sub, chem2, flag, flagu, flagcountry, flag country, country, nts, ntss, num, "
            "number, formatnum, formatprice, format price, plainlist, plain list, flatlist, flat list, "
            "birth-date, death-date, start date text, nombre, heures, plural form, no wrap, text, "
            "translation"
        ),
        _first,
    ),
    (
        _names("lang, langx, native name, native phrase, wikt-lang, script, fontcolor, font color, color, colour"),
        _second,
    ),
    (_names("transliteration, transl, resize, font, font size"), _last),
    (_names("url, sort, dts2, sortdash"), _second_or_first),
    (_names("ill, interlanguage link, link-interwiki, illm, interlanguage link multi, linktext, wikt"), _linked),
    (_names("quote, blockquote, cquote, quotation, rquote, bquote, quote box, zitat, citation bloc"), _quoted),
    (
        _names(
            "ubl, unbulleted list, ubli, hlist, flowlist, comma separated entries, cslist, enum, unordered "
            "list, bulleted list, ordered list, collapsible list, blist, vunblist, unbullet, hlist-comma"
        ),
        _listed,
    ),
    (_names("gaps, chem, val gaps"), _joined),
    (_names("unité, unit, unidad, sortname, date-, heure, nobr unité"), _words),
    (_names("nihongo, nihongo2, korean, zh"), _nihongo),
    (
        _names(
            "date, start date, start-date, startdate, start date and age, start date and years ago, end "
            "date, end-date, end date and age, birth date, birth date and age, bda, birth year and age, "
            "death date, death date and age, dda, death year and age, release date, launch date, film date, "
            "dts, datum, fecha, data, date de naissance, date de décès, birth date text, death date text"
        ),
        _date,
    ),
    (_names("as of, asof"), _as_of),
    (_names("circa, c., ca, c, ca."), _circa),
    (_names("frac, fraction, sfrac, frac2, fract"), _fraction),
    (_names("val"), _value),
    (_names("height"), _height),
    (_names("duration, hms, dauer"), _duration),
    (_names("coord, coordinates"), _place),
    (_names("marriage"), _marriage),
    (_names("currency"), _money),
    (_names("10^"), _power_of_ten),
    (_names("e, times10^"), _times_power_of_ten),
    (_names("yes, ya, aye"), _yes),
    (_names("no, na, nay"), _no),
)
_SHOWN = {name: show for names, show in _FAMILIES for name in names}
