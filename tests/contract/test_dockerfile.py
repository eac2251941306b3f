"""The Dockerfile keeps the promises that can be checked without an engine."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text()).splitlines()


def _arguments(instruction: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(instruction + " ")]


def test_base_images_are_pinned_to_a_patch_version() -> None:
    for image in _arguments("FROM"):
        assert re.match(r"python:\d+\.\d+\.\d+-slim", image), image


def test_the_server_does_not_run_as_root() -> None:
    last_stage = LINES[max(i for i, line in enumerate(LINES) if line.startswith("FROM ")) :]
    users = [line.split()[1] for line in last_stage if line.startswith("USER ")]
    assert users
    assert users[-1] not in {"root", "0"}


def test_it_has_a_health_check_that_is_a_command_of_the_package() -> None:
    (check,) = _arguments("HEALTHCHECK")
    assert '"quizglass", "health"' in check


@pytest.mark.parametrize("argument", [a for a in _arguments("COPY") if not a.startswith("--from")])
def test_copied_paths_exist(argument: str) -> None:
    *sources, _ = argument.split()
    for source in sources:
        assert (ROOT / source).exists(), source


def test_package_lists_are_removed_in_the_layer_that_made_them() -> None:
    for command in _arguments("RUN"):
        if "apt-get install" in command:
            assert "--no-install-recommends" in command
            assert "rm -rf /var/lib/apt/lists/*" in command
