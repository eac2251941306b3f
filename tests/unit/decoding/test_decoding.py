"""Pictures decoded in processes of their own: equal pixels, bounded time and memory, ended when no request waits."""

import asyncio
import errno
import io
import os
import signal
import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.hostile import inputs
from quizglass.picture_files import rgb
from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import KEPT_PIXELS, read_header
from quizglass.picture_files.rgb import Decoded
from quizglass.picture_files.structure import MOST_SCANS, read_structure
from quizglass_server.config.load import Settings
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding import decoder as decoder_module
from quizglass_server.decoding import process as process_module
from quizglass_server.decoding import worker
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.decoding.pictures import decode_picture, is_quick
from quizglass_server.errors import BudgetExceeded, InvalidPicture, Overloaded
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.memory import WorkMemory
from tests.support.processes import computing, no_descriptors

LIMITS = PictureLimits()
FIELD = "frames[0].encoded"
MIB = 1 << 20


@pytest.fixture
def work() -> WorkMemory:
    return WorkMemory(768 * MIB)


@pytest.fixture
async def decoder(work: WorkMemory) -> AsyncIterator[PictureDecoder]:
    made = PictureDecoder(LIMITS, work)
    yield made
    await made.close()


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """A picture in which every pixel differs from its neighbours."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, bands), dtype=np.uint8)
    return Image.fromarray(pixels.squeeze() if bands == 1 else pixels, mode)


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def sixteen_bits(colour: int, channels: int) -> bytes:
    rows = np.random.default_rng(1).integers(0, 256, (700, 1 + 900 * 2 * channels), dtype=np.uint8)
    rows[:, 0] = 0
    header = struct.pack(">IIBBBBB", 900, 700, 16, colour, 0, 0, 0)
    body = inputs.chunk(b"IDAT", zlib.compress(rows.tobytes(), 1))
    return b"\x89PNG\r\n\x1a\n" + inputs.chunk(b"IHDR", header) + body + inputs.chunk(b"IEND", b"")


@cache
def usual() -> bytes:
    return encoded(noise(900, 700), "PNG")


@cache
def files() -> dict[str, bytes]:
    """A picture of 900 x 700 pixels in every form that is read."""
    return {
        "JPEG": encoded(noise(900, 700), "JPEG"),
        "progressive JPEG": encoded(noise(900, 700), "JPEG", progressive=True),
        "grey JPEG": encoded(noise(900, 700, "L"), "JPEG"),
        "CMYK JPEG": encoded(noise(900, 700, "CMYK"), "JPEG"),
        **{f"JPEG turned {n}": encoded(noise(900, 700), "JPEG", exif=turned(n)) for n in range(2, 9)},
        "MPO": encoded(noise(900, 700), "MPO", save_all=True, append_images=[noise(900, 700)]),
        "PNG": usual(),
        "PNG RGBA": encoded(noise(900, 700, "RGBA"), "PNG"),
        "PNG LA": encoded(noise(900, 700, "LA"), "PNG"),
        "PNG with a transparent colour": encoded(noise(900, 700), "PNG", transparency=(1, 2, 3)),
        "PNG palette": encoded(noise(900, 700).quantize(200), "PNG", transparency=3),
        "PNG 1 bit": encoded(noise(900, 700).convert("1"), "PNG"),
        "PNG turned": encoded(noise(900, 700, "RGBA"), "PNG", exif=turned(6)),
        "PNG of 16 bits, grey": sixteen_bits(0, 1),
        "PNG of 16 bits, RGB": sixteen_bits(2, 3),
        "PNG of 16 bits, grey and alpha": sixteen_bits(4, 2),
        "PNG of 16 bits, RGBA": sixteen_bits(6, 4),
        "WebP": encoded(noise(900, 700), "WEBP"),
        "WebP with alpha": encoded(noise(900, 700, "RGBA"), "WEBP", lossless=True),
    }


@cache
def bombs() -> dict[str, bytes]:
    return inputs.bombs(1800)


BOMBS = list(inputs.bombs(1))
"""Their names."""


def slow_picture() -> bytes:
    """The dearest that is accepted."""
    return inputs.scan_bomb(inputs.SIDE, MOST_SCANS)


def whole(data: bytes) -> np.ndarray:
    """The picture converted as a whole, as it was before pictures were decoded in strips."""
    from PIL import ImageOps

    with Image.open(io.BytesIO(data)) as image:
        image.load()
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I;16"):
            grey = (np.asarray(image, dtype=np.uint32) >> 8).clip(0, 255).astype(np.uint8)
            return np.repeat(grey[:, :, None], 3, axis=2)
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            layered = image.convert("RGBA")
            image = Image.new("RGBA", layered.size, "white")
            image.alpha_composite(layered)
        return np.asarray(image.convert("RGB"))


async def test_pixels_are_those_of_the_picture_converted_as_a_whole(decoder: PictureDecoder) -> None:
    for name, data in files().items():
        expected = whole(data)
        found = await decoder.decode(data, FIELD)
        assert np.array_equal(found.pixels, expected), name
        assert np.array_equal(decode_picture(data, LIMITS, FIELD).pixels, expected), name
        assert not found.pixels.flags.writeable
        assert read_header(data).pixels == 900 * 700


async def test_what_cannot_be_used_is_refused_by_its_field(decoder: PictureDecoder) -> None:
    cut = usual()[:-5000]
    for data, why in ((cut, "damaged"), (b"no picture", "not a picture"), (b"", "0 bytes")):
        with pytest.raises(InvalidPicture, match=why) as caught:
            await decoder.decode(data, FIELD)
        assert caught.value.field == FIELD
    assert (await decoder.decode(usual(), FIELD)).width == 900


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (inputs.scan_bomb(1000, 20_000), f"more than {MOST_SCANS} scans"),
        (inputs.scan_bomb(400, 10_000), f"more than {MOST_SCANS} scans"),
        (inputs.fill_bytes(8_000_000), "damaged"),
        (inputs.many_chunks(40_000), "chunks"),
        (inputs.many_markers(50_000), "segments"),
    ],
    ids=["scans", "scans of a small picture", "fill bytes", "chunks", "markers"],
)
async def test_files_that_are_long_to_parse_are_refused_at_once(decoder: PictureDecoder, data: bytes, why: str) -> None:
    assert not is_quick(data)
    with pytest.raises(InvalidPicture, match=why) as caught:
        await decoder.decode(data, FIELD)
    assert caught.value.field == FIELD
    with pytest.raises(InvalidPicture, match=why):
        decode_picture(data, LIMITS, FIELD)


def test_scans_are_counted_as_decoders_see_them() -> None:
    def count_scans(data: bytes) -> int:
        return read_structure("JPEG", data).passes

    progressive = files()["progressive JPEG"]
    assert count_scans(progressive) == 10
    assert count_scans(files()["JPEG"]) == count_scans(files()["MPO"]) == 1
    thumbnail = encoded(noise(64, 64), "JPEG", comment=b"\xff\xda" * 1000)
    assert count_scans(thumbnail + b"\xff\xda" * 1000) == 1, "neither in segments nor behind the end"
    with pytest.raises(BadPicture):
        count_scans(inputs.scan_bomb(64, MOST_SCANS + 1))
    assert count_scans(inputs.scan_bomb(64, MOST_SCANS)) == MOST_SCANS


async def test_a_picture_of_many_scans_is_decoded_within_its_time(decoder: PictureDecoder) -> None:
    found = await decoder.decode(inputs.scan_bomb(400, MOST_SCANS), FIELD)
    assert (found.width, found.height) == (400, 400)


async def test_larger_pictures_are_kept_at_a_fraction_of_their_sides(decoder: PictureDecoder) -> None:
    picture = Image.new("RGB", (4200, 2800), "red")
    picture.paste("blue", (1400, 700, 4200, 2800))
    for format in ("PNG", "JPEG"):
        found = await decoder.decode(encoded(picture, format), FIELD)
        assert (found.width, found.height) == (2100, 1400)
        assert found.width * found.height <= KEPT_PIXELS
        difference = np.abs(found.pixels.astype(int) - np.asarray(picture.reduce(2)).astype(int))
        assert difference.mean() < 2
    exact = await decoder.decode(encoded(Image.new("RGB", (3840, 2160)), "PNG"), FIELD)
    assert (exact.width, exact.height) == (3840, 2160)


async def test_decoders_are_of_the_servers_session_beside_which_their_niceness_counts(decoder: PictureDecoder) -> None:
    decoder.start()
    for pid in decoder.pids:
        assert os.getsid(pid) == os.getsid(0)
        assert os.getpgid(pid) == pid  # a Ctrl-C in the terminal does not reach it


async def test_a_large_picture_for_which_there_is_no_room_is_not_refused_at_once(
    decoder: PictureDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder_module, "SOON_S", 0.0)
    monkeypatch.setattr(decoder_module, "_MOST_WAITING", 0)
    monkeypatch.setattr(decoder_module, "_REFUSAL_S", 1e6)
    with due_within(1e9):
        refused = asyncio.create_task(decoder.decode(encoded(noise(64, 64), "PNG"), FIELD, sha256=bytes(32)))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not refused.done()
    refused.cancel()
    monkeypatch.setattr(decoder_module, "_REFUSAL_S", 0.0)
    with due_within(1e9), pytest.raises(Overloaded, match="wait to be decoded"):
        await decoder.decode(encoded(noise(64, 64), "PNG"), FIELD)


async def test_a_cancelled_picture_ends_its_process_and_the_next_one_is_decoded(
    decoder: PictureDecoder, monkeypatch: pytest.MonkeyPatch, work: WorkMemory
) -> None:
    monkeypatch.setattr(decoder_module, "_PATIENCE_S", 0)
    decoder.start()
    before = decoder.pids
    slow = asyncio.create_task(decoder.decode(slow_picture(), FIELD))
    await _under_way(work)
    await computing(before[1])
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    await _idle(work)
    assert before[1] not in decoder.pids
    assert before[0] in decoder.pids
    assert (await decoder.decode(usual(), FIELD)).width == 900
    await _ended(before[1])


async def test_a_picture_is_not_decoded_beyond_the_deadline(
    decoder: PictureDecoder, monkeypatch: pytest.MonkeyPatch, work: WorkMemory
) -> None:
    monkeypatch.setattr(decoder_module, "_PATIENCE_S", 0)
    decoder.start()
    before = decoder.pids
    with due_within(0.5), pytest.raises(BudgetExceeded):
        await decoder.decode(slow_picture(), FIELD)
    await _idle(work)
    assert before[1] not in decoder.pids, "its process was ended"


async def test_ordinary_pictures_do_not_wait_for_slow_ones(decoder: PictureDecoder, work: WorkMemory) -> None:
    slow = [asyncio.create_task(decoder.decode(slow_picture(), FIELD)) for _ in range(3)]
    await _under_way(work)
    assert (await decoder.decode(usual(), FIELD)).width == 900
    assert not any(task.done() for task in slow)
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)


async def test_abandoned_pictures_keep_no_others_out(decoder: PictureDecoder, work: WorkMemory) -> None:
    lane = decoder._slow
    async with work.admit(work.largest):  # the first waits for memory and the rest for the first
        waiting = [asyncio.create_task(lane.decode(b"", work.largest, 1.0)) for _ in range(100)]
        async with asyncio.timeout(120):
            while not lane.full:  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0)
            for task in waiting[1:]:
                task.cancel()
            while lane.full:  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_what_takes_too_much_processor_time_is_refused(
    decoder: PictureDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "CPU_S", 0)
    with pytest.raises(InvalidPicture, match="to decode"):
        await decoder.decode(slow_picture(), FIELD)
    assert (await decoder.decode(usual(), FIELD)).width == 900


async def test_too_little_memory_is_no_fault_of_the_picture() -> None:
    data = inputs.webp(4000)
    process = process_module.DecoderProcess()
    try:
        with pytest.raises(OutOfMemory, match=r"\w"):  # the log says what the process said
            await process.decode(data, 1)
        assert (await process.decode(data, read_header(data).memory(len(data)))).width == 2000
    finally:
        process.end()


def test_a_system_without_room_for_the_pixels_makes_no_damaged_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(worker.os, "write", full)
    with pytest.raises(OutOfMemory):
        rgb.checked(lambda: worker._written(Decoded(1, 1, iter([Image.new("RGB", (1, 1))]))))


async def test_a_process_that_the_system_ends_for_want_of_memory_is_no_fault_of_the_picture(
    decoder: PictureDecoder, work: WorkMemory
) -> None:
    decoder.start()
    victim = decoder.pids[1]
    slow = asyncio.create_task(decoder.decode(slow_picture(), FIELD))
    await _under_way(work)
    await computing(victim)
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(Overloaded):
        await slow
    assert work.used == 0
    assert (await decoder.decode(inputs.webp(2000), FIELD)).width == 2000


async def test_a_process_that_died_while_idle_is_noticed(decoder: PictureDecoder) -> None:
    decoder.start()
    for pid in decoder.pids:
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert (await decoder.decode(usual(), FIELD)).width == 900


async def test_a_server_without_descriptors_does_not_wait_for_the_end_of_a_process_that_lives(
    decoder: PictureDecoder,
) -> None:
    picture = usual()
    await asyncio.to_thread(bytes)  # a thread that may wait, as servers have
    decoder.start()
    before = decoder.pids
    with no_descriptors(), pytest.raises(Overloaded, match="no memory to decode"):
        await decoder.decode(picture, FIELD)
    assert (await decoder.decode(picture, FIELD)).width == 900
    assert decoder.pids == before


async def test_pixels_are_counted_until_they_are_freed(decoder: PictureDecoder, work: WorkMemory) -> None:
    picture = await decoder.decode(usual(), FIELD)
    assert work.used == 900 * 700 * 3
    part = picture.pixels[:10]
    del picture
    assert work.used == 900 * 700 * 3
    del part
    assert work.used == 0


async def test_a_picture_that_can_never_be_decoded_here_says_so(work: WorkMemory) -> None:
    decoder = PictureDecoder(LIMITS, WorkMemory(64 * MIB))
    with pytest.raises(InvalidPicture, match="more than this server has for pictures"):
        await decoder.decode(inputs.webp(inputs.SIDE), FIELD)
    await decoder.close()


@pytest.mark.parametrize("name", BOMBS)
async def test_decoding_stays_within_what_it_asked_for(name: str) -> None:
    data = bombs()[name]
    header = read_header(data)
    process = process_module.DecoderProcess()
    try:
        await process.decode(usual(), 64 * MIB)
        before = _peak(process.pid)
        await process.decode(data, header.memory(len(data)))
        assert _peak(process.pid) - before <= header.memory(len(data))
    finally:
        process.end()


@pytest.mark.parametrize("name", BOMBS)
def test_the_default_has_room_for_the_largest_picture_that_is_accepted(name: str) -> None:
    header = replace(read_header(bombs()[name]), width=inputs.SIDE, height=inputs.SIDE)
    work = WorkMemory(Settings.model_fields["work_memory_bytes"].default)
    assert header.memory(LIMITS.max_frame_bytes) <= work.largest
    assert work.total <= 1024 * MIB


async def test_processes_end_with_the_decoder(work: WorkMemory) -> None:
    decoder = PictureDecoder(LIMITS, work)
    decoder.start()
    pids = decoder.pids
    assert len(pids) == 2
    slow = asyncio.create_task(decoder.decode(slow_picture(), FIELD))
    await _under_way(work)
    await decoder.close()
    with pytest.raises(asyncio.CancelledError):
        await slow
    for pid in pids:
        await _ended(pid)
    assert work.used == 0


async def test_a_closed_decoder_starts_no_process(work: WorkMemory) -> None:
    decoder = PictureDecoder(LIMITS, work)
    await decoder.close()
    with pytest.raises(Overloaded):
        await decoder.decode(usual(), FIELD)
    assert not decoder.pids
    assert work.used == 0


def _peak(pid: int | None) -> int:
    """Most memory that a process ever had, bytes."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


async def _under_way(work: WorkMemory) -> None:
    """Wait until something is decoded."""
    while not work.used:  # noqa: ASYNC110  # nothing tells
        await asyncio.sleep(0.01)


async def _idle(work: WorkMemory) -> None:
    """Wait until nothing is decoded."""
    while work.used:  # noqa: ASYNC110  # nothing tells
        await asyncio.sleep(0.01)


async def _ended(pid: int) -> None:
    """Wait until a process is gone."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
