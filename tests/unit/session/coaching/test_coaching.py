"""What is said of frames as they were taken, on worlds that nothing was fitted on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from quizglass.session import CaptureFault
from quizglass_lab.coaching import fit, photographs
from quizglass_lab.coaching.fit import FALSE_ALARMS, limits
from quizglass_lab.coaching.samples import CLEAN, samples
from quizglass_server.errors import BundleError
from quizglass_server.session.coaching.coach import FAULTS, WEIGHTS, CaptureCoach
from quizglass_server.session.coaching.statistics import COUNT, flat_grain, statistics


@pytest.fixture(scope="module")
def coach():
    return CaptureCoach()


@pytest.fixture(scope="module")
def drawn():
    return list(samples(990_011, 70))


def test_strong_faults_are_named_and_clean_frames_are_left_alone(coach, drawn):
    judged = [(each.fault, coach.judge(each.pixels).fault) for each in drawn]
    for fault in ("blur", "dark", "noise"):
        named = [told for drawn_with, told in judged if drawn_with == fault]
        assert named.count(CaptureFault(fault)) >= 0.8 * len(named)
    clean = [told for drawn_with, told in judged if drawn_with == CLEAN]
    assert clean.count(CaptureFault.NONE) >= len(clean) - 1


@pytest.mark.parametrize("gain", [0.3, 0.1, 0.03, 0.0])
def test_the_less_light_there_is_the_surer_it_is_dark(coach, drawn, gain):
    clean = [each.pixels for each in drawn if each.fault == CLEAN]
    told = [coach.judge((pixels * gain).astype(np.uint8)).fault for pixels in clean]
    assert told.count(CaptureFault.DARK) >= len(told) - 1


def test_every_fault_scores_higher_where_it_is(coach, drawn):
    logits = np.stack([coach.logits(each.pixels) for each in drawn])
    for column, fault in enumerate(FAULTS):
        there = np.array([each.fault == fault for each in drawn])
        assert np.median(logits[there, column]) > np.median(logits[~there, column])


def test_a_fault_comes_with_advice_and_all_scores(coach):
    dark = coach.judge(np.full((120, 160, 3), 4, np.uint8))
    assert dark.fault
    assert dark.advice
    assert [each.fault for each in dark.scores] == list(FAULTS)
    assert all(0 <= each.score <= 1 for each in dark.scores)


@settings(max_examples=25, deadline=None)
@given(height=st.integers(1, 400), width=st.integers(1, 400), level=st.integers(0, 255))
def test_any_picture_has_the_same_numbers_all_finite(height, width, level):
    numbers = statistics(np.full((height, width, 3), level, np.uint8))
    assert np.isfinite(numbers).all()
    assert numbers.shape == (COUNT,)


@pytest.mark.parametrize("size", [(160, 120), (1280, 720)])
def test_grain_is_told_from_texture_at_the_pictures_own_size(size):
    """Half of the picture is flat, the other half texture; grain is on both."""
    rng = np.random.default_rng(4)
    width, height = size
    flat = np.full((height, width, 3), 120, np.uint8)
    flat[: height // 2] = rng.integers(0, 256, (height // 2, width, 1), np.uint8)
    grainy = np.clip(flat + rng.normal(0, 8, flat.shape), 0, 255).astype(np.uint8)
    before, after = (flat_grain(each) for each in (flat, grainy))
    assert (before[:3] == np.log(np.float32(0.02))).all()
    assert (np.exp(after[:3]) > 2).all()


def test_crops_of_photographs_follow_from_seed_and_number(tmp_path):
    pictures = tmp_path / "opencv-doc" / "examples" / "data"
    pictures.mkdir(parents=True)
    noise = np.random.default_rng(3).integers(0, 256, (40, 60, 3), np.uint8)
    for name, size in (("fruits.jpg", (480, 360)), ("building.jpg", (60, 40)), ("messi5.jpg", (480, 360))):
        Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).save(pictures / name)
    (whole,) = photographs.wholes(tmp_path)  # one is too small, and one has words
    one, other = (list(photographs.crops(5, 12, [whole])) for _ in range(2))
    assert [each.fault for each in one] == 2 * list(photographs.KINDS)
    assert all(np.array_equal(mine.pixels, its.pixels) for mine, its in zip(one, other, strict=True))
    with pytest.raises(ValueError, match="has no photographs"):
        photographs.wholes(tmp_path / "elsewhere")


def test_a_layer_is_fitted_on_both_and_read_by_the_coach(tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "_STEPS", 3)
    both = fit.measured(samples(990_012, 14))
    clean = fit.measured(samples(990_013, 8, (CLEAN,)))[0]
    fit.write(tmp_path / "layer.json", 1, both, both, clean, clean)
    coach = CaptureCoach(path=tmp_path / "layer.json")
    beyond = [coach.logits(each.pixels) > coach._thresholds for each in samples(990_013, 8, (CLEAN,))]
    assert np.mean([each.any() for each in beyond]) <= 1 / 8


def test_thresholds_leave_as_many_false_alarms_as_they_may():
    logits = np.random.default_rng(0).standard_normal((4000, 6)).astype(np.float32)
    alarms = (logits > limits(logits)).any(1).mean()
    assert 0.5 * FALSE_ALARMS < alarms <= FALSE_ALARMS


def test_a_damaged_layer_is_refused_by_name(tmp_path):
    path = tmp_path / "layer.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(BundleError, match=r"layer\.json"):
        CaptureCoach(path=path)
    layer = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    layer["weights"] = {fault: row[:-1] for fault, row in layer["weights"].items()}
    path.write_text(json.dumps(layer), encoding="utf-8")
    with pytest.raises(BundleError, match="shape"):
        CaptureCoach(path=path)
