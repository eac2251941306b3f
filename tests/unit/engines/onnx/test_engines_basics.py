"""Parts of the engines and models that need no model file."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.prompts import PromptTemplate, PromptTokenizer, encode_within
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.plugins import PLUGINS
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.providers import InputRange, choose, confirm, options
from quizglass_server.errors import EngineFailed, SettingsError
from quizglass_server.roles.reader import in_reading_order
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.text_encoder import pooled
from quizglass_server.scheduling.clock import EngineClock, measured_engine, record_engine, stage_clock
from quizglass_server.scheduling.priority import Priority, at_priority
from tests.support.bundles.tiny_models import write_tokenizer
from tests.support.clock import Clock

CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"


def test_cache_forgets_what_was_used_longest_ago() -> None:
    cache = BoundedCache[str, str](2)
    cache.put("a", "1")
    cache.put("b", "2")
    cache.get("a")
    cache.put("c", "3")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("1", None, "3")


def test_cache_tells_what_was_put_last() -> None:
    cache = BoundedCache[str, str](3)
    for key in ("a", "b", "c", "a"):
        cache.put(key, key.upper())
    assert list(cache.newest(2).items()) == [("c", "C"), ("a", "A")]
    assert list(cache.newest(9)) == ["b", "c", "a"]


def test_cache_is_bounded_by_cost() -> None:
    cache = BoundedCache[str, bytes](10, len)
    cache.put("a", b"12345678")
    cache.put("a", b"12")
    cache.put("b", b"12345678")
    assert len(cache) == 2
    cache.put("c", b"12345678901")
    assert (cache.get("a"), cache.get("c"), len(cache)) == (b"12", None, 2), "what is too large drops no other"


def test_automatic_provider_prefers_the_fastest_available() -> None:
    assert choose("auto", [CPU, CUDA]) == [CUDA, CPU]
    assert choose("auto", [CPU, CUDA, TENSORRT]) == [TENSORRT, CUDA, CPU]


def test_a_named_provider_must_be_there() -> None:
    with pytest.raises(SettingsError, match=r"'\.\[gpu\]'"):
        choose("cuda", [CPU])
    with pytest.raises(SettingsError, match="metal"):
        choose("metal", [CPU])
    assert choose("cpu", [CPU, CUDA]) == [CPU]


def test_fallback_is_an_error_when_the_provider_was_named(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(EngineFailed, match="fell back to CPU"):
        confirm("cuda", [CUDA, CPU], [CPU], "planner/model.onnx")
    assert confirm("auto", [CUDA, CPU], [CPU], "planner/model.onnx") == "cpu"
    assert "planner/model.onnx" in caplog.text


def test_tensorrt_is_told_every_shape(tmp_path: Path) -> None:
    ranges = {"ids": InputRange((1, 1), (1, 8), (4, 16)), "mask": InputRange((1, 1), (1, 8), (4, 16))}
    told = options(TENSORRT, ranges, tmp_path)
    assert told["trt_profile_min_shapes"] == "ids:1x1,mask:1x1"
    assert told["trt_profile_max_shapes"] == "ids:4x16,mask:4x16"
    assert options(CPU, ranges, tmp_path) == {}
    rtx = options(PLUGINS["tensorrt-rtx"].provider, ranges, tmp_path)
    assert rtx["nv_profile_opt_shapes"] == "ids:1x8,mask:1x8"
    assert rtx["nv_runtime_cache_path"] == str(tmp_path)


def test_what_tensorrt_leaves_out_is_run_by_cuda_where_it_is_there() -> None:
    assert choose("tensorrt", [TENSORRT, CUDA, CPU]) == [TENSORRT, CUDA, CPU]
    assert choose("tensorrt", [TENSORRT, CPU]) == [TENSORRT, CPU]


def test_a_session_on_cuda_takes_no_more_of_the_card_than_it_may() -> None:
    assert options(CUDA, {}, None, memory=5 << 30)["gpu_mem_limit"] == str(5 << 30)
    assert "gpu_mem_limit" not in options(CUDA, {}, None)


def test_providers_of_cards_are_given_a_number_and_tensorrt_alone_a_precision(tmp_path: Path) -> None:
    for provider in (CUDA, TENSORRT):
        assert options(provider, {}, None)["device_id"] == "0"
        assert options(provider, {}, None, device=2)["device_id"] == "2"
    assert "trt_fp16_enable" not in options(TENSORRT, {}, tmp_path)
    assert options(TENSORRT, {}, None, float16=True)["trt_fp16_enable"] == "1"
    rtx = PLUGINS["tensorrt-rtx"].provider
    for provider in (CUDA, rtx, CPU):
        assert options(provider, {}, tmp_path, device=2, float16=True).keys() == options(provider, {}, tmp_path).keys()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own there")
async def test_threads_that_compute_wait_for_those_that_answer() -> None:
    pool = EnginePool(1)

    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    turns = await pool.run(niceness)
    with at_priority(Priority.BACKGROUND):
        background = await pool.run(niceness)
    pool.close()
    # Who runs the tests with the least priority of all, 19, cannot give way any more.
    assert turns > min(niceness(), 18)
    assert background > min(turns, 18)


def test_shapes_outside_the_range_are_distinguished() -> None:
    row = InputRange((1, 1), (1, 8), (4, 16))
    assert row.holds((4, 16))
    assert not row.holds((5, 16))
    assert not row.holds((4,))


async def test_engine_time_on_a_thread_counts_for_the_stage() -> None:
    pool = EnginePool(1)
    with stage_clock() as outer:
        await pool.run(lambda: record_engine(7))
        with stage_clock() as inner:
            await pool.run(lambda: record_engine(5))
    pool.close()
    assert (outer.us, inner.us) == (7, 5)


def test_time_in_which_two_engines_work_passes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = Clock()
    monkeypatch.setattr("quizglass_server.scheduling.clock.perf_counter_ns", lambda: int(1e9 * now()))
    clock = EngineClock()
    for now.now in (100, 101):  # from 80 and from 81 on
        clock.add(20_000_000)
    assert clock.us == 21_000_000
    apart = EngineClock()
    for _ in range(3):
        apart.add(10_000_000, share=0.25)
    assert apart.us == 7_500_000


def test_engine_time_outside_a_stage_is_not_counted() -> None:
    with measured_engine():
        record_engine(1)
    with stage_clock() as later:
        pass
    assert later.us == 0


async def test_work_that_goes_ahead_is_begun_first_and_all_else_in_order() -> None:
    pool, release, began = EnginePool(1), threading.Event(), list[str]()
    first = asyncio.create_task(pool.run(release.wait))
    await asyncio.sleep(0)
    work = []
    for name, priority in (("a", Priority.TURN), ("b", Priority.AHEAD), ("c", Priority.TURN), ("d", Priority.AHEAD)):
        with at_priority(priority):
            work.append(pool.submit(partial(began.append, name)))
    release.set()
    await asyncio.gather(first, *map(asyncio.wrap_future, work))
    pool.close()
    assert began == ["b", "d", "a", "c"]


async def test_work_cancelled_before_it_begins_never_runs() -> None:
    pool, release, ran = EnginePool(1), threading.Event(), []
    first = asyncio.create_task(pool.run(release.wait))
    second = asyncio.create_task(pool.run(lambda: ran.append(1)))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    release.set()
    assert await first
    await pool.run(lambda: None)
    pool.close()
    assert not ran


def test_pooling_sees_unmasked_tokens_only() -> None:
    states = np.array([[[1.0], [3.0], [99.0]]], np.float32)
    mask = np.array([[1, 1, 0]])
    assert [float(pooled(states, mask, how)[0, 0]) for how in ("mean", "cls", "last")] == [2.0, 1.0, 3.0]


def test_words_are_read_in_lines_and_ornaments_left_out() -> None:
    def box(left: float, top: float) -> list[list[float]]:
        return [[left, top], [left + 30, top], [left + 30, top + 10], [left, top + 10]]

    found = [(box(50, 12), "crowns"), (box(0, 40), "Open"), (box(0, 10), "45"), (box(9, 70), "业"), (box(0, 99), "7")]
    assert in_reading_order(found) == ["45 crowns", "Open", "7"]


def test_a_picture_is_fitted_once_for_all_models() -> None:
    fitter, size = PictureFitter(), Size(width=28, height=14)
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, 30:] = 200
    picture = Picture(b"a" * 32, pixels)
    fitted = fitter.fit(picture, size)
    assert fitted.shape == (14, 28, 3)
    assert fitter.fit(Picture(b"a" * 32, pixels.copy()), size) is fitted
    right = fitter.fit(picture.part(30, 0, 60, 40), size)
    assert right[0, 0, 0] == 200
    assert fitter.fit(picture.part(30, 0, 60, 40), size) is right


def test_a_fitted_picture_is_hashed_by_what_it_shows_and_not_by_its_name() -> None:
    fitter, size = PictureFitter(), Size(width=28, height=14)
    dark, filtered = np.zeros((40, 60, 3), np.uint8), np.full((40, 60, 3), 9, np.uint8)
    made = fitter.fitted(Picture(b"a" * 32, dark), size)
    assert not made.is_hashed
    assert made.hash() == PictureFitter().fitted(Picture(b"b" * 32, dark), size).hash()
    assert made.hash() != PictureFitter().fitted(Picture(b"a" * 32, filtered), size).hash()
    assert made.is_hashed
    assert fitter.kept(Picture(b"a" * 32, dark), size) is made


def test_what_is_too_long_is_cut_from_the_longest_data(tmp_path: Path) -> None:
    tokenizer = PromptTokenizer(write_tokenizer(tmp_path / "tokenizer.json"))
    template = PromptTemplate("<|im_start|>{{ query }}|{{ passage }}|<|im_end|>", "test")
    prompt = template.render(query="short", passage="x" * 100)
    ids = encode_within(tokenizer, prompt, [], 40)
    assert len(ids) == 40
    assert tokenizer.decode(ids) == "short|" + "x" * 31 + "|"
    assert encode_within(tokenizer, template.render(query="q" * 50, passage="x" * 60), [], 24) == [
        *tokenizer.encode(template.render(query="q" * 10, passage="x" * 10))
    ]
    assert len(encode_within(tokenizer, prompt, [], 2)) == 4
