"""The reader of printed words: nothing is exported, its models come with a package."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from quizglass_export.roles.shared.entry import Entry


class Reader(Entry):
    """Reads printed words; its models come with a package."""

    engine: Literal["rapidocr"] = "rapidocr"
    gate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of words from which a picture is read; None: as the server's gate was fitted."""


ENTRY = Reader
"""What a recipe says of the role."""
