"""Requests as they are made: what cannot be sent is refused before all of it is read."""

from pathlib import Path
from typing import Any

import pytest

from quizglass_client.channel import check_target
from quizglass_client.errors import InvalidRequest
from quizglass_client.requests import add, ask
from quizglass_client.types import Entry


@pytest.mark.parametrize("target", ["127.0.0.1:0", "127.0.0.1:65536", "glasses:99999", "[::1]:99999999999"])
def test_a_port_that_no_machine_has_is_named(target: str) -> None:
    with pytest.raises(InvalidRequest, match="is no port; give one from 1 to 65535") as refused:
        check_target(target)
    assert refused.value.field == "target"


@pytest.mark.parametrize(
    ("question", "options", "told"),
    [
        (None, {}, "question: None is no text; give a str"),
        (3, {}, "question: int is no text; give a str"),
        (b"What?", {}, "question: bytes is no text; give a str"),
        ("What?", {"policy": 1}, "policy: int is no text; give a str"),
        ("What?", {"budget": "5"}, "budget: str is no number of seconds"),
        ("What?", {"max_answer_tokens": "5"}, "max_answer_tokens: str is no whole number"),
        ("What?", {"history": "Before?"}, "history[0]: is no pair of a question and its answer"),
        ("What?", {"history": [("a", "b", "c")]}, "history[0]: is no pair of a question and its answer"),
        ("What?", {"history": [("a", None)]}, "history[0].answer: None is no text; give a str"),
    ],
)
def test_an_argument_of_another_type_is_named(question: Any, options: Any, told: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ask(question, None, **options)
    assert (str(refused.value), refused.value.field) == (told, told.partition(":")[0])


def test_no_more_pictures_of_an_entry_are_read_than_can_be_sent(tmp_path: Path) -> None:
    large = b"\xff\xd8\xff" + bytes(7 << 20)
    pictures = (*[large] * 5, tmp_path / "is not there.png")
    with pytest.raises(InvalidRequest, match=r"pictures\[0\] to pictures\[4\] have") as refused:
        add(Entry("a", "A", pictures=pictures), 0)
    assert refused.value.field == "pictures"
    assert len(add(Entry("a", "A", pictures=pictures[:4]), 0).entry.pictures) == 4
