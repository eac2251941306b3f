"""How answers are worked out, as the server reads it (`steps/calculator.py` there)."""

from collections.abc import Sequence


def difference(high: int, low: int, unit: str = "") -> str:
    """How much more one number is, e.g. `<<1991-1952>> years`."""
    return f"<<{high}-{low}>> {unit}".rstrip()


def product(count: int, each: int, unit: str = "") -> str:
    """What several come to, e.g. `<<3*111>> crowns`."""
    return f"<<{count}*{each}>> {unit}".rstrip()


def choice(sides: Sequence[tuple[str, int]], *, more: bool) -> str:
    """Which of several has the highest number, or the lowest, e.g. `<<most Velmora 761, Tandric 435>>`."""
    listed = ", ".join(f"{name} {number}" for name, number in sides)
    return f"<<{'most' if more else 'least'} {listed}>>"
