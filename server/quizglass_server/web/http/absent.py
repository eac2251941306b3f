"""Answers for paths where nothing is: most often the name is right and its beginning wrong."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LIKENESS = 0.8
_LONGEST = 100
"""Characters of a path that is compared with others."""
_API = "/v1/"
"""How the paths of OpenAI's API begin."""
_LIKE_API = (_API, "/api/")
"""Where programs look for an API of chats: OpenAI's, and Ollama's own."""


def nothing_at(path: str, paths: Iterable[str]) -> str:
    """Say that there is nothing at a path, and where there may be what was meant.

    Args:
        path: what was asked for.
        paths: where something is.
    """
    told = f"there is nothing at {path[:200]!r}"
    known = sorted(each for each in paths if not each.endswith("*"))
    if len(path) <= _LONGEST and (near := get_close_matches(path, known, 1, _LIKENESS)):
        return f"{told}; did you mean {near[0]!r}?"
    api = [each for each in known if each.startswith(_API)]
    if api and path.startswith(_LIKE_API):
        return f"{told}; of OpenAI's API there is {', '.join(api)}"
    return told
