"""Commands that the laboratory has now say where they went."""

import pytest

from quizglass_export import cli


@pytest.mark.parametrize(
    ("given", "now"),
    [
        (["starter", "--workdir", "w"], "quizglass-lab starter"),
        (["train", "everyday-reranker"], "quizglass-lab train"),
        (["build", "--checkpoints", "c", "--out", "b"], "quizglass-lab build --checkpoints"),
        (["verify", "b", "--checkpoints=c"], "quizglass-lab verify --checkpoints"),
        (["everyday", "knowledge"], "quizglass-lab everyday-knowledge"),
    ],
)
def test_a_command_that_moved_names_the_new_one_in_one_line(
    given: list[str], now: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"moved to `{now}`; in the clone: pip install '.[lab]'" in line


def test_commands_that_stayed_are_parsed_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", "no-such-bundle"]) == 2
    assert "moved" not in capsys.readouterr().err
