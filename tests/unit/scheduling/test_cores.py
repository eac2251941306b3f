"""The machine's cores, shared out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.scheduling.cores import CoreShares, cgroup_values, share_cores, usable_cores


@pytest.mark.parametrize(
    ("cores", "shares"),
    [(1, (1, 1, 1)), (2, (1, 2, 2)), (4, (1, 2, 2)), (8, (2, 2, 2)), (16, (4, 2, 4))],
)
def test_half_are_for_what_comes_before_an_answer(cores: int, shares: tuple[int, int, int]) -> None:
    assert share_cores(cores) == CoreShares(*shares)


@given(st.integers(1, 512))
def test_what_comes_before_an_answer_leaves_half_of_the_cores(cores: int) -> None:
    shares = share_cores(cores)
    assert min(shares.onnx, shares.runs) >= 1
    assert shares.onnx * shares.runs <= max(cores / 2 + 1, 2)


def test_settings_decide_where_they_are_given() -> None:
    assert share_cores(8, threads=3) == CoreShares(3, 2, 3)
    with pytest.raises(ValueError, match="cores must be 1 or more"):
        share_cores(0)
    with pytest.raises(ValueError, match="threads 0 or more"):
        share_cores(4, threads=-1)


def test_the_tightest_quota_counts() -> None:
    here = len(os.sched_getaffinity(0))
    for quotas, cores in (
        ([], here),
        (["max 100000"], here),
        (["50000 100000"], 1),
        ([f"{here + 1}00000 100000"], here),
        (["nonsense"], here),
        (["max 100000", "100000 100000", f"{here}00000 100000"], 1),
    ):
        assert usable_cores(quotas) == cores


@pytest.mark.parametrize(
    ("membership", "values"),
    [
        ("0::/", ["root"]),
        ("5:cpu:/elsewhere\n0::/system.slice/quizglass.service", ["service", "slice", "root"]),
        ("0::/docker/of-the-host", ["root"]),
        ("5:cpu:/system.slice/quizglass.service", ["root"]),
        (None, ["root"]),
    ],
)
def test_limits_are_those_of_a_container_and_of_a_service_and_of_what_that_lies_in(
    tmp_path: Path, membership: str | None, values: list[str]
) -> None:
    tree, groups = tmp_path / "cgroup", tmp_path / "groups"
    service = tree / "system.slice" / "quizglass.service"
    service.mkdir(parents=True)
    for group, value in ((service, "service"), (service.parent, "slice"), (tree, "root")):
        (group / "cpu.max").write_text(value + "\n")
    (tmp_path / "cpu.max").write_text("not of the tree")
    if membership is not None:
        groups.write_text(membership + "\n")
    assert cgroup_values("cpu.max", tree, groups) == values
