"""The benchmark for cards, as far as it runs without one."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from bench.gpu import first, measure
from bench.gpu.__main__ import main
from bench.hostile.sections import Setup


def setup(folder: Path) -> Setup:
    return Setup(True, folder, folder, lambda text: None)


def test_every_provider_is_asked_and_the_cpu_runs(tmp_path: Path) -> None:
    rows = {row.name: row for row in first.run(setup(tmp_path)).rows}
    assert rows["provider cpu runs"].value == 1
    assert {"provider cuda runs", "provider tensorrt-rtx runs"} <= rows.keys()
    assert all(row.value == 1 or row.peer for row in rows.values())


def test_without_a_card_the_reason_is_said_and_nothing_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bundle = Path(__file__).parents[3] / "models" / "starter" / "bundle"
    assert main(["--workdir", str(tmp_path), "--bundle", str(bundle)]) == 1
    said = capsys.readouterr()
    assert "no NVIDIA card" in said.err
    assert "not published" in said.out


def test_a_scorer_of_random_weights_is_timed_at_every_shape(tmp_path: Path) -> None:
    part = measure.run(setup(tmp_path))
    assert {f"{rows}x{length}_ms" for rows, length, *_ in measure.SHAPES} <= part.data.keys()
    assert all("not run: torch has no card" in row.peer for row in part.rows if row.ok is None)


def test_a_planner_and_encoders_of_random_weights_are_timed(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from bench.gpu import others

    part = others.run(setup(tmp_path))
    assert [name.partition(",")[0] for name in part.data] == [
        *["ViT-B image encoder"] * 2,
        *["MiniLM text encoder"] * 2,
        *["planner"] * 2,
    ]
    (generated,) = (row for row in part.rows if row.peer.startswith("transformers' generate of one token"))
    assert (generated.bar, generated.peer_value is not None) == ("<= 0.3x peer", True)
    assert all("not run: torch has no card" in row.peer for row in part.rows if row.ok is None)


def test_a_generator_is_timed_beside_llama_server_alone_and_torch_is_named_where_it_has_no_card(tmp_path: Path) -> None:
    from bench.gpu import generator

    bundle = Path(__file__).parents[3] / "models" / "starter" / "bundle"
    part = generator.run(Setup(True, tmp_path, bundle, lambda text: None))
    assert part.data["placed"] == "on the CPU"
    assert {len(part.data[key][name]) for key in ("1", "8", "picture") for name in ("quizglass", "llama-server")} == {1}
    beside = [row for row in part.rows if row.peer.startswith("llama-server (")]
    assert [row.unit for row in beside] == ["tokens/s", "tokens/s", "ms"]
    assert [row.bar for row in beside] == [">= 0.95x peer", ">= 0.95x peer", ""]
    assert sum("generate, float16 not run: torch has no card" in row.peer for row in part.rows) == 2


def test_the_script_for_a_machine_without_a_network_puts_pieces_together_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "module_of_the_pieces.py").write_text("x = 1\n")
    assert main(["pack", str(tmp_path / "pieces"), str(tmp_path / "site")]) == 0
    root = Path(__file__).parents[3]
    work = tmp_path / "tree"
    work.mkdir()
    (work / "bench").symlink_to(root / "bench")
    (work / "bin").mkdir()
    python = work / "bin" / "python"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} "$@"\necho "$@"\nexit 1\n')
    python.chmod(0o755)
    command = ["bash", str(root / "bench" / "gpu" / "card.sh"), str(tmp_path / "pieces"), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=work, env=os.environ | {"PYTHON": str(python)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert (work / ".gpu-site" / "module_of_the_pieces.py").is_file()
    said = [line.split("--only ")[1].split()[0] for line in done.stdout.splitlines() if "--only" in line]
    assert said == ["first", "measure", "check", "others", "generator"]
    limits = re.findall(r"\b[a-z]+:(\d+)\b", (root / "bench" / "gpu" / "card.sh").read_text())
    assert len(limits) == len(said)
    assert sum(map(int, limits)) <= 570


def test_pieces_put_together_are_what_was_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "module.py").write_text("x = 1\n")
    assert main(["pack", str(tmp_path / "out"), str(tmp_path / "site")]) == 0
    names = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert names == ["packed.tar.xz.00"]
    with tarfile.open(tmp_path / "out" / names[0]) as archive:
        assert "site/module.py" in archive.getnames()
