"""What tests of the listener for HTTP share."""

import pytest

from tests.support.web import web_serving


@pytest.fixture
async def served(tmp_path):
    """The HTTP port of a server whose assistant and knowledge the test scripts."""
    async with web_serving(tmp_path) as opened:
        yield opened
