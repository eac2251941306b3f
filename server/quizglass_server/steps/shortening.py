"""What a prompt gives up that is too much for the model or for the time: never the question, nor a line of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quizglass_server.errors import BudgetExceeded, InvalidInput, Overloaded
from quizglass_server.roles.generator import GenerationRequest

TOO_MUCH = (InvalidInput, BudgetExceeded, Overloaded)
"""What a generator raises, before it writes anything, where a shorter prompt might do."""


def shorter(request: GenerationRequest) -> Iterator[tuple[GenerationRequest, int]]:
    """The request as it is; without the pictures of entries; with the last exchange only; without dialogue.

    Yields:
        Each that differs from the one before, with the number of exchanges that it leaves out.
    """
    yield request, 0
    if len(request.pictures) > 1:
        request = replace(request, pictures=request.pictures[:1])
        yield request, 0
    history = request.values.get("history")
    if isinstance(history, list):
        for kept in (1, 0):
            if len(history) > kept:
                left_out = len(history) - kept
                yield replace(request, values={**request.values, "history": history[left_out:]}), left_out


def may_be_shorter(request: GenerationRequest, error: Exception) -> bool:
    """Whether the next request of `shorter` is worth a try: pictures take time, dialogue little."""
    return isinstance(error, InvalidInput) or len(request.pictures) > 1
