"""Reading, rewriting and ranking on dummy models."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from quizglass_server.domain.turns import Evidence, Exchange, GenerationEnd, Origin, Token
from quizglass_server.errors import InvalidInput
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.steps.generate import answer_request, written
from quizglass_server.steps.lookup.rerank import choose, rerank
from quizglass_server.steps.prompt_values import line
from quizglass_server.steps.read import MAX_WORDS_CHARS, read_words
from quizglass_server.steps.rewrite import rewrite
from quizglass_server.steps.tuning import Tuning
from tests.support.turn_fakes import Models, picture, turn


def passage(text: str, score: float = 0.0, found: float = 1.0) -> Evidence:
    return Evidence("", Origin.TEXT_SEARCH, text, "Title", text, search_score=found, rerank_score=score)


async def test_words_are_one_clean_line_that_leaves_the_prompt_room() -> None:
    models = Models()
    models.lines = ["  OPEN\x00", "9 to\n5 "]
    assert await read_words(models, picture()) == "OPEN 9 to 5"
    models.lines = ["word"] * 1000
    read = await read_words(models, picture())
    assert len(read) <= MAX_WORDS_CHARS
    assert read.endswith("word")
    models.lines = ["x" * 1000]
    assert len(await read_words(models, picture())) == MAX_WORDS_CHARS


async def test_a_rewritten_query_is_one_clean_line() -> None:
    models = Models()
    models.query = ["\n How much", " does it\x07 cost? ", ""]
    assert await rewrite(models, turn(), "", []) == "How much does it cost?"


async def test_reranking_orders_by_score_and_keeps_the_search_order_of_equals() -> None:
    models = Models()
    models.scores = {"best": 0.9}
    ranked = await rerank(models, "query", [passage("one"), passage("two"), passage("the best")])
    assert [item.text for item in ranked] == ["the best", "one", "two"]
    assert models.calls.of("reranker") == [["Title: one", "Title: two", "Title: the best"]]


async def test_reranking_weighs_the_reranker_by_the_search() -> None:
    models = Models()
    models.scores = {"same": 0.99, "told": 0.97}
    far, near, against = passage("same", found=0.4), passage("told", found=0.8), passage("same", found=-0.5)
    ranked = await rerank(models, "query", [far, near, against])
    assert [item.search_score for item in ranked] == [0.8, 0.4, -0.5]


async def test_passages_that_the_reranker_rejects_keep_the_search_order() -> None:
    models = Models()
    models.scores = {"one": 0.001, "two": 0.019, "three": 0.004}
    ranked = await rerank(models, "query", [passage("one", found=0.9), passage("two", found=0.8), passage("three")])
    assert [item.text for item in ranked] == ["three", "one", "two"]


def test_only_accepted_passages_are_shown_and_at_most_so_many() -> None:
    passages = [passage("a", 0.9), passage("b", 0.8), passage("c", 0.7)]
    assert [p.used for p in choose(passages, Tuning(found=2, rerank_accept=0.85), reranked=True)] == [
        True,
        False,
        False,
    ]
    assert [p.used for p in choose(passages, Tuning(found=2), reranked=True)] == [True, True, False]
    unscored = [passage("a"), passage("b")]
    assert [p.used for p in choose(unscored, Tuning(found=1, rerank_accept=0.85), reranked=False)] == [True, False]


class ShortContext(Models):
    """Refuses dialogues of more than `longest` exchanges, as a generator does whose context is full."""

    longest = 1

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        if len(request.values["history"] or ()) > self.longest:
            raise InvalidInput("question", "too long")
        async with aclosing(super().generate(request)) as pieces:
            async for piece in pieces:
                yield piece


DIALOGUE = turn(history=[Exchange("What is this?", "Velmora"), Exchange("And who made it?", "Tandric")])


async def test_a_prompt_too_long_loses_its_older_dialogue_first() -> None:
    models = ShortContext()
    assert await rewrite(models, DIALOGUE, "", [])
    assert models.calls.of("rewrite")[0].values["history"] == [{"question": "And who made it?", "answer": "Tandric"}]
    models.longest = 0
    assert await rewrite(models, DIALOGUE, "", [])
    assert models.calls.of("rewrite")[1].values["history"] == []


async def test_a_draft_tells_how_much_of_the_dialogue_its_prompt_had_no_room_for() -> None:
    models = ShortContext()
    request = answer_request(DIALOGUE, "", (), (), None)
    for models.longest, left_out in ((2, 0), (1, 1), (0, 2)):
        assert (await written(models, request)).history_left_out == left_out


async def test_a_prompt_too_long_without_dialogue_is_refused() -> None:
    models = ShortContext()
    models.longest = -1
    with pytest.raises(InvalidInput, match="too long"):
        await rewrite(models, turn(), "", [])


def test_a_line_needs_no_colon_when_half_is_missing() -> None:
    assert line(passage("text")) == "Title: text"
    assert line(Evidence("", Origin.IMAGE_SEARCH, "e", "Title", "")) == "Title"
    assert line(Evidence("", Origin.READ_TEXT, "", "", "words")) == "words"
