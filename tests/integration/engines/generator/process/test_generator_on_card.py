"""A real llama-server beside a card that is made up: it gets the number of layers that go there, or is not started."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from quizglass_server.engines.generator.process.card import room
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import Origin, Program, find_program
from quizglass_server.errors import SettingsError
from tests.support.engines.generator_process import PATIENCE_S, started, texts


@pytest.fixture
def beside(options: ProcessOptions, tmp_path: Path) -> ProcessOptions:
    """Options with a program that lists a card of 8 GiB, notes its flags, and else is llama-server."""
    real = " ".join(f"'{each}'" for each in (options.program or find_program()).command)
    file = tmp_path / "llama-server"
    listed = "printf 'Available devices:\\n  CUDA0: made up (8192 MiB, 8000 MiB free)\\n'"
    file.write_text(
        f'#!/bin/sh\n[ "$1" = --list-devices ] && {{ {listed}; exit; }}\n'
        f'echo "$@" >>"{tmp_path}/started"\nexec {real} "$@"\n'
    )
    file.chmod(0o755)
    program = Program(Origin.NAMED, (str(file),))
    return replace(options, program=program, room=room(program, 0.9, 0))


async def test_it_is_started_with_the_layers_that_fit(beside: ProcessOptions, tmp_path: Path) -> None:
    planned = beside.card_plan()
    assert planned is not None
    async with started(beside) as process, asyncio.timeout(PATIENCE_S * 3):
        assert await texts(process)
        assert process.on_card == str(planned)
        assert process.notice == ""
    tried, served = (tmp_path / "started").read_text().splitlines()
    assert "--n-gpu-layers" not in tried  # the self-test's tiny model
    assert f"--n-gpu-layers {planned.of} --flash-attn on" in served


async def test_it_is_not_started_where_the_layers_that_were_asked_for_do_not_fit(
    beside: ProcessOptions, tmp_path: Path
) -> None:
    program = beside.program
    assert program is not None
    narrow = replace(beside, room=room(program, 0.0001, 0), gpu_layers=99)
    with pytest.raises(
        SettingsError, match=r"gpu_layers: .* layers need about .* GiB of the card and 0\.0 can be taken"
    ):
        async with started(narrow):
            pass
    assert not (tmp_path / "started").exists()
