"""The visual memory through a real server and the real client: opt-in, search, forgetting, and turns that recall."""

import asyncio
import io
from datetime import datetime, timedelta

import pytest
from PIL import Image

from quizglass.values import SkippedStep
from quizglass_client import InvalidRequest, NotFound, NotSupported, ServerUnavailable
from quizglass_server.errors import EngineLost, KnowledgeFailed
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from tests.support.knowledge.memory_stage import remembering, saw, shot


async def test_nothing_is_remembered_for_a_turn_that_did_not_ask_for_it(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        await client.answer("What is this?", shot("red"), session_id="walk", recall=True)
        await client.answer("Who made it?", remember=True)
        await stage.settled()
        assert await client.memory.search() == []
        assert (await client.memory.stats()).sightings == 0


async def test_a_remembered_frame_is_found_by_what_it_looks_like(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        answer = await saw(client, "red", "How much does this cost?", session_id="walk", policy="image")
        await saw(client, "blue")
        await stage.settled()
        (found,) = await client.memory.search(shot("red", 80))
        assert (found.id, found.session_id, found.question, found.answer) == (
            answer.turn_id,
            "walk",
            "How much does this cost?",
            "45 crowns",
        )
        assert found.frame_sha256 == answer.accepted.frame_sha256[0]
        assert found.recognised == ("Velmora",)
        assert found.score == pytest.approx(1, abs=1e-3)
        assert found.age < 600
        assert 0 < found.expires_after <= 30 * 86_400
        assert abs(found.seen_at.timestamp() - found.time) < 1
        assert await client.memory.search(shot("lime")) == []
        assert len(await client.memory.search(shot("lime"), least_score=-1)) == 2


async def test_the_latest_come_first_or_the_best(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        ids = [(await saw(client, colour)).turn_id for colour in ("red", "maroon", "#ff3000", "#ff8000")]
        await stage.settled()
        best = await client.memory.search(shot("red"), order="best", limit=3)
        assert [hit.id for hit in best] == [ids[0], ids[1], ids[2]]
        assert {hit.id for hit in await client.memory.search(shot("red"))} == set(ids)
        assert [hit.id for hit in await client.memory.search(limit=2)] == [ids[3], ids[2]]


async def test_search_by_words_by_session_and_by_time(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        one = await saw(client, "red", "Is the zebra awake?", session_id="zoo")
        await saw(client, "blue", "What is for lunch?", session_id="home")
        await stage.settled()
        assert (await client.memory.search(text="zebra", limit=1))[0].id == one.turn_id
        assert [hit.id for hit in await client.memory.search(session_id="zoo")] == [one.turn_id]
        (seen,) = await client.memory.search(session_id="zoo")
        assert len(await client.memory.search(since=seen.time)) == 2
        assert await client.memory.search(until=seen.time) == []
        assert await client.memory.search(shot("red"), session_id="home") == []
        assert len(await client.memory.search(frame=seen.frame_sha256)) == 1


async def test_the_thumbnail_is_small_and_only_kept_if_wanted(tmp_path):
    async with remembering(tmp_path / "with", memory_thumbnail_side=32) as (stage, client):
        answer = await client.answer("What is this?", shot("red", 200), remember=True)
        await stage.settled()
        assert (await client.memory.search())[0].has_thumbnail
        small = Image.open(io.BytesIO(await client.memory.thumbnail(answer.turn_id)))
        assert (small.format, small.size) == ("JPEG", (32, 32))
        with pytest.raises(NotFound, match="no sighting '0000"):
            await client.memory.thumbnail("0" * 32)
    async with remembering(tmp_path / "without", memory_thumbnail_side=0, memory_texts=False) as (stage, client):
        answer = await saw(client, "red", policy="image")
        await stage.settled()
        (found,) = await client.memory.search(shot("red"))
        assert (found.has_thumbnail, found.question, found.answer, found.recognised) == (False, "", "", ("Velmora",))
        with pytest.raises(NotFound):
            await client.memory.thumbnail(answer.turn_id)


@pytest.mark.parametrize("by", ["session", "frame", "time", "everything"])
async def test_what_is_forgotten_is_gone_at_once_and_its_bytes_after_compaction(tmp_path, by):
    async with remembering(tmp_path) as (stage, client):
        secret = await saw(client, "red", "Is the zyrbaxa awake?", session_id="secret zyrbaxon")
        await stage.settled()
        (seen,) = await client.memory.search()
        given = {
            "session": {"session_id": "secret zyrbaxon"},
            "frame": {"frame": secret.accepted.frame_sha256[0]},
            "time": {"since": seen.time, "until": seen.time + 1},
            "everything": {"everything": True},
        }[by]
        receipt = await client.memory.forget(**given)
        assert receipt.sightings == 1
        assert await client.memory.search(shot("red")) == []
        assert await client.memory.search(text="zyrbaxa") == []
        assert (await client.memory.forget(**given)).sightings == 0
        assert await client.memory.compact() >= receipt.sequence
        assert [path.name for path in (tmp_path / "memory").rglob("*") if path.is_file() and holds(path)] == []


def holds(path):
    content = path.read_bytes()
    return b"zyrbax" in content.lower() or b"JFIF" in content


async def test_forgetting_takes_what_still_waits_and_leaves_the_rest(tmp_path):
    async with remembering(tmp_path) as (_, client):
        for session in ("a", "b", "a"):
            await saw(client, "red", session_id=session)
        assert (await client.memory.forget(session_id="a")).sightings == 2
        assert [hit.session_id for hit in await client.memory.search()] == ["b"]


@pytest.mark.usefixtures("midday")
async def test_a_turn_answers_when_the_wearer_last_saw_this(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        seen = await saw(client, "red", "How much does this cost?", policy="image")
        await stage.settled()
        answer = await client.answer("When did I last see this?", shot("red", 80), remember=True, recall=True)
        assert answer.text.startswith("You last saw this (Velmora) today at ")
        assert answer.text.endswith('You asked "How much does this cost?", and the answer was "45 crowns".')
        assert answer.plan.decided_by == "memory"
        (evidence,) = answer.evidence
        assert (evidence.origin, evidence.entry_id, evidence.used) == ("memory", seen.turn_id, True)
        assert answer.verdict.outcome == "supported"
        assert [(c.entry_id, c.start) for c in answer.done.citations] == [(seen.turn_id, 0)]
        await stage.settled()
        assert len(await client.memory.search()) == 1, "a turn that recalls is not remembered itself"


@pytest.mark.usefixtures("midday")
async def test_what_was_seen_days_ago_is_not_of_today_where_the_clock_was_set_back(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        await saw(client, "red", policy="image")
        await stage.settled()
        stage.memory._store._clock._start += 3 * 86_400  # three days pass, and the system's clock is set back by them
        answer = await client.answer("When did I last see this?", shot("red", 80), recall=True)
        day = datetime.now() - timedelta(days=3)
        assert answer.text.startswith(f"You last saw this (Velmora) on {day:%A} at ")
        (seen,) = await client.memory.search()
        assert abs(seen.age - 3 * 86_400) <= 60


@pytest.mark.usefixtures("midday")
async def test_a_turn_that_finds_nothing_says_so_and_others_are_for_the_policy(tmp_path):
    async with remembering(tmp_path) as (stage, client):
        await saw(client, "red", policy="image")
        await stage.settled()
        unknown = await client.answer("Have I seen this before?", shot("blue"), recall=True)
        assert (unknown.text, unknown.done.abstain_reason) == ("I don't know", "no_evidence")
        for question, recall in (("When did I last see this?", False), ("How much does this cost?", True)):
            answer = await client.answer(question, shot("red"), recall=recall)
            assert (answer.text, answer.plan.decided_by) == ("45 crowns", "fixed")
        named = await client.answer("When did I last see the Velmora?", recall=True)
        assert named.text.startswith("You last saw this (Velmora) today")
        nobody = await client.answer("When did I last see the Tagrin?", recall=True)
        assert nobody.abstained


async def test_a_turn_does_not_wait_for_the_memory(tmp_path, monkeypatch):
    async with remembering(tmp_path) as (stage, client):
        go_on, keep = asyncio.Event(), stage.memory._store.keep

        async def slow(draft):
            await go_on.wait()
            await keep(draft)

        monkeypatch.setattr(stage.memory._store, "keep", slow)
        assert (await saw(client, "red")).text == (await saw(client, "blue")).text == "45 crowns"
        stats = await client.memory.stats()
        assert (stats.waiting, stats.sightings) == (2, 0)
        go_on.set()
        await stage.settled()
        assert (await client.memory.stats()).sightings == 2


async def test_a_memory_that_fails_fails_no_turn(tmp_path, monkeypatch, caplog):
    async def broken(*_):
        raise KnowledgeFailed("the disk is on fire")

    async with remembering(tmp_path) as (stage, client):
        monkeypatch.setattr(stage.memory._store, "keep", broken)
        assert (await saw(client, "red")).done.skipped == ()
        await stage.settled()
        assert (await client.memory.stats()).failed == 1
        monkeypatch.setattr(stage.memory, "by_picture", broken)
        answer = await client.answer("When did I last see this?", shot("red"), recall=True)
        assert (answer.text, answer.done.skipped) == ("45 crowns", (SkippedStep("recall", "FAILED"),))
    assert "on fire" in caplog.text
    assert "45 crowns" not in caplog.text


@pytest.mark.parametrize(("role", "picture"), [(IMAGE_ENCODER, True), (TEXT_ENCODER, False)])
async def test_where_the_encoder_is_missing_the_policy_answers(tmp_path, role, picture):
    async with remembering(tmp_path) as (stage, client):
        stage.dummies[role] = None
        frame = shot("red") if picture else None
        answer = await client.answer("When did I last see the Velmora?", frame, policy="none", recall=True)
        assert (answer.text, answer.plan.decided_by) == ("45 crowns", "fixed")


async def test_a_turn_that_fails_is_remembered_without_an_answer(tmp_path):
    async def lost():
        raise EngineLost("the generator died")

    async with remembering(tmp_path) as (stage, client):
        stage.dummies.before["answer"] = lost
        with pytest.raises(ServerUnavailable):
            await saw(client, "red")
        await stage.settled()
        (found,) = await client.memory.search(shot("red"))
        assert (found.question, found.answer) == ("What is this?", "")


async def test_without_a_memory_turns_go_on_and_say_so(tmp_path):
    async with remembering(tmp_path, on=False) as (_, client):
        assert not (await client.capabilities()).memory
        answer = await client.answer("When did I last see this?", shot("red"), remember=True, recall=True)
        assert answer.text == "45 crowns"
        assert {each.step: each.reason for each in answer.done.skipped} == {
            "recall": "MEMORY_OFF",
            "remember": "MEMORY_OFF",
        }
        for call in (
            client.memory.search(),
            client.memory.forget(everything=True),
            client.memory.compact(),
            client.memory.stats(),
            client.memory.thumbnail("a"),
        ):
            with pytest.raises(NotSupported) as caught:
                await call
            assert caught.value.reason == "MEMORY_OFF"
    assert not (tmp_path / "memory").exists()


async def test_bad_requests_name_the_field(tmp_path):
    async with remembering(tmp_path) as (_, client):
        assert (await client.capabilities()).memory
        for call, field in (
            (client.memory.search(shot("red"), "and words"), "text"),
            (client.memory.search(b"no picture"), "picture"),
            (client.memory.search(text="x" * 2001), "text"),
            (client.memory.search(frame=b"short"), "filter.frame_sha256"),
            (client.memory.search(session_id="s" * 65), "filter.session_id"),
            (client.memory.search(text=" "), "text"),
            (client.memory.forget(session_id=" \0", since=1), "filter.session_id"),  # not: of every session
            (client.memory.search(least_score=float("nan")), "least_score"),
            (client.memory.forget(), "filter"),
            (client.memory.forget(session_id="a", everything=True), "filter"),
            (client.memory.search(order="worst"), "order"),
            (client.memory.search(limit=0), "limit"),
            (client.memory.search(since=-1), "filter.time_from"),
            (client.memory.thumbnail(""), "id"),
        ):
            with pytest.raises(InvalidRequest) as caught:
                await call
            assert caught.value.field == field
