"""A server that has no room is asked again."""

import pytest

from quizglass_client import Overloaded
from quizglass_lab.finetuning.asking.served import with_room


def crowded(retry_after: float | None) -> Overloaded:
    error = Overloaded("no room", status="RESOURCE_EXHAUSTED")
    error.retry_after = retry_after
    return error


def test_what_there_may_be_room_for_is_asked_again_and_what_there_never_is_not() -> None:
    refusals = [crowded(0.0), crowded(0.0), crowded(None)]

    def ask() -> str:
        if refusals:
            raise refusals.pop(0)
        return "answer"

    with pytest.raises(Overloaded):
        with_room(ask)
    assert refusals == []
    assert with_room(ask) == "answer"
