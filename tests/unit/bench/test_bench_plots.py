"""Plots take every policy that their benchmark asks."""

from __future__ import annotations

from bench.accuracy.planner.asking import POLICIES
from bench.plots import COLOURS


def test_every_policy_of_the_accuracy_plots_has_a_colour_of_its_own() -> None:
    assert len(set(COLOURS)) == len(COLOURS) == len(POLICIES)
