"""Numbers, money, units and abbreviations as they are said in English. Codes and versions stay as they were written."""

from __future__ import annotations

import re

_ABBREVIATIONS = {
    "e.g.": "for example",
    "i.e.": "that is",
    "approx.": "approximately",
    "ca.": "about",
    "vs.": "versus",
    "etc.": "and so on",
    "Dr.": "Doctor",
    "Mr.": "Mister",
    "Mrs.": "Missus",
    "Prof.": "Professor",
    "No.": "number",
    "Nr.": "number",
    "min.": "minutes",
}
_UNITS = {
    "km/h": ("kilometre per hour", "kilometres per hour"),
    "m/s": ("metre per second", "metres per second"),
    "km": ("kilometre", "kilometres"),
    "cm": ("centimetre", "centimetres"),
    "mm": ("millimetre", "millimetres"),
    "m²": ("square metre", "square metres"),
    "m³": ("cubic metre", "cubic metres"),
    "m": ("metre", "metres"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"),
    "ml": ("millilitre", "millilitres"),
    "l": ("litre", "litres"),
    "ft": ("foot", "feet"),
    "lb": ("pound", "pounds"),
    "mph": ("mile per hour", "miles per hour"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"),
    "%": ("percent", "percent"),
    "kWh": ("kilowatt hour", "kilowatt hours"),
    "kW": ("kilowatt", "kilowatts"),
    "W": ("watt", "watts"),
    "V": ("volt", "volts"),
    "GB": ("gigabyte", "gigabytes"),
    "MB": ("megabyte", "megabytes"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "h": ("hour", "hours"),
    "min": ("minute", "minutes"),
}
_MONEY = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
}
_MOST_DIGITS = 15
"""Longer numbers are no quantities."""
_LONGEST_PLAIN = 6
"""Digits without commas that are still said as one number; longer ones are names of something, digit by digit."""
_YEARS = 1100, 2099
_START, _END = r"(?<![\w.,:/€$£¥-])", r"(?![\w/°²³]|[.,:/-]\d)"
_NUMBER = r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<fraction>\.[0-9]+)?"
_UNIT = "|".join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))
_SHORT = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, _ABBREVIATIONS))})(?=\s|$|[,;)])")
_SPAN = re.compile(r"(?<=[0-9])\s?–\s?(?=[0-9])")
_TIME = re.compile(rf"{_START}(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9]){_END}", re.ASCII)
_PRICE = re.compile(rf"(?<!\w)(?P<sign>[-−])?(?P<money>[{''.join(_MONEY)}])\s?{_NUMBER}{_END}")
_MEASURE = re.compile(rf"{_START}(?P<sign>[-−])?{_NUMBER}(?:\s?(?P<unit>{_UNIT}))?{_END}")
_ORDINAL = re.compile(rf"{_START}(?P<number>[0-9]{{1,4}})(?:st|nd|rd|th){_END}")


def spoken(text: str) -> str:
    """The text as it is said. Saying it again changes nothing."""
    text = _SHORT.sub(lambda match: _ABBREVIATIONS[match[0]], text)
    text = _SPAN.sub(" to ", text)
    text = _TIME.sub(_time, text)
    text = _PRICE.sub(_price, text)
    text = _ORDINAL.sub(lambda match: _words(int(match["number"]), to="ordinal"), text)
    return _MEASURE.sub(_measure, text)


def _words(number: int, to: str = "cardinal") -> str:
    from num2words import num2words  # a tenth of a second, which a server's start need not wait for

    return str(num2words(number, to=to)).replace(",", "")


def _digits(text: str) -> str:
    return " ".join(_words(int(digit)) for digit in text)


def _number(match: re.Match[str]) -> str:
    """A number with its fraction; empty: it is none that can be said."""
    written, fraction = match["number"], match["fraction"] or ""
    plain = written.replace(",", "")
    if len(plain) > _MOST_DIGITS or len(fraction) > _MOST_DIGITS:
        return ""
    single = "," not in written and (len(plain) > _LONGEST_PLAIN or (plain[0] == "0" and len(plain) > 1))
    said = _digits(plain) if single else _words(int(plain))
    return f"{said} point {_digits(fraction[1:])}" if fraction else said


def _measure(match: re.Match[str]) -> str:
    said, unit = _number(match), match["unit"]
    if not said:
        return match[0]
    one = match["number"] == "1" and not match["fraction"]
    sign = "minus " if match["sign"] else ""
    if unit is not None:
        return f"{sign}{said} {_UNITS[unit][0 if one else 1]}"
    least, most = _YEARS
    if len(match["number"]) == 4 and not (sign or match["fraction"]) and least <= int(match["number"]) <= most:
        return _words(int(match["number"]), to="year")
    return f"{sign}{said}"


def _price(match: re.Match[str]) -> str:
    said, fraction = _number(match), match["fraction"] or ""
    if not said:
        return match[0]
    one, many, cent, cents = _MONEY[match["money"]]
    sign = "minus " if match["sign"] else ""
    if len(fraction) == 3:
        whole, small = int(match["number"].replace(",", "")), int(fraction[1:])
        head = f"{sign}{_words(whole)} {one if whole == 1 else many}"
        return f"{head} and {_words(small)} {cent if small == 1 else cents}" if small else head
    return f"{sign}{said} {one if said == 'one' else many}"


def _time(match: re.Match[str]) -> str:
    hour, minute = int(match["hour"]), int(match["minute"])
    if not minute:
        return f"{_words(hour)} o'clock"
    return f"{_words(hour)} {'oh ' if minute < 10 else ''}{_words(minute)}"
