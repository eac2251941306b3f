"""What the export benchmark's generators are built from; none is built or taught here."""

import json
from pathlib import Path

import pytest

from bench.export import generators


@pytest.mark.parametrize("family", generators.FAMILIES)
def test_the_exporter_takes_what_every_family_is_built_from(family: str, tmp_path: Path) -> None:
    make, sees = generators.FAMILIES[family]
    generators._write(make, tmp_path)
    assert generators._plan(tmp_path, "f16", sees).spec("generator") is not None


def test_a_tower_with_windows_has_more_than_one_in_the_picture_that_is_compared(tmp_path: Path) -> None:
    generators._write(generators.FAMILIES["Qwen2.5-VL with windows"][0], tmp_path)
    tower = json.loads((tmp_path / "checkpoint" / "config.json").read_text())["vision_config"]
    assert max(generators._PICTURE.values()) > tower["window_size"]
