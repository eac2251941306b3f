"""What is said of frames as they were taken, on worlds that nothing was fitted on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass.session import CaptureFault
from quizglass_export.coaching.fit import FALSE_ALARMS, limits
from quizglass_export.coaching.samples import CLEAN, samples
from quizglass_server.coaching.coach import FAULTS, WEIGHTS, CaptureCoach
from quizglass_server.coaching.statistics import statistics
from quizglass_server.errors import BundleError


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
    assert numbers.shape == statistics(np.zeros((32, 32, 3), np.uint8)).shape


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
