"""The machine's cores, shared out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.scheduling.cores import CoreShares, share_cores, usable_cores


@pytest.mark.parametrize(
    ("cores", "shares"),
    [(1, (1, 1, 1)), (2, (1, 1, 2)), (4, (2, 1, 2)), (8, (4, 2, 2)), (16, (8, 4, 2))],
)
def test_half_is_for_decoding_and_half_for_what_comes_before(cores: int, shares: tuple[int, int, int]) -> None:
    assert share_cores(cores) == CoreShares(*shares)


@given(st.integers(1, 512))
def test_engines_together_never_ask_for_more_than_there_is_but_one(cores: int) -> None:
    shares = share_cores(cores)
    assert min(shares.llama, shares.onnx, shares.runs) >= 1
    assert shares.llama + shares.onnx * shares.runs <= max(cores + 1, 2)


def test_settings_decide_where_they_are_given() -> None:
    assert share_cores(8, threads=3) == CoreShares(3, 3, 2)
    with pytest.raises(ValueError, match="cores must be 1 or more"):
        share_cores(0)
    with pytest.raises(ValueError, match="threads 0 or more"):
        share_cores(4, threads=-1)


def test_a_containers_quota_counts(tmp_path: Path) -> None:
    here = len(os.sched_getaffinity(0))
    quota = tmp_path / "cpu.max"
    assert usable_cores(quota) == here
    for text, cores in (
        ("max 100000", here),
        ("50000 100000", 1),
        (f"{here + 1}00000 100000", here),
        ("nonsense", here),
    ):
        quota.write_text(text + "\n")
        assert usable_cores(quota) == cores
