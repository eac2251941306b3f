"""How deeply a text nests brackets: parsers that recurse have a stack of so many levels and no more."""


def depth(text: str, pairs: tuple[str, str] = ("([{", ")]}")) -> int:
    """The most brackets that are open at once, those in strings counted too.

    Args:
        text: of any language.
        pairs: which count: those that open, and those that close.
    """
    opened, closed = pairs
    now = deepest = 0
    for character in text:
        if character in opened:
            now += 1
            deepest = max(deepest, now)
        elif character in closed:
            now -= 1
    return deepest
