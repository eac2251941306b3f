"""The visual memory's own words: sightings as entries and back, and what is asked and said about them."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import thread_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass.text import clean_line, clean_text
from quizglass.values import Origin
from quizglass_server.assistant.recollection import recall
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.sightings import Seen, Sighting, SightingHit
from quizglass_server.domain.turns import Evidence, Picture
from quizglass_server.knowledge.memory.entries import drafted, sighting_of
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.lookup.recall import asks_for_sighting, recognised, said_time, told_sighting
from tests.support.knowledge.fakes import FakeTextEncoder
from tests.support.turn_fakes import World, turn

PICTURE = Picture(b"p" * 32, np.zeros((40, 30, 3), np.uint8))
TEXTS = st.text(max_size=60)
LINES = TEXTS.map(clean_line).filter(bool)


async def nothing():
    return []


@settings(deadline=None, max_examples=60)
@given(LINES, TEXTS.map(clean_text), st.lists(LINES, max_size=3, unique=True), TEXTS, st.integers(1, 1 << 40))
def test_a_sighting_comes_back_from_its_entry(question, answer, names, session, time):
    seen = Sighting("a" * 32, time, b"h" * 32, session, question, answer, tuple(names))
    draft = drafted(
        Seen(seen, PICTURE, nothing), 2, MemoryOptions(memory_ttl_s=60, memory_thumbnail_side=16), FakeTextEncoder()
    )
    back = sighting_of(draft.entry)
    assert (back.question, back.answer, back.recognised, back.session_id) == (question, answer, tuple(names), session)
    assert (back.id, back.time, back.frame_sha256) == (seen.id, time, seen.frame_sha256)
    assert back.expires_after == 60
    assert back.thumbnail_sha256 is not None
    assert len(draft.pictures) == len(draft.perceptual_hashes) == len(draft.entry.picture_sha256) == 2


@settings(deadline=None, max_examples=20)
@given(TEXTS, TEXTS)
def test_without_texts_nothing_said_is_kept(question, answer):
    seen = Sighting("a" * 32, 1, b"h" * 32, "", question, answer, ("Velmora",))
    draft = drafted(Seen(seen, PICTURE, nothing), 1, MemoryOptions(memory_texts=False), FakeTextEncoder())
    assert (draft.entry.text, list(draft.chunks)) == ("", ["Velmora"])


@pytest.mark.parametrize(
    "question",
    [
        "When did I last see this?",
        "when was the last time I saw the Velmora",
        "How long ago did we see it?",
        "Have I seen this before?",
        "Have I ever seen a car like this?",
        "Did we see that one already?",
        "When have I looked at this?",
        "Do you know when we last looked at it?",
        "When did I last look at this?",
        "Have I ever looked at this?",
        "When I saw this last?",
        "Do you know when I saw this, please?",
        "How long ago is it that I've seen this?",
    ],
)
def test_questions_for_a_sighting(question):
    assert asks_for_sighting(question)


@pytest.mark.parametrize(
    "question",
    [
        "When was the Velmora first seen?",
        "What do I see here?",
        "When was it made? I see nothing.",
        "How much does this cost?",
        "When can we eat at the sea?",
        "When can I see this again?",
        "When was the tower built that I see here?",
        "Who saw it before?",
        "When I saw it, what did it cost?",
        "When we last looked at it, was it open?",
    ],
)
def test_other_questions_are_for_the_policy(question):
    assert not asks_for_sighting(question)


@pytest.mark.parametrize("words", ["when " * 100 + "I " * 740, "when I " * 290, "did I see " * 190])
def test_a_question_that_only_begins_like_one_for_a_sighting_is_no_work(words):
    before = thread_time()
    assert not asks_for_sighting(words[:2000])
    assert thread_time() - before < 1  # it took seconds when each word was tried with each other one


NOW = datetime(2026, 11, 21, 14, 5, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(minutes=1), "today at 14:04"),
        (timedelta(hours=-1), "today at 15:05"),
        (timedelta(days=-1), "on 22 November at 14:05"),
        (timedelta(hours=15), "yesterday at 23:05"),
        (timedelta(days=2), "on Thursday at 14:05"),
        (timedelta(days=6), "on Sunday at 14:05"),
        (timedelta(days=7), "on 14 November at 14:05"),
        (timedelta(days=365), "on 21 November 2025 at 14:05"),
    ],
)
def test_times_are_said_as_people_do(ago, said):
    assert said_time(NOW - ago, NOW) == said


def test_what_is_told_is_one_piece_of_evidence():
    time = int((NOW - timedelta(days=2)).timestamp())
    seen = Sighting("turn", time, b"h" * 32, "", "What is it?", "A car. " * 100, ("Velmora", "Tagrin"))
    told = told_sighting(SightingHit(seen, 0.75), NOW)
    assert told.text.startswith('You last saw this (Velmora) on Thursday at 14:05. You asked "What is it?", and ')
    assert told.text.endswith('A c…".')
    assert len(told.text) < 320
    assert (told.entry_id, told.origin, told.search_score, told.used) == ("turn", Origin.MEMORY, 0.75, True)
    assert (
        told_sighting(SightingHit(Sighting("t", time, b""), 1.0), NOW).text == "You last saw this on Thursday at 14:05."
    )


@pytest.fixture
def summer_time(monkeypatch):
    """A time zone whose clocks change twice a year."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


async def test_a_sighting_from_before_the_clocks_were_changed_has_the_time_that_they_showed(summer_time):
    now = int(time.time())
    days = (now - 86_400 * days for days in range(10, 366))
    then = next(day for day in days if time.localtime(day).tm_gmtoff != time.localtime(now).tm_gmtoff)

    class Index:
        async def by_picture(self, *_):
            return [SightingHit(Sighting("t", then, b"h" * 32), 1.0)]

    resources = replace(World().resources, memory=Index())
    asked = replace(turn("When did I last see this?"), recall=True)
    journal = Journal(lambda _: None)
    draft = await recall(asked, StepRunner(Budget(60), resources, journal, "the test"), resources, journal)
    assert draft is not None
    assert draft.text.endswith(time.strftime(" at %H:%M.", time.localtime(then)))


def test_recognised_is_what_the_picture_search_showed():
    def found(origin, title, used=True):
        return Evidence("1", origin, "e", title, "text", used=used)

    shown = [
        found(Origin.IMAGE_SEARCH, "Velmora"),
        found(Origin.IMAGE_SEARCH, "Velmora"),
        found(Origin.IMAGE_SEARCH, "Tagrin", used=False),
        found(Origin.TEXT_SEARCH, "Orvex"),
        found(Origin.IMAGE_SEARCH, ""),
    ]
    assert recognised(shown) == ("Velmora",)
