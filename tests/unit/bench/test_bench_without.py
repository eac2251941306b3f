"""Processes without one of the engine's finer parts, and what is made of their times."""

import subprocess
import sys

import pytest

from bench.engine.generator import lesser_child, without


@pytest.mark.parametrize("part", lesser_child.PARTS)
def test_what_is_left_out_is_there(part: str) -> None:
    """Each in a process of its own: they change modules for good."""
    command = [sys.executable, "-P", lesser_child.__file__, part, "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_part_earns_what_is_beyond_the_spread() -> None:
    def times(second: float) -> dict[str, list[float]]:
        return {"wall": [1.0, 1.0, 1.0], "first": [], "second": [second] * 3, "gap": []}

    table = without.rows(
        "m", {"nothing": times(1.0), "nothing, again": times(1.1), "padding": times(1.3), "offloading": times(1.12)}
    )
    padding, offloading = table
    assert padding.name == "m: without padding (earns; spread 10%): second question, first token"
    assert padding.ratio == pytest.approx(1.3 / 1.05)
    assert offloading.name == "m: without offloading (earns nothing; spread 10%): second question, first token"
