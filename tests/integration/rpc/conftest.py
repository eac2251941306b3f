"""What tests of calls share."""

import pytest

from tests.support.rpc_fakes import serving


@pytest.fixture
async def stage(tmp_path):
    """A server whose assistant and knowledge the test scripts."""
    async with serving(tmp_path) as made:
        yield made
