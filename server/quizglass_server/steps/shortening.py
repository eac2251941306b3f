"""What a prompt gives up that is too much for the model or for the time: never the question, nor all evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quizglass_server.errors import BudgetExceeded, InvalidInput, Overloaded
from quizglass_server.roles.generator import GenerationRequest

TOO_MUCH = (InvalidInput, BudgetExceeded, Overloaded)
"""What a generator raises, before it writes anything, where a shorter prompt might do."""


_EVIDENCE = ("found", "seen", "evidence")
"""Values that are lines of evidence, those first that matter most; rounds of searching bring more and more of them."""


def shorter(request: GenerationRequest) -> Iterator[tuple[GenerationRequest, int]]:
    """The request as it is; without the pictures of entries; with the last exchange only; without dialogue; with ever
    fewer lines of evidence, one at least.

    Yields:
        Each that differs from the one before, with the number of exchanges that it leaves out.
    """
    left_out = 0
    yield request, left_out
    if len(request.pictures) > 1:
        request = replace(request, pictures=request.pictures[:1])
        yield request, left_out
    history = request.values.get("history")
    if isinstance(history, list):
        for kept in (1, 0):
            if len(history) > kept:
                left_out = len(history) - kept
                request = replace(request, values={**request.values, "history": history[left_out:]})
                yield request, left_out
    for name in _EVIDENCE:
        lines = request.values.get(name)
        while isinstance(lines, list) and len(lines) > 1:
            lines = lines[: (len(lines) + 1) // 2]
            request = replace(request, values={**request.values, name: lines})
            yield request, left_out


def may_be_shorter(request: GenerationRequest, error: Exception) -> bool:
    """Whether the next request of `shorter` is worth a try: pictures take time, text little; a grammar that cannot be
    used stays one."""
    if isinstance(error, InvalidInput):
        return error.field == "question"
    return len(request.pictures) > 1
