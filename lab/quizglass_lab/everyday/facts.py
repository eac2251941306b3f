"""Facts about countries, elements, planets, animals and dishes: from packages' data and a table of our own.

Figures that change from year to year, such as populations, are left out.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_export.everyday.packages import WHEELS
from quizglass_export.everyday.weights import COUNTRIES, ELEMENTS

OWN = Path(__file__).with_name("facts.csv")
LANGUAGES = {
    **{"ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "pt": "Portuguese"},
    **{"ru": "Russian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "it": "Italian", "nl": "Dutch"},
    **{"sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish", "is": "Icelandic", "pl": "Polish"},
    **{"cs": "Czech", "sk": "Slovak", "hu": "Hungarian", "ro": "Romanian", "bg": "Bulgarian", "el": "Greek"},
    **{"tr": "Turkish", "fa": "Persian", "he": "Hebrew", "hi": "Hindi", "bn": "Bengali", "ur": "Urdu", "th": "Thai"},
    **{"vi": "Vietnamese", "id": "Indonesian", "ms": "Malay", "sw": "Swahili", "am": "Amharic", "so": "Somali"},
    **{"uk": "Ukrainian", "lt": "Lithuanian", "lv": "Latvian", "et": "Estonian", "hr": "Croatian", "sr": "Serbian"},
    **{"sl": "Slovene", "sq": "Albanian", "mk": "Macedonian", "hy": "Armenian", "ka": "Georgian", "mn": "Mongolian"},
    **{"km": "Khmer", "lo": "Lao", "my": "Burmese", "ne": "Nepali", "si": "Sinhala", "dz": "Dzongkha"},
}
CURRENCIES = {
    **{"EUR": "euro", "USD": "US dollar", "GBP": "pound sterling", "JPY": "yen", "CNY": "renminbi", "INR": "rupee"},
    **{"BRL": "real", "KES": "Kenyan shilling", "ZAR": "rand", "RUB": "rouble", "TRY": "lira", "PLN": "zloty"},
    **{"CZK": "koruna", "HUF": "forint", "SEK": "krona", "NOK": "krone", "DKK": "krone", "ISK": "krona"},
    **{"THB": "baht", "VND": "dong", "IDR": "rupiah", "MYR": "ringgit", "KRW": "won", "MXN": "peso", "ARS": "peso"},
    **{"CLP": "peso", "COP": "peso", "PEN": "sol", "EGP": "Egyptian pound", "MAD": "dirham", "ETB": "birr"},
    **{"NGN": "naira", "GHS": "cedi", "ILS": "shekel", "SAR": "riyal", "UAH": "hryvnia", "RON": "leu", "BGN": "lev"},
    **{"GEL": "lari", "AMD": "dram", "KZT": "tenge", "MNT": "tugrik", "BDT": "taka", "PHP": "peso", "PGK": "kina"},
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing known of one thing: the `name` of the `thing` is `value`."""

    kind: str
    thing: str
    name: str
    value: str
    source: str


def all_facts(workdir: Path) -> list[Fact]:
    """Every fact, in one order; the packages must have been fetched."""
    return [*countries(workdir), *elements(workdir), *own_facts()]


def own_facts() -> Iterator[Fact]:
    """Planets, animals and dishes: the table beside this module."""
    with OWN.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield Fact(row["kind"], row["thing"], row["name"], row["value"], "quizglass")


def countries(workdir: Path) -> Iterator[Fact]:
    """Facts of countries that have people: capital, region, and where it is one alone currency and language."""
    wheel = next((workdir / WHEELS).glob(f"{COUNTRIES.name}-{COUNTRIES.version}-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith(COUNTRIES.prefix) and ".json" in name)
        told = {content["name"]: content for name in names if (content := json.loads(archive.read(name)))}
    for thing, content in sorted(told.items()):
        if not content.get("capital") or not content.get("population") or len(thing) > 40:
            continue
        languages, currencies = content["languages"], content["currencies"]
        facts = {
            "capital": _one(content["capital"]),
            "region": content["subregion"] or content["region"],
            "official language": LANGUAGES.get(languages[0]) if len(languages) == 1 else None,
            "currency": CURRENCIES.get(currencies[0]) if len(currencies) == 1 else None,
        }
        yield from (Fact("country", thing, name, value, COUNTRIES.name) for name, value in facts.items() if value)


def _one(value: Any) -> str | None:
    """A name, which some of the data's files have as a list."""
    names = [value] if isinstance(value, str) else value
    return str(names[0]) if len(names) == 1 else None


def elements(workdir: Path) -> Iterator[Fact]:
    """Facts of chemical elements: symbol, atomic number, and who discovered them when."""
    path = workdir / ELEMENTS.folder / "elements.db"
    columns = "name, symbol, atomic_number, discoverers, discovery_year"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        rows = database.execute(f"SELECT {columns} FROM elements ORDER BY atomic_number").fetchall()  # noqa: S608
    for thing, symbol, number, discoverers, year in rows:
        people = (discoverers or "").rstrip(".")
        known = people and "ancient" not in people.casefold() and len(people) < 60
        facts = {
            "symbol": symbol,
            "atomic number": str(number),
            "discoverer": people if known else None,
            "year of discovery": str(year) if year and year > 1600 else None,
        }
        yield from (Fact("element", thing, name, value, ELEMENTS.name) for name, value in facts.items() if value)
