"""What a schema may cost, and how it is refused."""

from __future__ import annotations

MOST_STATES = 12_000
"""Rules of the grammar and states of its patterns."""
MOST_STEPS = 300_000
"""Transitions that are looked at while patterns are worked out; about half a second of a core."""


class SchemaRefused(Exception):
    """A schema cannot be followed.

    Args:
        place: of the keyword in the schema, such as "properties.price.minimum"; empty: the schema as a whole.
        message: what is wrong and what to do.
    """

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place
        self.message = message


class NotFollowed(SchemaRefused):
    """A keyword is right and cannot be followed. Alternatives to it can be all the same."""


class Effort:
    """Counts the cost of one schema."""

    def __init__(self) -> None:
        self._states = MOST_STATES
        self._steps = MOST_STEPS

    def state(self) -> None:
        """Count a rule or a state. Raises SchemaRefused."""
        self._states -= 1
        if self._states < 0:
            raise SchemaRefused("", f"its grammar needs more than {MOST_STATES} rules; make the schema smaller")

    def steps(self, count: int) -> None:
        """Count work. Raises SchemaRefused."""
        self._steps -= count
        if self._steps < 0:
            raise SchemaRefused("", "its patterns take too long to work out; make them or their counts smaller")
