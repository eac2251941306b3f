"""A server of sessions on dummies, and a link to it with an open session."""

import pytest

from tests.support.rpc_fakes import serving
from tests.support.sessions.session_links import opened


@pytest.fixture
async def stage(tmp_path):
    async with serving(tmp_path, frame_wait_s=0.2) as stage:
        yield stage


@pytest.fixture
async def said(stage):
    """A link with an open session."""
    async with opened(stage.target) as (made, _):
        yield made
