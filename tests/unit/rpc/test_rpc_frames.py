"""Frames: decoded once per content, held for a while by their hash, bounded in memory."""

import hashlib

import pytest

from quizglass.v1 import types_pb2
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.errors import InvalidInput, InvalidPicture, NotFound
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.scheduling.clients import Client, asked_by
from quizglass_server.scheduling.memory import WorkMemory
from tests.support.rpc_fakes import png

FIELD, PEER = "frames[0]", "ipv4:127.0.0.1:50001"


@pytest.fixture
async def made():
    """Makes stores; what they decode with is ended afterwards."""
    work = WorkMemory(768 << 20)
    decoder = PictureDecoder(PictureLimits(), work)
    yield lambda *options: FrameStore(decoder, work, *options)
    await decoder.close()


@pytest.fixture
def store(made):
    return made()


async def test_the_same_bytes_are_decoded_once(store):
    frame = types_pb2.Frame(encoded=png())
    assert await store.picture(frame, FIELD, PEER) is await store.picture(frame, FIELD, PEER)


async def test_another_address_learns_nothing_from_a_picture_that_was_sent_before(made):
    store, frame, name = made(), types_pb2.Frame(encoded=png()), hashlib.sha256(png()).digest()
    with asked_by(Client("192.0.2.1", "a")):
        own = await store.picture(frame, FIELD, PEER)
        assert store.held(name) is own
    with asked_by(Client("192.0.2.1", "b")):  # the same glasses over another connection
        assert await store.picture(frame, FIELD, PEER) is own
    with asked_by(Client("192.0.2.2", "a")):
        assert store.held(name) is None
        other = await store.picture(frame, FIELD, PEER)
        assert other is not own
        assert (other.sha256, other == own, other.key == own.key) == (own.sha256, False, False)
        assert other.part(0, 0, 8, 8).key != own.part(0, 0, 8, 8).key
        assert store.forget(name)
    with asked_by(Client("192.0.2.1", "a")):
        assert store.held(name) is own


async def test_a_held_frame_is_found_by_its_hash(store):
    first = await store.picture(types_pb2.Frame(encoded=png()), FIELD, PEER)
    named = types_pb2.Frame(sha256=hashlib.sha256(png()).digest())
    assert await store.picture(named, FIELD, PEER) is first


async def test_an_unknown_hash_is_not_found(store):
    with pytest.raises(NotFound, match="send its bytes"):
        await store.picture(types_pb2.Frame(sha256=bytes(32)), FIELD, PEER)


async def test_the_hash_of_a_frame_of_another_connection_is_not_found(store):
    await store.picture(types_pb2.Frame(encoded=png()), FIELD, PEER)
    named = types_pb2.Frame(sha256=hashlib.sha256(png()).digest())
    with pytest.raises(NotFound, match="send its bytes"):
        await store.picture(named, FIELD, "ipv4:127.0.0.1:50002")


async def test_a_hash_of_the_wrong_length_is_refused(store):
    with pytest.raises(InvalidInput) as caught:
        await store.picture(types_pb2.Frame(sha256=b"short"), FIELD, PEER)
    assert caught.value.field == "frames[0].sha256"


async def test_a_frame_of_nothing_is_refused(store):
    with pytest.raises(InvalidInput) as caught:
        await store.picture(types_pb2.Frame(age_us=5), FIELD, PEER)
    assert caught.value.field == "frames[0]"


async def test_a_frame_of_no_bytes_is_refused_as_a_picture(store):
    with pytest.raises(InvalidPicture) as caught:
        await store.picture(types_pb2.Frame(encoded=b""), FIELD, PEER)
    assert caught.value.field == "frames[0].encoded"


async def test_the_oldest_frames_make_room(made):
    size = 64 * 48 * 3
    store = made(2 * size)
    red, blue, green = (png(colour=colour) for colour in ("red", "blue", "green"))
    await store.picture(types_pb2.Frame(encoded=red), FIELD, PEER)
    held = await store.decode(blue, FIELD)
    again = await store.decode(red, FIELD)
    await store.decode(green, FIELD)
    assert await store.picture(types_pb2.Frame(sha256=again.sha256), FIELD, PEER) is again
    with pytest.raises(NotFound):
        await store.picture(types_pb2.Frame(sha256=held.sha256), FIELD, PEER)


async def test_a_frame_larger_than_the_memory_is_not_held(made):
    store = made(100)
    picture = await store.decode(png(), FIELD)
    with pytest.raises(NotFound):
        await store.picture(types_pb2.Frame(sha256=picture.sha256), FIELD, PEER)
