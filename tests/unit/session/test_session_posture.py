"""How much a session asks of its device: the worst signal wins, and one that flickers changes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.session import DeviceState, Heat, LinkQuality, Posture
from quizglass_server.config.settings import LinkOptions
from quizglass_server.session.directory import PING_S, session_limits
from quizglass_server.session.posture import HOLD_S, DevicePosture
from tests.support.clock import Clock

ORDER = [Posture.NORMAL, Posture.CONSERVE, Posture.RESERVE]
BATTERY = {0: 100, 1: 30, 2: 10}
LEVELS = st.tuples(*[st.integers(0, 2)] * 3)


def device(clock):
    return DevicePosture(session_limits(LinkOptions(), 1 << 20, 672), True, clock)


def state(battery, heat, link):
    return DeviceState(BATTERY[battery], None, list(Heat)[heat + 1], list(LinkQuality)[link + 1])


@given(st.lists(st.tuples(LEVELS, st.floats(0.0, 30.0)), min_size=1, max_size=30))
def test_it_worsens_at_once_and_recovers_only_after_a_while_in_which_all_was_better(steps):
    clock = Clock(100.0)
    posture, level, better_since = device(clock), 0, None
    for levels, pause in steps:
        clock.now += pause
        change, worst = posture.tell(state(*levels)), max(levels)
        if worst > level:
            assert change is not None
            assert change.posture is ORDER[worst]
        elif worst == level:
            assert change is None
        if worst >= level:
            level, better_since = worst, None
            continue
        better_since = clock.now if better_since is None else better_since
        if clock.now - better_since >= HOLD_S:
            assert change is not None
            assert change.posture is ORDER[worst]
            level, better_since = worst, None
        else:
            assert change is None
            assert posture.due_in == pytest.approx(better_since + HOLD_S - clock.now)


@given(st.lists(st.integers(26, 34), min_size=1, max_size=40))
def test_a_battery_that_wavers_about_its_bound_is_announced_once(charges):
    clock = Clock(100.0)
    posture, changes = device(clock), []
    for percent in charges:
        clock.now += HOLD_S + 1
        changes += [posture.tell(DeviceState(percent))]
    told = [change.posture for change in changes if change is not None]
    assert told == ([Posture.CONSERVE] if min(charges) <= 30 else [])


def test_each_posture_has_its_limits_and_one_line_that_says_why():
    posture = device(Clock(100.0))
    assert (posture.limits.frame_side, posture.limits.look_ahead, posture.limits.answer_words) == (672, True, 0)
    change = posture.tell(DeviceState(28, None, Heat.WARM))
    assert change.reason == (
        "the battery is at 28 % and the device is warm: frames of 504 pixels, no looking ahead, "
        "answers of at most 60 words"
    )
    change = posture.tell(DeviceState(link=LinkQuality.POOR))
    assert (change.posture, change.limits.frame_side, change.limits.ping) == (Posture.RESERVE, 336, 4 * PING_S)
    assert change.reason.startswith("the link is poor: ")
    assert "\n" not in change.reason


def test_a_battery_that_is_charged_counts_one_step_less():
    posture = device(Clock(100.0))
    assert posture.tell(DeviceState(20, charging=True)) is None
    assert posture.tell(DeviceState(5)).posture is Posture.CONSERVE
    assert posture.tell(DeviceState(charging=False)).posture is Posture.RESERVE
