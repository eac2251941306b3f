"""A turn whose knowledge store does not answer: it goes on without lookups and says so."""

import pytest

from quizglass_server.errors import KnowledgeFailed, KnowledgeLost
from tests.support.turn_fakes import World, done


def failing(error: Exception):
    async def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(("search", "step"), [("search_views", "image_search"), ("search_texts", "text_search")])
async def test_an_unanswered_search_is_skipped_by_name(search: str, step: str, monkeypatch, caplog) -> None:
    world = World()
    monkeypatch.setattr(world.knowledge, search, failing(KnowledgeLost("nobody answers")))
    end = done(await world.ask(policy="both"))
    assert [(skipped.step, skipped.reason) for skipped in end.skipped] == [(step, "FAILED")]
    assert end.answer == "45 crowns"
    assert "Traceback" not in caplog.text  # that it is lost was logged once


@pytest.mark.parametrize("search", ["search_views", "search_texts"])
async def test_a_store_that_is_there_and_damaged_ends_the_turn(search: str, monkeypatch) -> None:
    world = World()
    monkeypatch.setattr(world.knowledge, search, failing(KnowledgeFailed("damaged")))
    with pytest.raises(KnowledgeFailed):
        await world.ask(policy="both")
