"""How the gate before reading is fitted: its samples, its way into ONNX, its threshold."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from PIL import Image

from quizglass_lab.wordgate import fit
from quizglass_lab.wordgate.fit import train
from quizglass_lab.wordgate.judge import ALL, Judged, chosen, reads, table
from quizglass_lab.wordgate.network import WordGate, most, save
from quizglass_lab.wordgate.samples import Painter, Scenes, _opened
from quizglass_lab.wordgate.sources import Sources, is_held_out
from quizglass_server.roles.shared.wordgate import WordGate as ServedGate

FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    photograph, stamp = tmp_path / "noise.png", tmp_path / "stamp.png"
    noise = np.random.default_rng(3).integers(0, 256, (40, 60, 3), np.uint8)
    Image.fromarray(noise).resize((480, 320), Image.Resampling.BICUBIC).save(photograph)
    Image.new("RGBA", (80, 60), (200, 30, 30, 160)).save(stamp)
    return Sources((photograph,), (), (stamp,), (FONT,))


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return Scenes(5, 30)


def test_a_sample_follows_from_its_number(sources: Sources, scenes: Scenes) -> None:
    painter = Painter(sources, scenes, 160)
    for world in (False, True):
        first, second = (painter.sample(7, lettered=True, world=world) for _ in range(2))
        assert np.array_equal(first.pixels, second.pixels)
        assert first.words == second.words
        assert first.words


def test_words_are_where_the_mask_says(sources: Sources, scenes: Scenes) -> None:
    painter = Painter(sources, scenes, 160)
    for number in range(12):
        lettered = painter.sample(number, lettered=True, world=False)
        assert (lettered.mask == 255).any()
        assert not painter.sample(number, lettered=False, world=False).mask.any()


def test_samples_are_drawn_once_and_again_of_other_sources(
    sources: Sources, scenes: Scenes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "Scenes", lambda seed: scenes)
    monkeypatch.setattr(fit.Sources, "under", lambda root: sources)
    monkeypatch.setattr(fit.Sources, "part", lambda self, *, held_out: self)
    args = argparse.Namespace(kept=tmp_path / "kept", sources=tmp_path, seed=1, samples=6)
    first, again = fit.drawn(args)[0], fit.drawn(args)[0]
    assert np.array_equal(first, again)
    assert len(list(args.kept.iterdir())) == 1
    _opened.cache_clear()  # of the photograph that another one takes the place of
    Image.new("RGB", (480, 320), "white").save(sources.photographs[0])
    assert not np.array_equal(fit.drawn(args)[0], first)
    assert {path.suffix for path in args.kept.iterdir()} == {".npz"}


def test_the_file_computes_what_was_trained(tmp_path: Path) -> None:
    torch.manual_seed(1)
    gate = WordGate()
    for layer in gate.features:
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)
            torch.nn.init.normal_(layer.weight, 1.0, 0.2)
            torch.nn.init.normal_(layer.bias, 0.0, 0.2)
    save(gate.eval(), tmp_path / "gate.onnx", {"threshold": "0.25", "provenance": "a test"})
    served = ServedGate(model=tmp_path / "gate.onnx")
    pixels = np.random.default_rng(2).integers(0, 256, (96, 200, 3), np.uint8)
    with torch.inference_mode():
        trained = most(gate(torch.from_numpy(pixels).permute(2, 0, 1)[None].float())).item()
    assert served.logits(pixels).max() == pytest.approx(trained, abs=1e-4)
    assert served.least == 0.25


def test_a_few_steps_lower_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    random = np.random.default_rng(4)
    pictures = np.full((32, 32, 32, 3), 90, np.uint8)
    lettered = np.arange(32) % 2 == 0
    pictures[lettered] = random.integers(0, 256, (16, 32, 32, 3), np.uint8)
    cells = np.where(lettered, 1, 0)[:, None, None] * np.ones((1, 4, 4), np.uint8)
    train(WordGate(), pictures, cells.astype(np.uint8), lettered, epochs=20, seed=1, batch=16)
    told = [float(line.rsplit(" ", 1)[1]) for line in capsys.readouterr().out.splitlines()]
    assert told[-1] < told[0]


def test_views_of_one_thing_are_held_out_together() -> None:
    parts = {is_held_out(Path(f"/x/opencv-doc/examples/data/aero{number}.jpg")) for number in (1, 3)}
    assert len(parts) == 1


def test_a_folder_without_photographs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unpack the packages named in sources\.py"):
        Sources.under(tmp_path)


def test_the_threshold_passes_over_few_of_those_that_choose_it() -> None:
    judged = [Judged("words", number / 1000, True, True) for number in range(1000)]
    judged += [Judged("none", 0.5, False, True)] * 10
    threshold = chosen(judged)
    assert sum(each.likelihood < threshold for each in judged if each.legible) <= 1000 / 400
    (words, none, every) = table(judged, 0.1)
    assert (words.name, words.passed_over, none.read, every.name) == ("words", 100, 1.0, ALL)


def test_a_word_counts_as_read_when_it_is_nearly_right() -> None:
    assert reads(["Ve1mora"], ["Velmora"])
    assert not reads(["Tagrin"], ["Velmora"])
    assert reads(["EXIT 24"], [])
    assert not reads(["a", "12"], [])
