"""How many tenants are open at once, and which makes room."""

import asyncio
from contextlib import asynccontextmanager
from time import monotonic
from types import SimpleNamespace

import pytest

from quizglass_server.errors import Overloaded
from quizglass_server.network.login import logged_in
from quizglass_server.tenants import Tenants

OPENING_S = 0.02


class Stores:
    """Counts what is opened."""

    def __init__(self, opening_s=OPENING_S):
        self.opened = 0
        self.tenants = Tenants("own", self._opening, 1)
        self._opening_s = opening_s

    @asynccontextmanager
    async def _opening(self, name):
        self.opened += 1
        await asyncio.sleep(self._opening_s)
        yield name

    async def called_by(self, name):
        login = SimpleNamespace(tenant=name, name=name, allowances=(), computed=None)
        with logged_in(login):
            async with self.tenants.entered() as found:
                return found


@pytest.fixture
async def stores():
    made = Stores()
    yield made
    await made.tenants.close()


async def test_tenants_that_take_turns_are_not_opened_at_every_call(stores):
    began = monotonic()
    for _ in range(8):
        for name in ("anna", "bert"):
            assert await stores.called_by(name) == name
    assert stores.opened <= 2 + (monotonic() - began) / (10 * OPENING_S), "each stays ten times as long as it took"


async def test_one_that_was_opened_long_ago_makes_room_at_once_for_the_next(stores):
    assert [await stores.called_by(name) for name in ("anna", "bert", "anna")] == ["anna", "bert", "anna"]
    assert stores.opened == 3


async def test_one_that_comes_long_before_another_may_make_room_is_refused_with_the_setting_and_a_delay():
    stores = Stores(opening_s=0.6)
    assert await stores.called_by("anna") == "anna"
    with pytest.raises(Overloaded, match="max_tenants") as refusal:
        await stores.called_by("bert")
    assert refusal.value.metadata == {"setting": "max_tenants"}
    assert refusal.value.retry_after_s >= 1
    assert await stores.called_by("anna") == "anna", "it is still open"
    assert stores.opened == 1
    await stores.tenants.close()
