"""A server that hears and speaks, and a link to it whose answers come aloud."""

import pytest

from tests.support.sessions.session_links import opened
from tests.support.sessions.speech import ALOUD, hearing_and_speaking


@pytest.fixture
async def stage(tmp_path):
    async with hearing_and_speaking(tmp_path, frame_wait_s=0.2) as stage:
        yield stage


@pytest.fixture
async def said(stage):
    """A link with an open session."""
    async with opened(stage.target) as (made, _):
        yield made


@pytest.fixture
async def aloud(stage):
    """The same, whose answers come as sound, too."""
    async with opened(stage.target, output=ALOUD) as (made, _):
        yield made
