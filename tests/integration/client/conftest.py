"""What tests of the client share."""

import pytest

from tests.support.rpc_fakes import serving_on_a_thread


@pytest.fixture
def stage(tmp_path):
    """A server, on a thread of its own, whose assistant and knowledge the test scripts."""
    with serving_on_a_thread(tmp_path / "server") as made:
        yield made
