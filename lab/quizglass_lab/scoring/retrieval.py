"""Was the right entry found? Entries are the same by id, Wikidata item, or address."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from urllib.parse import unquote, urlsplit

_ITEM = re.compile(r"(?:wd:)?(Q[1-9]\d*)")
_ITEM_PATH = re.compile(r"/(?:entity|wiki)/(?:Special:EntityData/)?(Q[1-9]\d*)(?:\.\w+)?")
_LANGUAGE = re.compile(r"([a-z-]+)(?:\.m)?\.wikipedia\.org")


def entry_key(name: str) -> str:
    """One spelling for all names of an entry, by which two of them are compared.

    A Wikidata item is its Q number, whether as "Q243", "wd:Q243" or an address. An address counts without scheme,
    "www.", fragment and trailing slash, percent-decoded; a Wikipedia article's by language and title, where spaces are
    underscores and the first letter's case does not count, on the mobile site too. Any other name is itself.
    """
    plain = name.strip()
    if item := _ITEM.fullmatch(plain):
        return item[1]
    try:
        parts = urlsplit(plain)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:  # such as a bracket that begins an IPv6 address and ends nowhere
        return plain
    if parts.scheme.lower() not in ("http", "https") or not host:
        return plain
    path = unquote(parts.path).rstrip("/")
    if host.removeprefix("m.") == "wikidata.org" and (item := _ITEM_PATH.fullmatch(path)):
        return item[1]
    if (language := _LANGUAGE.fullmatch(host)) and path.startswith("/wiki/"):
        title = re.sub(r"[\s_]+", "_", path.removeprefix("/wiki/")).strip("_")
        return f"{language[1]}.wikipedia.org/{title[:1].upper()}{title[1:]}"
    return f"{host}{path}?{parts.query}" if parts.query else f"{host}{path}"


def names_one_of(names: Iterable[str], right: Collection[str]) -> bool:
    """Whether any name of an entry, its id or its address, is one of the right ones."""
    return not {entry_key(each) for each in names if each}.isdisjoint(map(entry_key, right))


def recall_at(ranked: Sequence[tuple[str, ...]], right: Collection[str], within: int) -> float:
    """1 if one of the right entries is among the first `within` of those ranked, else 0.

    Args:
        ranked: of each entry its names, best first; each entry once.
        right: a name of each right entry.
        within: how many of the first count.

    Raises:
        ValueError: no right entries, or `within` below 1.
    """
    if not right:
        raise ValueError("right: no entries; recall is of questions whose entries are known")
    if within < 1:
        raise ValueError(f"within: {within}; expected at least 1")
    return float(any(names_one_of(names, right) for names in ranked[:within]))
