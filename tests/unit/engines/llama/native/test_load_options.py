"""What the generator process is told to load arrives as it was given."""

from pathlib import Path

import pytest

from quizglass_server.engines.llama.native.options import LoadOptions


@pytest.mark.parametrize("projector", [None, Path("/models/odd \udcff name.gguf")])
def test_options_cross_the_command_line_whole(projector: Path | None) -> None:
    given = LoadOptions(Path("m.gguf"), projector, 112, 56, 256, threads=3, generator_batch=2, extra_buffers=False)
    assert LoadOptions.from_json(given.as_json()) == given
