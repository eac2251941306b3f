"""The reader of printed words: nothing is exported, its models come with a package."""

from __future__ import annotations

from typing import Literal

from quizglass_export.roles.shared.entry import Entry


class Reader(Entry):
    """Reads printed words; its models come with a package."""

    engine: Literal["rapidocr"] = "rapidocr"


ENTRY = Reader
"""What a recipe says of the role."""
