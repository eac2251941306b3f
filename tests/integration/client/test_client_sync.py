"""The blocking client against a real socket."""

import io
import math
import threading
from contextlib import closing

import pytest
from PIL import Image

from quizglass import values
from quizglass_client import (
    AddReport,
    AnswerDelta,
    Cancelled,
    Client,
    Deleted,
    Done,
    Entry,
    Filter,
    InvalidRequest,
    NotFound,
    Overloaded,
    ServerError,
    ServerUnavailable,
    Session,
)
from quizglass_server import errors
from quizglass_server.domain import entries as stored
from quizglass_server.scheduling.admission import Admission
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, png


@pytest.fixture
def client(stage):
    with Client(stage.target) as made:
        yield made


def test_a_question_streams_its_events(stage, client):
    events = list(client.ask("How much?", png(), history=[("What is it?", "A car.")], policy="both", budget=5))
    assert [event.seq for event in events] == list(range(1, 8))
    assert "".join(e.payload.text for e in events if isinstance(e.payload, AnswerDelta)) == " 45 crowns"
    assert isinstance(events[-1].payload, Done)
    turn = stage.assistant.turns[0]
    assert (turn.question, turn.history) == ("How much?", (values.Exchange("What is it?", "A car."),))
    policy, budget = stage.assistant.asked[0]
    assert (policy, budget.total_s) == ("both", 5.0)


def test_without_a_budget_the_servers_own_counts(stage, client):
    client.answer("How much?")
    assert stage.assistant.asked[0][1].total_s == 10.0  # and not the client's 30 s, which bound it


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan])
def test_a_timeout_that_is_no_time_is_named_before_anything_is_asked(wrong):
    with pytest.raises(InvalidRequest, match=f"timeout: {wrong} is not above 0 seconds"):
        Client(timeout=wrong)


@pytest.mark.parametrize("forever", [math.inf, 1e300, 1e12])
def test_a_timeout_beyond_all_clocks_is_none(stage, forever):
    with Client(stage.target, timeout=forever) as client:
        assert client.answer("How much?").text == "45 crowns"
    with Session(stage.target, connect_timeout=forever, patience=forever, keepalive=forever) as session:
        assert session.answer("How much?").text == "45 crowns"


def test_an_answer_is_the_whole_turn(client):
    answer = client.answer("How much?")
    assert answer.text == "45 crowns"
    assert answer.accepted.policy == "planning-agent+"
    assert answer.evidence[0].entry_id == "velmora"


def test_a_picture_is_resized_to_what_the_server_can_use(stage, client):
    out = io.BytesIO()
    Image.new("RGB", (3000, 1500), "red").save(out, "PNG")
    client.answer("What colour is it?", out.getvalue())
    side = client.capabilities().useful_picture_side
    assert (stage.assistant.turns[0].picture.width, stage.assistant.turns[0].picture.height) == (side, side // 2)


def test_closing_the_iterator_closes_the_turn_in_the_server(stage, client):
    closed = threading.Event()

    async def waits(turn, policy, budget):
        try:
            yield EVENTS[0]
            await Gate()()
        finally:
            closed.set()

    stage.assistant.script = waits
    with closing(client.ask("How much?")) as events:
        assert next(events).seq == 1
        assert next(events).seq == 2
    assert closed.wait(60)
    stage.assistant.script = stage.assistant.usual
    assert client.answer("And now?").text == "45 crowns"


def test_closing_the_client_fails_the_calls_that_run_and_those_that_come(stage, client):
    async def waits(turn, policy, budget):
        yield EVENTS[0]
        await Gate()()

    stage.assistant.script = waits
    events = client.ask("How much?")
    next(events)
    client.close()
    for call in (
        lambda: list(events),
        lambda: client.answer("And now?"),
        client.memory.stats,
        lambda: client.add_entries([Entry("a", "A")]),
    ):
        with pytest.raises(Cancelled) as caught:
            call()
        assert caught.value.reason == "CLOSED"
    assert not client.healthy()


def test_a_refused_field_is_named(client):
    with pytest.raises(InvalidRequest, match="question") as caught:
        list(client.ask(" "))
    assert (caught.value.field, caught.value.reason) == ("question", "INVALID_FIELD")
    with pytest.raises(InvalidRequest) as caught:
        client.answer("What is this?", b"no picture")
    assert (caught.value.field, caught.value.reason) == ("frames[0].encoded", "INVALID_PICTURE")
    assert client.answer("And now?").text == "45 crowns"


def test_a_full_server_says_when_to_come_back(stage, client):
    stage.assistant.admission = Admission(limit=1, queue=0)

    async def waits(turn, policy, budget):
        await Gate()()
        yield EVENTS[-1]

    stage.assistant.script = waits
    with closing(client.ask("How much?")) as running:
        next(running)
        with pytest.raises(Overloaded) as caught:
            client.answer("How much?")
    assert caught.value.retry_after > 0


def test_a_lost_engine_is_unavailable_and_a_bug_is_a_server_error(stage, client):
    async def lost(turn, policy, budget):
        yield EVENTS[0]
        raise errors.EngineLost("the generator died; it is being restarted")

    async def broken(turn, policy, budget):
        yield EVENTS[0]
        raise KeyError("secret")

    stage.assistant.script = lost
    with pytest.raises(ServerUnavailable) as caught:
        client.answer("How much?")
    assert caught.value.reason == "ENGINE_LOST"
    stage.assistant.script = broken
    with pytest.raises(ServerError) as caught:
        client.answer("How much?")
    assert "secret" not in str(caught.value)
    assert caught.value.metadata["incident"]


def test_a_turn_without_an_end_is_a_server_error(stage, client):
    async def silent(turn, policy, budget):
        yield EVENTS[0]

    stage.assistant.script = silent
    with pytest.raises(ServerError, match="done"):
        client.answer("How much?")


def test_an_unreachable_server_is_reported():
    with Client("127.0.0.1:1") as client:
        assert not client.healthy()
        with pytest.raises(ServerUnavailable):
            client.answer("How much?")
        with pytest.raises(ServerUnavailable):
            client.capabilities()


def test_reading_is_retried_while_the_server_is_briefly_unavailable(stage, client):
    failures = [errors.EngineLost("restarting"), errors.EngineLost("restarting")]
    usual = stage.assistant.search

    async def sometimes(*asked):
        if failures:
            raise failures.pop()
        return await usual(*asked)

    stage.assistant.search = sometimes
    assert client.search("cost?")[0].title == "Velmora"
    assert not failures


def test_questions_are_not_retried(stage, client):
    async def lost(turn, policy, budget):
        raise errors.EngineLost("restarting")
        yield

    stage.assistant.script = lost
    with pytest.raises(ServerUnavailable):
        client.answer("How much?")
    assert len(stage.assistant.turns) == 1


def test_entries_are_added_a_batch_at_a_time(stage, client, tmp_path):
    entries = [Entry(f"e{i}", "title") for i in range(5)] + [Entry("bad", ""), Entry("e6", "t", pictures=(png(),))]
    entries.insert(1, Entry("lost", "title", pictures=(tmp_path / "none.png",)))
    seen: list[AddReport] = []
    report = client.add_entries(iter(entries), on_progress=seen.append, batch=3)
    assert report.added == 6
    assert [(r.index, r.id, r.field) for r in report.refused] == [(1, "lost", "pictures[0]"), (6, "bad", "title")]
    assert [progress.added for progress in seen] == [2, 5, 6]
    assert seen[-1] == report
    assert stage.knowledge.batches == [2, 3, 2]
    assert stage.knowledge.pictures["e6"] == (png(),)


def test_entries_are_listed_read_and_deleted(stage, client):
    stage.knowledge.entries = {f"e{i:03}": values.Entry(f"e{i:03}", "t", attributes={"a": "b"}) for i in range(250)}
    assert [entry.id for entry in client.list_entries()] == sorted(stage.knowledge.entries)
    assert client.get_entry("e001").attributes == {"a": "b"}
    client.delete_entry("e001")
    with pytest.raises(NotFound) as caught:
        client.get_entry("e001")
    assert caught.value.metadata == {"id": "e001"}
    with pytest.raises(NotFound):
        client.delete_entry("e001")


def test_search_by_text_and_by_picture(stage, client):
    (found,) = client.search("cost?", png(), limit=3)
    assert (found.entry_id, found.search_score, found.used) == ("velmora", 0.75, True)
    text, picture, limit = stage.assistant.searches[0]
    assert (text, picture.width, limit) == ("cost?", 64, 3)
    with pytest.raises(InvalidRequest, match="picture"):
        client.search()


def test_health_and_capabilities(client):
    assert client.healthy()
    found = client.capabilities()
    assert found.policies == ("planning-agent+", "none", "both")
    assert found.not_served == {"draft-first": ("tool_router",)}
    assert found.works_without == {"both": ("reranker", "coarse_reranker")}
    assert found.roles[0].ready
    assert found.limits["max_question_chars"] == 2000


def test_an_entry_keeps_language_format_time_and_life(stage, client):
    given = Entry(
        "a", "A", text="# Title", language="en-GB", text_format="markdown", time=1_700_000_000, expires_after=60
    )
    assert client.add_entries([given]).added == 1
    assert stage.knowledge.entries["a"].text_format == "markdown"
    assert client.get_entry("a") == given
    report = client.add_entries([Entry("b", "B", text_format="word")])
    assert [(refused.field, refused.message) for refused in report.refused] == [
        ("text_format", "there is no 'word'; choose one of 'plain', 'markdown', 'html'")
    ]


def test_a_search_can_be_filtered_and_several_pictures_be_of_one_thing(stage, client):
    wanted = Filter({"colour": "red"}, kinds=["car"], sources=["web"], languages=["en"], time_from=1, time_until=9)
    client.search("cost?", [png(), png(32), png(16)], filter=wanted, per_entry=True, mode="keywords")
    ((finding, more),) = stage.assistant.findings
    assert finding == stored.SearchOptions(
        values.Filter({"colour": "red"}, ("car",), ("web",), ("en",), 1, 9), values.SearchMode.KEYWORDS, per_entry=True
    )
    assert [picture.width for picture in more] == [32, 16]
    client.search("cost?")
    assert stage.assistant.findings[-1] == (stored.SearchOptions(), [])
    with pytest.raises(InvalidRequest, match="mode"):
        client.search("cost?", mode="magic")
    with pytest.raises(InvalidRequest, match=r"filter\.kinds"):
        client.search("cost?", filter=Filter(kinds=["x" * 501]))
    with pytest.raises(InvalidRequest, match="more_pictures"):
        client.search("", [png()] * 10)


def test_a_picture_comes_back_and_a_deletion_gives_a_receipt(stage, client):
    client.add_entries([Entry("a", "A", pictures=(png(),))])
    (digest,) = client.get_entry("a").picture_sha256
    assert client.get_picture(digest) == png()
    assert client.delete_entry("a") == Deleted("a", 7, 2, 1)
    assert client.compact() == 7
    with pytest.raises(NotFound):
        client.get_picture(digest)
    with pytest.raises(InvalidRequest, match="sha256"):
        client.get_picture(b"short")
