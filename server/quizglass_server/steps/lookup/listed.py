"""Printed words that answer together: what a list says below a heading, and its lines with the lowest or highest price.

English, by the words of the question, which has to ask for that and nothing more: "the cheapest dish without meat" is
left to the reranker. Headings and prices are found by how lines look. Where a list is not clear, as with two prices in
a line or a price without a name, it answers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from quizglass_server.steps.language.intents import bare
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.wording import words
from quizglass_server.steps.read import asks_for_gist

MOST_WORDS = 60
"""Words of a list, at most: a longer one is not heard to its end."""
_MOST_EQUAL = 3
"""Lines of the same lowest or highest price that an answer has, at most."""
_FEWEST = 2
"""Things with prices that one is the cheapest of, and lines or headings that make a list."""
_LONGEST_HEADING = 4
_GIST_WORDS = 30

_NUMBER = r"(?:\d{1,3}(?:[.,]\d{3})+|\d{1,5})(?:[.,]\d{2})?(?![.,]?\d)"
_CURRENCY = r"(?:[€£$¥]|\b(?:EUR|GBP|USD|CHF|CZK|PLN)\b|\bK[cč]\b|zł)"
_UNIT = r"(?:am|pm|h|hrs?|g|kg|mg|ml|cl|dl|l|m|cm|mm|km|kcal|kJ|V|W|°|C|vol)\b|[%°]"
_PRICE = re.compile(
    rf"{_CURRENCY}\s?({_NUMBER})|(?<![\d.,:])({_NUMBER})\s?{_CURRENCY}(?!\s?\d)"
    rf"|(?<![\d.,:/-])(\d{{1,4}}[.,]\d{{2}})(?![.,:]?\d)(?!\s?(?:{_UNIT}|[-–:]\s?\d))",
)
_WHOLE = re.compile(r"[^\W\d][^\d]*\s(\d{1,3})")
"""A line of a list whose prices have neither cents nor a currency: "Goulash 12"."""
_SPAN = re.compile(r"\d[.,:]\d\d\s?[-–]\s?\d")
"""From one time to another: "Open 9.30 - 17.00"."""
_NO_PRICE = re.compile(r"(?<!gluten)(?<!sugar)(?<!dairy)(?<!lactose)(?<!alcohol)[ -]free$|^free\b", re.IGNORECASE)
_FOR = re.compile(
    r"\b(?:per|was|were|instead|save|off|reduced|from|free|extra|each|\d+ for|a (?:kilo|kg|litre|pound|piece))\b"
    r"|/\s?(?:kg|l\b|100)",
    re.IGNORECASE,
)
"""What makes a price another than that of one thing."""
_SUM = re.compile(
    r"(?:sub-?total|total|sum|cash|change|card|visa|mastercard|vat|tax|tip|balance|due|paid|amount|discount|deposit"
    r"|delivery|postage|service|cover|to pay|you pay|saving)\b",
    re.IGNORECASE,
)
_DAYS = re.compile(
    r"(?=.*(?:mon|tue|wed|thu|fri|sat|sun|week|dail|holi))"
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?|weekdays?|weekends?|daily|holidays?"
    r"|public|bank|and|to|till|[-–,&/ ])+[.:]?",
    re.IGNORECASE,
)
_HOURS = re.compile(r"\d[:.]\d\d\b|\d\s?(?:am|pm)\b|\d\s?[-–]\s?\d", re.IGNORECASE)


def _each(said: str) -> frozenset[str]:
    return frozenset(meaning(word) for word in said.split())


_DRINKS = _each("drink beverage wine beer coffee tea juice water cocktail spirit cola milk latte")
_ANYTHING = _each("thing item one option product article stuff course choice offer")
_FOOD = _each("dish meal food")

_NO_NOUN = (
    r"on|in|at|of|for|with|without|to|from|than|below|under|that|which|here|there|they|you|i|we|it|this|is|are|do|does"
    r"|have|has|had|can|could|or|and|not|no|the|a|an"
)
_NOUN = rf"(?!(?:{_NO_NOUN})\b)[\w'-]+(?: (?!(?:{_NO_NOUN})\b)[\w'-]+){{0,2}}"
_PLACE = (
    r"(?: (?:here|there|on (?:the|this|that|their|your) [\w-]+(?: (?:menu|list|board))?|in (?:the|this|that) [\w-]+"
    r"|(?:that )?(?:they|you|i|we) (?:have|sell|offer|serve|can (?:get|buy|order|have))"
    r"|(?:of )?(?:them|these|those|all)|to (?:buy|order|get|have)|at all|available|for sale|for (?:this|that|it)))*"
)
_EXTREME = r"(?:(?P<{}>cheapest|least expensive|lowest priced?)|most expensive|dearest|priciest|highest priced?)"
_EXTREMES = re.compile(
    rf"(?:(?:what|which)(?: one)? (?:is|are|was) |(?:find|give|name|show|read)(?: me| us)? )?(?:the |their )?"
    rf"{_EXTREME.format('a')}(?: (?P<of>{_NOUN}))?{_PLACE}"
    rf"|(?:what|which) (?P<kind>{_NOUN}) (?:is|are) (?:the )?{_EXTREME.format('b')}(?: one)?{_PLACE}"
    rf"|(?:what|which)(?: one| (?P<type>{_NOUN}))? (?:costs?|is|are) (?:the )?(?:(?P<c>least)|most)(?: money)?{_PLACE}"
    rf"|what (?:can|could) (?:i|we) (?:get|buy|have|order) for the (?P<d>least|lowest) (?:money|price){_PLACE}"
)
_MORE = r"(?:(?P<less>cheaper|less expensive|costs? less|less)|more expensive|dearer|pricier|costs? more|more)"
_SIDE = r"(?:the |a |an )?((?!the\b)[\w'-]+(?: (?!(?:or|than|the|costs?)\b)[\w'-]+){0,3})"
_COMPARED = re.compile(
    rf"(?:what|which)(?: one)? (?:is |are |costs? )?(?:the )?{_MORE} {_SIDE} or {_SIDE}"
    rf"|(?:is|are|does|do) {_SIDE} (?:cost )?(?:cheaper|dearer|(?:more|less)(?: expensive)?) than {_SIDE}"
)
_HAVING = (
    r"(?:(?:do|does) (?:they|you|it|i|we|this|the [\w-]+) (?:have|sell|offer|serve|need|take|require|contain)"
    r"|have (?:they|you|we) got|(?:are|is)(?: there| listed| mentioned| on offer| in (?:it|this|that|here|there))?"
    r"|(?:can|could|should|may) (?:i|we|one) (?:get|have|order|buy|choose|expect))"
)
_BELOW = re.compile(
    rf"(?:what|which) (?:kinds? of |sorts? of )?({_NOUN}) {_HAVING}{_PLACE}"
    rf"|what (?:are|were) (?:all )?(?:the|its|their|your) ({_NOUN}){_PLACE}"
    rf"|what (?:is|do they have|have they got|can (?:i|we) (?:get|have)) for (?:an? |the )?({_NOUN}){_PLACE}"
    rf"|(?:(?:list|read|give|name|show)(?: me| us)?(?: out)?(?: all)? )?(?:the |its |their |any )?({_NOUN}){_PLACE}"
)
_USUAL = {
    rf"what (?:all )?do (?:i|we|you) need{_PLACE}(?: to (?:make|cook|bake) (?:it|this|that))?": "ingredients",
    r"what is (?:inside|in) (?:it|this|that)|what does (?:it|this) contain": "ingredients",
    r"how (?:do|can|should) (?:i|we|you) (?:make|cook|prepare|bake) (?:it|this|that|these|them)": "method",
}
"""Questions that name no heading, and the one whose lines answer them."""
_SAME = {
    meaning(word): meaning(group.split()[0])
    for group in (
        "dessert pudding sweet",
        "starter appetizer appetiser antipasto antipasti",
        "drink beverage",
        "method preparation instruction direction step",
        "warning caution",
    )
    for word in group.split()
}
_SUBJECT = re.compile(r"(?:subject|re|regarding|concerning)\s?:\s*\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Item:
    """Something with its price: one line, or a name and the price below it."""

    lines: range
    price: Decimal
    said: frozenset[str]
    """Meanings of the words of its name."""
    above: frozenset[str]
    """Those of the heading that it is below."""


def lines_asked_for(question: str, lines: Sequence[str]) -> list[range]:
    """The lines that answer a question together, in order; none where it asks for something else.

    Args:
        question: as asked.
        lines: of words in a picture, in reading order.
    """
    asked = bare(question)
    if asks_for_gist(question):
        return _gist(lines)
    if compared := _COMPARED.fullmatch(asked):
        return _of_two(compared, _items(lines))
    if extreme := _EXTREMES.fullmatch(asked):
        least = any(extreme[name] for name in "abcd")
        return _of_all(extreme["of"] or extreme["kind"] or extreme["type"] or "", _items(lines), least=least)
    return _below(asked, lines)


def list_after(lines: Sequence[str], at: int) -> range:
    """What is read below a line that says nothing alone, "Ingredients:" or "Saturday"; empty below any other."""
    opens = lines[at].rstrip().endswith(":") or _DAYS.fullmatch(lines[at]) is not None
    part = _section(lines, at) if opens else range(0)
    return part if _count(lines, part) <= MOST_WORDS else range(0)


def _count(lines: Sequence[str], part: range) -> int:
    return sum(len(lines[at].split()) for at in part)


def _meanings(text: str) -> frozenset[str]:
    found = (meaning(word.key) for word in words(text))
    return frozenset(_SAME.get(each, each) for each in found)


def _last_word(text: str) -> str:
    """The meaning of its last word, which says what it is: "Hot drinks"."""
    said = words(text)
    return _SAME.get(meaning(said[-1].key), meaning(said[-1].key)) if said else ""


def _prices(line: str) -> list[Decimal]:
    if _SPAN.search(line):
        return []
    found = (match[1] or match[2] or match[3] for match in _PRICE.finditer(line))
    return [_amount(number) for number in found]


def _amount(number: str) -> Decimal:
    cents = re.fullmatch(r"(.*)[.,](\d{2})", number)
    whole, part = (cents[1], cents[2]) if cents else (number, "0")
    return Decimal(f"{re.sub('[.,]', '', whole)}.{part}")


def _all_prices(lines: Sequence[str]) -> list[list[Decimal]]:
    """The prices of each line; whole numbers count where there are no others and enough of them for a list."""
    found = [_prices(line) for line in lines]
    if any(found):
        return found
    whole = [_WHOLE.fullmatch(line) for line in lines]
    names = {line[: match.start(1)] for line, match in zip(lines, whole, strict=True) if match}
    return [[Decimal(match[1])] if match else [] for match in whole] if len(names) > _FEWEST else found


def _named(line: str) -> bool:
    return re.search(r"[^\W\d]{2}", _PRICE.sub("", line)) is not None


def _headings(lines: Sequence[str]) -> list[int]:
    prices = _all_prices(lines)
    return [at for at in range(len(lines) - 1) if _is_heading(lines, at, prices)]


def _is_heading(lines: Sequence[str], at: int, prices: Sequence[Sequence[Decimal]]) -> bool:
    """Whether a line names those below it: by its colon, as a day, in capitals before a line that is not, or without a
    price before a line that has one."""
    line, below = lines[at].strip(), lines[at + 1]
    if line.endswith(":") or _DAYS.fullmatch(line):
        return True
    if re.search(r"\d|[.,;!?]$", line) or not line[:1].isupper() or len(line.split()) > _LONGEST_HEADING:
        return False
    has_value = bool(prices[at + 1]) or _HOURS.search(below) is not None
    return (has_value and _named(below)) or (line.isupper() and not below.isupper() and any(map(str.isalpha, below)))


def _section(lines: Sequence[str], at: int) -> range:
    """The lines below a heading, up to the next one; of a list with prices, up to the last that has one."""
    prices = _all_prices(lines)
    end = next((each for each in range(at + 1, len(lines) - 1) if _is_heading(lines, each, prices)), len(lines))
    priced = [each for each in range(at + 1, end) if prices[each]]
    return range(at + 1, priced[-1] + 1 if len(priced) >= _FEWEST else end)


def _items(lines: Sequence[str]) -> list[_Item]:
    """All that has a price; none where a price has no name or two lines compete for it."""
    prices, heads, items = _all_prices(lines), _headings(lines), list[_Item]()
    for at, found in enumerate(prices):
        if _NO_PRICE.search(lines[at]):
            return []
        if not found or _SUM.match(lines[at]):
            continue
        alone = not _named(lines[at])
        if len(found) > 1 or _FOR.search(lines[at]):
            return []
        if alone and (at == 0 or prices[at - 1] or not _named(lines[at - 1]) or at - 1 in heads):
            return []
        above = max((each for each in heads if each < at), default=None)
        part = range(at - alone, at + 1)
        name = _meanings(_PRICE.sub("", lines[part.start]))
        items.append(_Item(part, found[0], name, frozenset() if above is None else _meanings(lines[above])))
    symbols = {symbol for at in range(len(lines)) if prices[at] for symbol in re.findall(_CURRENCY, lines[at])}
    return items if len(symbols) <= 1 else []


def _of_all(noun: str, items: Sequence[_Item], *, least: bool) -> list[range]:
    """The lines of the lowest or highest price among the things that a noun names."""
    asked = _meanings(noun) - _ANYTHING
    food = bool(asked) and asked <= _FOOD
    if food:
        some = [item for item in items if not item.above & (_DRINKS | {_last_word("dessert")})]
    else:
        some = [item for item in items if asked <= item.said | item.above]
    if len(some) < _FEWEST:
        return []
    price = (min if least else max)(item.price for item in some)
    best = [item for item in some if item.price == price]
    doubtful = food and any(item.said & _DRINKS for item in best)
    return [] if doubtful or len(best) > _MOST_EQUAL else [item.lines for item in best]


def _of_two(compared: re.Match[str], items: Sequence[_Item]) -> list[range]:
    """The line of the one of two things that costs less, or more; both where it is asked whether one does."""
    sides = [_meanings(side) - _ANYTHING for side in compared.groups()[1:] if side]
    found = [[item for item in items if side and side & item.said and side <= item.said | item.above] for side in sides]
    if [len(some) for some in found] != [1, 1] or found[0] == found[1]:
        return []
    one, other = sorted((some[0] for some in found), key=lambda item: item.price)
    whether = compared[2] is None
    if whether or one.price == other.price:
        return sorted((one.lines, other.lines), key=lambda part: part.start)
    return [one.lines if compared["less"] else other.lines]


def _below(asked: str, lines: Sequence[str]) -> list[range]:
    """The headings that a question names, with the lines below them."""
    form = _BELOW.fullmatch(asked)
    noun = next(filter(None, form.groups()), "") if form else ""
    noun = noun or next((usual for pattern, usual in _USUAL.items() if re.fullmatch(pattern, asked)), "")
    wanted, heads = _meanings(noun) - _ANYTHING, _headings(lines)
    if not wanted:
        return []
    found = [
        range(at, _section(lines, at).stop)
        for at in heads
        if wanted <= _meanings(lines[at]) and _last_word(lines[at]) in wanted and _is_list(lines, at, heads)
    ]
    return found if sum(_count(lines, part) for part in found) <= MOST_WORDS else []


def _is_list(lines: Sequence[str], at: int, heads: Collection[int]) -> bool:
    """Whether a heading has lines below it that are surely its own: behind a colon, with prices, or beside others."""
    part = _section(lines, at)
    if not part or lines[at].rstrip().endswith(":"):
        return bool(part)
    numbers = sum(any(map(str.isdigit, lines[each])) for each in part)
    return numbers >= _FEWEST or (bool(numbers) and len(heads) >= _FEWEST)


def _gist(lines: Sequence[str]) -> list[range]:
    """The line that says what a text is about, or its first lines."""
    subject = next((at for at, line in enumerate(lines) if _SUBJECT.match(line)), None)
    if subject is not None:
        return [range(subject, subject + 1)]
    end = next((at for at in range(1, len(lines)) if _count(lines, range(at + 1)) > _GIST_WORDS), len(lines))
    return [range(end)] if lines else []
