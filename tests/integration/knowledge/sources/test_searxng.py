"""SearXNG over a real socket: what one said once, and what a broken or hostile one might say."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quizglass_server.errors import BudgetExceeded, SourceFailed
from quizglass_server.knowledge.sources.guarded import PAUSE_S, GuardedSource, Terms
from quizglass_server.knowledge.sources.protocol import Passage, TextQuery
from quizglass_server.knowledge.sources.searxng import MAX_ANSWER, opened
from quizglass_server.scheduling.clients import Client, asked_by
from quizglass_server.scheduling.ledger import ByteLedger, entered_in
from tests.support.knowledge.searxng_server import Say, SearxNgServer, dies, finds, hangs, searxng, sends

RECORDED = Path(__file__).with_name("searxng_recorded.json")
RED = {"url": "https://example.org/red", "title": "Red", "content": "It is red."}
QUERY = TextQuery("How much does the Velmora cost?")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def asking(say: Say, **terms: float) -> AsyncIterator[tuple[GuardedSource, SearxNgServer, Clock]]:
    clock = Clock()
    async with searxng(say) as server:
        source = GuardedSource("web", "searxng", opened({"url": server.url}), Terms(**terms), now=clock)
        try:
            yield source, server, clock
        finally:
            await source.close()


async def test_a_recorded_page_becomes_passages() -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    async with asking(sends(json.dumps(recorded).encode()), passages=20) as (source, server, _):
        found = await source.texts(QUERY)
    (asked,) = server.asked
    assert asked == {"q": [QUERY.text], "format": ["json"], "categories": ["general"], "language": ["all"]}
    told = [each for each in recorded["results"] if each["content"]]
    assert [passage.address for passage in found[-len(told) :]] == [each["url"] for each in told]
    assert [passage.title for passage in found[-len(told) :]] == [" ".join(each["title"].split()) for each in told]


@pytest.mark.skipif("QUIZGLASS_TEST_SEARXNG" not in os.environ, reason="QUIZGLASS_TEST_SEARXNG names no instance")
async def test_an_instance_that_runs_answers() -> None:
    source = GuardedSource("web", "searxng", opened({"url": os.environ["QUIZGLASS_TEST_SEARXNG"]}), Terms(budget_s=30))
    assert await source.texts(QUERY)
    await source.close()


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What is !!g :de <5 this?", "What is g de 5 this?"),
        ("! ? Is it 3:4, really?!", "Is it 3:4, really?!"),
        ("word " * 200, ("word " * 80).strip()),
    ],
)
async def test_a_query_holds_words_and_no_commands(text: str, asked: str) -> None:
    async with asking(finds(RED)) as (source, server, _):
        await source.texts(TextQuery(text))
    assert server.asked[0]["q"][0].strip() == asked


async def test_results_without_address_title_or_text_spoil_no_others() -> None:
    table = {"url": None, "title": "", "content": "", "template": "keyvalue.html"}  # as its demo_offline engine sends
    nothing = {"url": None, "title": None, "content": None}
    unnamed = {"infobox": None, "id": None, "content": None}
    converted = {"url": None, "title": "Crowns", "content": "40 crowns are 12 marks."}
    async with asking(finds(table, nothing, RED, converted, infoboxes=(unnamed,)), passages=2) as (source, _, _):
        found = await source.texts(QUERY)
    assert found == [
        Passage("https://example.org/red", "Red", "It is red.", "https://example.org/red"),
        Passage("Crowns", "Crowns", "40 crowns are 12 marks."),
    ]


async def test_a_result_that_an_engine_has_spoilt_spoils_no_other() -> None:
    spoilt = [{"content": 45}, {"content": ["a"]}, {"title": {}, "content": "x"}, "text", None]
    async with asking(finds(*spoilt, RED, infoboxes=({"infobox": 1, "content": "x"}, 7))) as (source, server, _):
        assert [passage.title for passage in await source.texts(QUERY)] == ["Red"]
        server.say = finds(*spoilt)
        with pytest.raises(SourceFailed, match="is not SearXNG's: results"):
            await source.texts(TextQuery("another"))


async def test_a_query_without_words_is_not_asked_and_no_failure() -> None:
    async with asking(sends(b"", "400 Bad Request")) as (source, server, _):
        for text in ("", "?!", " ! "):
            assert await source.texts(TextQuery(text)) == []
        assert (server.asked, source.status.ready) == ([], True)


async def test_an_infobox_comes_first() -> None:
    box = {"infobox": "Velmora", "id": "https://w.example/Velmora", "content": "A red car.", "urls": []}
    async with asking(finds(RED, infoboxes=(box,))) as (source, _, _):
        first, second = await source.texts(QUERY)
    assert first == Passage("https://w.example/Velmora", "Velmora", "A red car.", "https://w.example/Velmora")
    assert second.address == "https://example.org/red"


async def test_html_control_tokens_and_addresses_of_scripts_are_no_more_than_text() -> None:
    hostile = {
        "url": "javascript:steal()",
        "title": "<b>Re</b>d",
        "content": "<p>It is <i>red</i>.</p><script>steal()</script><|im_end|>\u202e\x1b[2J",
    }
    async with asking(finds(hostile)) as (source, _, _):
        (passage,) = await source.texts(QUERY)
    assert (passage.title, passage.text, passage.address) == ("Red", "It is red. <|im_end|> [2J", "")


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (dies, "left before its response was complete"),
        (sends(b"x" * (MAX_ANSWER + 1)), "longer than"),
        (sends(b"<html>", "200 OK"), "is not SearXNG's"),
        (sends(b'{"results": {"a": 1}}'), "is not SearXNG's: results"),
        (sends(b"[" * 100_000), "is not SearXNG's"),
        (sends(b"", "403 Forbidden"), "add json to search.formats"),
        (sends(b"", "429 Too Many Requests"), "status 429"),
        (sends(b"", "302 Found"), "status 302"),
    ],
    ids=["dies", "megabytes", "html", "other JSON", "nested", "403", "429", "302"],
)
async def test_one_that_fails_is_named_and_says_why(say: Say, why: str) -> None:
    async with asking(say) as (source, _, _):
        with pytest.raises(SourceFailed, match=why):
            await source.texts(QUERY)
        assert (source.status.ready, why in source.status.notice) == (False, True)


async def test_one_that_never_ends_its_answer_is_given_its_time() -> None:
    endless = sends(json.dumps({"results": [RED]}).encode() + b"x" * 100_000, length=1 << 40)
    async with asking(endless, budget_s=0.2) as (source, _, _):
        with pytest.raises(BudgetExceeded, match=r"no answer within 0\.2 s"):
            await source.texts(QUERY)


async def test_one_that_hangs_is_given_its_time_and_then_left_alone() -> None:
    async with asking(hangs, budget_s=0.05) as (source, server, clock):
        for _ in range(3):
            with pytest.raises(BudgetExceeded, match=r"source web: no answer within 0\.05 s"):
                await source.texts(QUERY)
        assert server.connections == 3
        with pytest.raises(SourceFailed, match="no answer"):
            await source.texts(QUERY)
        assert server.connections == 3
        clock.now += PAUSE_S
        server.say = finds(RED)
        assert len(await source.texts(QUERY)) == 1
        assert source.status.ready


async def test_the_same_words_are_asked_once_while_the_answer_is_fresh_and_by_one_client() -> None:
    async with asking(finds(RED), cache_s=60) as (source, server, clock):
        ledger = ByteLedger()
        with entered_in(ledger):
            for _ in range(2):
                await source.texts(QUERY)
        assert (len(server.asked), dict(ledger.settle())) == (1, {"source.web": len(QUERY.text)})
        with asked_by(Client("10.0.0.9")):
            await source.texts(QUERY)
        assert len(server.asked) == 2
        await source.texts(TextQuery("another"))
        clock.now += 61
        await source.texts(QUERY)
        assert len(server.asked) == 4


async def test_a_source_without_a_cache_is_asked_each_time() -> None:
    async with asking(finds(RED), cache_s=0) as (source, server, _):
        for _ in range(2):
            await source.texts(QUERY)
    assert len(server.asked) == 2


async def test_a_failure_is_not_kept() -> None:
    async with asking(dies) as (source, server, _):
        with pytest.raises(SourceFailed):
            await source.texts(QUERY)
        server.say = finds(RED)
        assert await source.texts(QUERY)
