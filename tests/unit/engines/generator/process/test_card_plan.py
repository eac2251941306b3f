"""What of a generator goes on a card: counted from a real file, planned for made-up cards, listed by a real process."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.generator.checks import known_model
from quizglass_server.engines.generator.checks.gguf_file import read_gguf
from quizglass_server.engines.generator.process.card import (
    AUTO,
    CardNeeds,
    CardPlan,
    CardRoom,
    Device,
    needs,
    plan,
    room,
)
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import Origin, Program
from quizglass_server.errors import SettingsError

GIB = 1 << 30
NEEDS = CardNeeds(layers=(GIB, GIB, GIB, GIB // 2), work=GIB // 2, projector=GIB)


def card(free: float, *, total: float = 24, share: float = 1.0, reserved: int = 0) -> CardRoom:
    """One card with so many GiB."""
    return CardRoom((Device("CUDA0", int(total * GIB), int(free * GIB)),), share, reserved)


@pytest.mark.parametrize(
    ("there", "layers", "projector", "taken"),
    [
        (card(20), 4, True, 5.0),
        (card(4.6), 3, True, 4.0),  # the last two and the output, beside what reads pictures
        (card(2.1), 1, True, 2.0),
        (card(1.4), 1, False, 1.0),  # with the projector none would fit
        (card(0.9), 0, False, 0.0),
        (card(20, total=8, share=0.5), 3, True, 4.0),
        (card(20, reserved=16 * GIB), 3, True, 4.0),
    ],
)
def test_as_much_goes_on_the_card_as_there_is_room_for(
    there: CardRoom, layers: int, projector: bool, taken: float
) -> None:
    planned = plan(NEEDS, there)
    assert (planned.layers, planned.projector, planned.bytes / GIB) == (layers, projector, taken)
    assert bool(planned.notice) is (layers < 4)


def test_what_does_not_fit_is_told_with_the_numbers() -> None:
    notice = plan(NEEDS, card(4.6, reserved=GIB // 10, share=0.9)).notice
    assert "has 3 of 4 layers on the card: all of it needs about 5.0 GiB and 4.5 can be taken" in notice
    assert "CUDA0 has 4.6 of 24.0 GiB free, 0.1 kept for ONNX Runtime, gpu_memory is 0.9" in notice


def test_layers_that_are_asked_for_and_do_not_fit_are_refused_with_the_numbers() -> None:
    with pytest.raises(
        SettingsError, match=r"gpu_layers: 4 of 4 layers need about 4\.0 GiB .* 2\.1 can be taken.*2 fit"
    ):
        plan(NEEDS, card(2.1), wanted=99)


_OFFLOADED = ["--flash-attn", "on", "--mmproj-offload"]


@pytest.mark.parametrize(
    ("wanted", "flags"), [(0, ["0", "--no-mmproj-offload"]), (2, ["2", *_OFFLOADED]), (99, ["4", *_OFFLOADED])]
)
def test_layers_that_are_asked_for_are_taken(wanted: int, flags: list[str]) -> None:
    planned = plan(NEEDS, card(20), wanted)
    assert planned.flags == ["--n-gpu-layers", *flags]
    assert not planned.notice


def test_a_projector_without_room_is_kept_off_the_card_by_name() -> None:
    assert plan(NEEDS, card(1.4)).flags == ["--n-gpu-layers", "1", "--flash-attn", "on", "--no-mmproj-offload"]


def test_a_card_that_is_named_is_the_only_one_that_is_counted_and_given(tmp_path: Path) -> None:
    lines = ["Available devices:", "  CUDA0: L4 (24000 MiB, 23000 MiB free)", "  CUDA1: L4 (24000 MiB, 9000 MiB free)"]
    listing = program(tmp_path, f"print(*{lines!r}, sep=chr(10))")
    there = room(listing, 1.0, 0, 1)
    assert there is not None
    assert there.bytes == 9000 << 20
    assert plan(NEEDS, there).flags[-2:] == ["--device", "CUDA1"]
    every = room(listing, 1.0, 0)
    assert every is not None
    assert "--device" not in plan(NEEDS, every).flags
    with pytest.raises(SettingsError, match="gpu_device: llama-server lists CUDA0, CUDA1, counted from 0, and none is"):
        room(listing, 1.0, 0, 2)


@given(
    st.lists(st.integers(1, 9 * GIB), min_size=1, max_size=40),
    st.integers(0, 4 * GIB),
    st.lists(st.integers(0, 40), min_size=1, max_size=3),
    st.floats(0.01, 1),
)
def test_a_plan_never_takes_more_than_there_is_nor_leaves_room_for_a_layer(
    layers: list[int], projector: int, free: list[int], share: float
) -> None:
    there = CardRoom(tuple(Device(f"CUDA{n}", 48 * GIB, each * GIB) for n, each in enumerate(free)), share, GIB)
    needed = CardNeeds(tuple(layers), GIB // 2, projector)
    found = plan(needed, there)
    assert found.bytes <= there.bytes
    if found.layers < found.of:
        assert needed.of(found.layers + 1, projector=found.projector) > there.bytes


def test_a_file_says_what_its_layers_take(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(known_model.gguf())
    text = read_gguf(path)
    small, large = needs(path, None, 64, 512), needs(path, None, 128, 512)
    assert len(small.layers) == text.number(f"{text.architecture}.block_count") + 1
    assert all(size > 0 for size in small.layers)
    assert sum(small.layers) <= 2 * text.size
    grown = [after - before for before, after in zip(small.layers, large.layers, strict=True)]
    assert all(each > 0 for each in grown[:-1])  # of the cache
    assert grown[-1] == 0
    assert needs(path, path, 64, 512).projector > path.stat().st_size


def program(folder: Path, code: str) -> Program:
    """A llama-server that runs a line of Python."""
    file = folder / "llama-server"
    file.write_text(f"#!{sys.executable}\nimport sys\nassert sys.argv[1:] == ['--list-devices']\n{code}\n")
    file.chmod(0o755)
    return Program(Origin.NAMED, (str(file),))


def test_a_llama_server_lists_its_cards_itself(tmp_path: Path) -> None:
    cards = ["NVIDIA H200 (143771 MiB, 142000 MiB free)", "RTX (Ada) (8 MiB, 5 MiB free)"]
    lines = ["Available devices:", *(f"  CUDA{number}: {card}" for number, card in enumerate(cards))]
    found = room(program(tmp_path, f"print(*{lines!r}, sep=chr(10))"), 0.9, 7)
    assert found == CardRoom(
        (Device("CUDA0", 143771 << 20, 142000 << 20), Device("CUDA1", 8 << 20, 5 << 20)), share=0.9, reserved=7
    )


@pytest.mark.parametrize("code", ["print('Available devices:')", "sys.exit('error: invalid argument')"])
def test_one_that_has_none_or_does_not_say_leaves_it_to_llama_cpp(tmp_path: Path, code: str) -> None:
    assert room(program(tmp_path, code), 0.9, 0) is None


def test_the_plan_is_on_the_command_line_of_the_model_it_was_made_for(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(known_model.gguf())
    options = ProcessOptions(model=path, projector=None, context=64, room=card(20))
    planned = options.card_plan()
    assert isinstance(planned, CardPlan)
    flags = options.flags(tmp_path, "x.sock", 1, threads=1, repack=True, on_card=planned)
    assert flags[flags.index("--n-gpu-layers") + 1] == str(planned.of)
    assert "--n-gpu-layers" not in options.flags(tmp_path, "x.sock", 1, threads=1, repack=True)
    assert ProcessOptions(model=path, projector=None, context=64).card_plan() is None
    assert ProcessOptions(model=path, projector=None, context=64, room=card(20), gpu_layers=AUTO).card_plan() == planned
