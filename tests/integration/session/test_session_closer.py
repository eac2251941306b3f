"""Thumbnails whose words are too small: a sharper part is asked for, waited for, and put in its place."""

import hashlib
import io
import random

import numpy as np
import pytest
from PIL import Image

from quizglass.session import FrameBegin, FrameState, FrameStatus, NeedFrame, Role
from quizglass.values import Region
from quizglass_client import AsyncSession
from quizglass_client.pictures import cut_out
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.scenes import make_scene
from quizglass_lab.pocketworld.world import make_world
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.admission import Admission
from quizglass_server.session.coaching.closer import sharpened
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.session_links import opened, parts, question

SIDE, FULL_SIDE = 224, 896


@pytest.fixture(scope="module")
def signed():
    """A scene with a sign."""
    thing = next(each for each in make_world(7, 60).things if each.look.kind not in ("book", "packet"))
    return draw_scene(make_scene([thing], random.Random(3), sign="open daily", fault_share=0.0), FULL_SIDE)


def jpeg(image):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92)
    return out.getvalue()


def closer(done):
    """Why no closer look was had."""
    return [each.reason for each in done.skipped if each.step == "look_closer"]


async def send(link, data, **begin):
    name = hashlib.sha256(data).digest()
    await link.say(FrameBegin(name, len(data), **begin), *parts(data))
    await link.until(FrameStatus, lambda each: each.sha256 == name and each.state is FrameState.HELD)
    return name


async def test_the_client_answers_from_the_picture_it_has_in_full(tmp_path, signed):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        frame = await session.show(jpeg(signed), thumbnail=SIDE)
        turn = await session.ask("What does the sign say?", frame=frame)
        said = [each async for each in turn]
        needs = [each.frames[0] for each in said if isinstance(each, NeedFrame)]
        assert [need.sha256 for need in needs if need.region is not None] == [frame]
        assert not closer((await turn.answer()).done)
        (asked,) = stage.assistant.turns
        (need,) = [need for need in needs if need.region is not None]
        longer = max(need.region.right - need.region.left, need.region.bottom - need.region.top)
        assert asked.picture.width == pytest.approx(min(FULL_SIDE, need.least_side / longer), rel=0.02)


async def test_the_part_that_is_asked_for_is_the_box_of_the_low_lines_with_their_height_around(tmp_path, signed):
    thumbnail = jpeg(signed.resize((SIDE, SIDE)))
    async with serving(tmp_path, frame_wait_s=0.1) as stage, opened(stage.target) as (said, _):
        low, lower = Region(0.5, 0.5, 0.75, 0.5625), Region(0.25, 0.5, 0.5, 0.53125)  # 14 and 7 of 224 pixels
        stage.assistant.lines = [Region(0.0, 0.0, 1.0, 0.25), low, lower]
        name = await send(said, thumbnail, role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        need = (await said.until(NeedFrame)).frames[0]
        assert need.region == Region(0.1875, 0.4375, 0.8125, 0.625)
        assert need.least_side == 480  # 140 of 224 pixels, of which the lowest line has 7: so it will have 24
        assert closer(await said.done("a")) == ["NO_FRAME"]


async def test_lines_that_are_high_enough_are_read_as_they_are(tmp_path, signed):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        stage.assistant.lines = [Region(0.25, 0.25, 0.75, 0.5)]
        name = await send(said, jpeg(signed.resize((SIDE, SIDE))), role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        assert not closer(await said.done("a"))
        assert not [each for _, each in said.heard if isinstance(each, NeedFrame)]


async def test_a_sharper_frame_that_comes_while_the_thumbnail_is_looked_at_is_not_waited_for(
    tmp_path, signed, monkeypatch
):
    gate = Gate()

    async def lines_in(*_):
        await gate()
        return [Region(0.5, 0.5, 0.75, 0.5625)]

    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        monkeypatch.setattr(stage.assistant, "lines_in", lines_in)
        name = await send(said, jpeg(signed.resize((SIDE, SIDE))), role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        await gate.reached.wait()
        await send(said, jpeg(signed), role=Role.FULL, parent=name)
        gate.open.set()
        assert not closer(await said.done("a"))
        assert not [each for _, each in said.heard if isinstance(each, NeedFrame)]
        assert stage.assistant.turns[0].picture.width == FULL_SIDE


async def test_a_sharper_frame_that_comes_before_its_thumbnail_does_not_end_the_wait_for_that(tmp_path, signed):
    thumbnail, full = jpeg(signed.resize((SIDE, SIDE))), jpeg(signed)
    name = hashlib.sha256(thumbnail).digest()
    async with serving(tmp_path, frame_wait_s=60) as stage, opened(stage.target) as (said, _):
        await said.say(question("a", "What does it say?", name))
        assert (await said.until(NeedFrame)).frames[0].sha256 == name
        frame = await send(said, full, role=Role.FULL, parent=name)
        await said.say(FrameBegin(frame, len(full), role=Role.FULL, parent=name))  # once more, as after a lost link
        await send(said, thumbnail, role=Role.THUMBNAIL)
        assert not closer(await said.done("a"))
        assert stage.assistant.turns[0].picture.width == FULL_SIDE


async def test_a_whole_frame_that_is_there_is_taken_as_soon_as_it_is_called_the_sharper_one(tmp_path, signed):
    thumbnail, full = jpeg(signed.resize((SIDE, SIDE))), jpeg(signed)
    async with serving(tmp_path, frame_wait_s=600) as stage, opened(stage.target) as (said, _):
        stage.assistant.lines = [Region(0.5, 0.5, 0.75, 0.5625)]
        await send(said, full, role=Role.FULL)
        name = await send(said, thumbnail, role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        await said.until(NeedFrame)
        await said.say(FrameBegin(hashlib.sha256(full).digest(), len(full), role=Role.FULL, parent=name))
        assert not closer(await said.done("a"))
        assert stage.assistant.turns[0].picture.width == FULL_SIDE


async def test_a_frame_that_never_comes_leaves_nothing_behind(tmp_path):
    async with serving(tmp_path, frame_wait_s=0.1) as stage, opened(stage.target) as (said, there):
        await said.say(question("a", "What?", bytes(32)))
        assert (await said.notice()).reason == "NOT_FOUND"
        session = stage.rpc.sessions.get(there.session_id, 0)
        assert session._frames._arrivals == {}


@pytest.mark.parametrize(("side", "asked"), [(0.25, True), (0.75, False)])
async def test_a_small_thing_that_the_question_names_is_asked_for(tmp_path, side, asked):
    async with serving(tmp_path, frame_wait_s=0.1) as stage, opened(stage.target) as (said, _):
        stage.assistant.things = [Region(0.125, 0.125, 0.125 + side, 0.125 + side), Region(0.0, 0.0, 0.1, 0.1)]
        name = await send(said, png(200, 200), role=Role.THUMBNAIL)
        await said.say(question("a", "Who made this car?", name))
        assert (closer(await said.done("a")) == ["NO_FRAME"]) is asked
        needs = [each.frames[0] for _, each in said.heard if isinstance(each, NeedFrame)]
        assert [need.region for need in needs] == stage.assistant.things[:1] * asked
        assert all(need.least_side == 128 for need in needs)


async def test_where_a_crop_would_be_nearly_all_of_it_the_whole_frame_is_asked_for(tmp_path, signed):
    async with serving(tmp_path, frame_wait_s=0.1) as stage, opened(stage.target) as (said, _):
        stage.assistant.lines = [Region(0.125, 0.0, 0.875, 0.0625), Region(0.125, 0.9375, 0.875, 1.0)]  # of 14 pixels
        name = await send(said, jpeg(signed.resize((SIDE, SIDE))), role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        need = (await said.until(NeedFrame)).frames[0]
        assert (need.region, need.least_side) == (Region(0.0, 0.0, 1.0, 1.0), 384)


async def test_the_client_sends_the_whole_where_the_part_would_be_more_bytes(tmp_path):
    coarse = io.BytesIO()
    Image.effect_noise((200, 200), 60).convert("RGB").save(coarse, "JPEG", quality=20)
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        frame = await session.show(coarse.getvalue(), thumbnail=100)
        assert not closer((await (await session.ask("What is this?", frame=frame)).answer()).done)
        (asked,) = stage.assistant.turns
        assert asked.picture.sha256 == hashlib.sha256(coarse.getvalue()).digest()


async def test_a_thumbnail_without_a_permit_takes_no_engine(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        name = await send(said, png(200, 200), role=Role.THUMBNAIL)
        stage.assistant.admission = Admission(1, 0)
        async with stage.assistant.admission.admit():
            await said.say(question("a", "What does it say?", name))
            assert (await said.notice()).reason == "OVERLOADED"
        assert stage.assistant.gated == []


async def test_words_of_a_thumbnail_are_looked_for_once_for_all_questions(tmp_path, signed, monkeypatch):
    located = []

    async def lines_in(picture, part):
        located.append(picture.sha256)
        return [Region(0.25, 0.25, 0.75, 0.5)]

    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        monkeypatch.setattr(stage.assistant, "lines_in", lines_in)
        name = await send(said, jpeg(signed.resize((SIDE, SIDE))), role=Role.THUMBNAIL)
        for id in ("a", "b"):
            await said.say(question(id, "What does it say?", name))
            await said.done(id)
        assert located == stage.assistant.gated == [name]


async def test_a_turn_goes_on_where_the_close_up_advisor_fails(tmp_path, signed, monkeypatch):
    async def failing(*_):
        raise EngineFailed("the reader failed")

    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        monkeypatch.setattr(stage.assistant, "lines_in", failing)
        name = await send(said, jpeg(signed.resize((SIDE, SIDE))), role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        assert (await said.done("a")).answer == "45 crowns"


async def test_without_an_answer_the_turn_goes_on_and_the_late_crop_serves_the_next_question(tmp_path, signed):
    async with serving(tmp_path, frame_wait_s=0.1) as stage, opened(stage.target) as (said, _):
        name = await send(said, jpeg(signed.resize((SIDE, SIDE))), role=Role.THUMBNAIL)
        await said.say(question("a", "What does it say?", name))
        need = await said.until(NeedFrame)
        assert closer(await said.done("a")) == ["NO_FRAME"]
        region = need.frames[0].region
        box = [side * FULL_SIDE for side in (region.left, region.top, region.right, region.bottom)]
        await send(said, jpeg(signed.crop(tuple(box))), role=Role.CROP, parent=name, region=region)
        await said.say(question("b", "And what does it say now?", name))
        assert not closer(await said.done("b"))
        assert [turn.picture.width for turn in stage.assistant.turns] == [SIDE, FULL_SIDE]
        assert len([each for _, each in said.heard if isinstance(each, NeedFrame)]) == 1


async def test_a_thumbnail_without_words_and_a_frame_that_is_none_are_looked_at_as_they_are(tmp_path, signed):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        plain = await send(said, png(200, 200), role=Role.THUMBNAIL)
        small = await send(said, jpeg(signed.resize((SIDE, SIDE))))
        for id, name in (("a", plain), ("b", small)):
            await said.say(question(id, "What is this?", name))
            assert not closer(await said.done(id))
        assert not [each for _, each in said.heard if isinstance(each, NeedFrame)]


@pytest.mark.parametrize("region", [Region(0.5, 0, 0.4, 1), Region(-1, 0, 1, 1), Region(0, 0, 1, float("nan"))])
async def test_a_region_that_is_no_part_of_a_picture_is_refused(tmp_path, region):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        await said.say(FrameBegin(bytes(32), 10, role=Role.CROP, parent=bytes(32), region=region))
        assert (await said.notice()).field == "frame_begin.region"


@pytest.mark.parametrize(("side", "size"), [(0, (448, 224)), (128, (128, 64)), (1000, (448, 224))])
def test_the_client_sends_no_more_of_a_part_than_is_asked_for(signed, side, size):
    part = cut_out(jpeg(signed), Region(0.5, 0.25, 1.0, 0.5), side)
    assert Image.open(io.BytesIO(part)).size == size


def test_a_sharper_part_lies_where_it_belongs():
    whole, part = np.zeros((100, 200, 3), np.uint8), np.full((150, 300, 3), 255, np.uint8)
    picture = sharpened(whole, part, Region(0.5, 0.0, 1.0, 0.5))
    assert picture.shape == (300, 600, 3)
    assert picture[:150, 300:].min() == 255
    assert not picture[150:].any()
    assert Image.fromarray(picture).size == (600, 300)
