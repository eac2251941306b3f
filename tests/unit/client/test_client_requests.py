"""Requests as they are made: what cannot be sent is refused before all of it is read."""

from pathlib import Path

import pytest

from quizglass_client.errors import InvalidRequest
from quizglass_client.requests import add
from quizglass_client.types import Entry


def test_no_more_pictures_of_an_entry_are_read_than_can_be_sent(tmp_path: Path) -> None:
    large = b"\xff\xd8\xff" + bytes(7 << 20)
    pictures = (*[large] * 5, tmp_path / "is not there.png")
    with pytest.raises(InvalidRequest, match=r"pictures\[0\] to pictures\[4\] have") as refused:
        add(Entry("a", "A", pictures=pictures), 0)
    assert refused.value.field == "pictures"
    assert len(add(Entry("a", "A", pictures=pictures[:4]), 0).entry.pictures) == 4
