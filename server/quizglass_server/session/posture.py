"""How much a session asks of its device: from battery, heat and link, the worst of which decides."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from quizglass.session import DeviceState, Heat, LinkQuality, Posture, PostureChange, PostureLimits, SessionLimits

HOLD_S = 20.0
"""Seconds for which all signals have to be better before the posture is."""
_ORDER = (Posture.NORMAL, Posture.CONSERVE, Posture.RESERVE)
_BATTERY = (30, 10)
"""Percent of charge at which, or below, the battery is low, and very low."""
_RECOVERED = 5
"""Percent of charge above these at which it no longer is."""
_HEAT = {Heat.WARM: 1, Heat.HOT: 2}
_LINK = {LinkQuality.FAIR: 1, LinkQuality.POOR: 2}
_SIDES = (1.0, 0.75, 0.5)
"""Sides of frames, as shares of the largest useful side."""
_PINGS = (1.0, 2.0, 4.0)
"""Intervals of pings, as multiples of the usual one."""
_WORDS = (0, 60, 30)
_SOUND_HZ = (0, 16_000, 8_000)
"""Most samples a second of answers' sound; 0: any number."""


class DevicePosture:
    """The posture of one session's device.

    Args:
        usual: limits of the session in its normal posture.
        look_ahead: whether frames are looked at then.
        now: monotonic clock in seconds.
    """

    def __init__(self, usual: SessionLimits, look_ahead: bool, now: Callable[[], float] = monotonic) -> None:
        self._usual = usual
        self._look_ahead = look_ahead
        self._now = now
        self._state = DeviceState()
        self._battery = 0
        self._level = 0
        self._better_since: float | None = None
        self.limits = self._limits()
        """The limits that hold now."""

    def tell(self, state: DeviceState) -> PostureChange | None:
        """Take what the device tells of itself; returns the change of posture, if there is one."""
        before = self._state
        self._state = DeviceState(
            before.battery_percent if state.battery_percent is None else state.battery_percent,
            before.charging if state.charging is None else state.charging,
            state.heat or before.heat,
            state.link or before.link,
        )
        self._battery = self._battery_level()
        return self.settle()

    def settle(self) -> PostureChange | None:
        """The change of posture that is due now, if there is one."""
        signals = self._signals()
        worst = max(signals.values())
        if worst >= self._level:
            self._better_since = None
            if worst == self._level:
                return None
            return self._change(worst, " and ".join(why for why, level in signals.items() if level == worst))
        if self._better_since is None:
            self._better_since = self._now()
        if self.due_in:
            return None
        self._better_since = None
        return self._change(worst, "battery, heat and link have recovered")

    @property
    def due_in(self) -> float | None:
        """Seconds until `settle` may return a change without new input; None: it will not."""
        if self._better_since is None:
            return None
        return max(0.0, self._better_since + HOLD_S - self._now())

    def _signals(self) -> dict[str, int]:
        """For each signal, how to put it in words, and how bad it is: 0 to 2."""
        state = self._state
        battery = max(0, self._battery - 1) if state.charging else self._battery
        charging = ", charging" if state.charging else ""
        return {
            f"the battery is at {state.battery_percent} %{charging}": battery,
            f"the device is {state.heat}": _HEAT.get(state.heat, 0),
            f"the link is {state.link}": _LINK.get(state.link, 0),
        }

    def _battery_level(self) -> int:
        percent = self._state.battery_percent
        if percent is None:
            return 0
        low = sum(percent <= least for least in _BATTERY)
        not_recovered = sum(percent < least + _RECOVERED for least in _BATTERY)
        return max(low, min(self._battery, not_recovered))

    def _change(self, level: int, why: str) -> PostureChange:
        self._level = level
        self.limits = self._limits()
        limits = self.limits
        words = f"answers of at most {limits.answer_words} words" if limits.answer_words else "answers of any length"
        look = "looking ahead" if limits.look_ahead else "no looking ahead"
        reason = f"{why}: frames of {limits.frame_side} pixels, {look}, {words}"
        return PostureChange(_ORDER[level], reason, limits)

    def _limits(self) -> PostureLimits:
        at, usual = self._level, self._usual
        side = round(usual.useful_picture_side * _SIDES[at])
        look_ahead, ping = self._look_ahead and not at, usual.ping * _PINGS[at]
        return PostureLimits(side, look_ahead, ping, _WORDS[at], _SOUND_HZ[at], push_to_talk=at > 1)
