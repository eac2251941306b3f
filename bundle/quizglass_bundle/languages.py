"""The languages that questions are answered in, as a manifest and a recipe name them.

Another language is one more tag in a recipe, whose prompts then have to be made for it. How the server recognises it
is in `steps/language/detection`; the check of answers by rules (`steps/language`) is in English alone.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

ANY_LANGUAGE = "*"
Languages = Annotated[tuple[Annotated[str, Field(pattern=r"^(?:[a-z]{2,3}|\*)$")], ...], Field(min_length=1)]
"""Primary tags of BCP 47; "*" stands for all."""
DEFAULT_LANGUAGES: Languages = ("en",)
