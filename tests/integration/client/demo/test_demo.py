"""`make demo`, as a process of its own: what it answers and prints, and what it does without."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from clients.demo.album import NOTES, QUESTIONS, UNSTORED, write_album
from quizglass_export.everyday.packages import fetch
from quizglass_export.everyday.quotes import PACKAGES
from quizglass_export.everyday.weights import PHOTOGRAPHS
from tests.support.installed import without_heavy

FETCHED = Path("work/demo")
"""Where `make demo` keeps its packages."""


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work directory with the demo's packages, where they have been workdir; nothing is downloaded here."""

    def absent(requirement: str, _: Path) -> None:
        pytest.skip(f"{requirement} is not in {FETCHED}; `make demo` fetches it")

    packages = (*PACKAGES, *PHOTOGRAPHS)
    fetch(packages, FETCHED, download=absent)
    workdir = tmp_path_factory.mktemp("demo")
    for folder in {package.folder for package in packages}:
        (workdir / folder).symlink_to((FETCHED / folder).absolute())
    return workdir


Demo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Runs the demo without the heavy packages; takes its arguments, and what else stands in its environment."""
    without = without_heavy(tmp_path_factory.mktemp("without"))

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "clients.demo.demo", *map(str, arguments)]
        where = {**without, **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=where, timeout=600)

    return run


def test_without_pytorch_and_llama_cpp_every_answer_is_right(workdir: Path, demo: Demo) -> None:
    done = demo("--workdir", workdir, "--json")
    told = json.loads(done.stdout)
    wrong = [(each["question"], each["answer"]) for each in told["outcomes"] if not each["right"]]
    assert (done.returncode, wrong, told["right"]) == (0, [], len(QUESTIONS)), done.stderr
    by_question = {
        (each["question"], each["picture"] and Path(each["picture"]).name): each for each in told["outcomes"]
    }
    assert by_question["What is this?", "coffee.jpg"]["looked_up"] == "nothing"
    assert by_question["When does the paper bin go out?", None]["looked_up"] == "text"


def test_what_is_printed_is_for_a_person(workdir: Path, demo: Demo) -> None:
    done = demo("--workdir", workdir, "--end", COLUMNS="100")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout
    assert len(lines) <= 80
    at = lines.index(f"What is this?  {workdir}/asked/chelsea.jpg")
    assert lines[at + 1 : at + 2] == ["Miso, the neighbours' cat"]
    assert "from Miso, the neighbours' cat (chelsea.md)  " in lines[at + 2]
    assert f"{len(QUESTIONS)} of {len(QUESTIONS)} right" in done.stdout
    assert "In a browser, with a camera or any picture: http://127.0.0.1:" in done.stdout
    assert "\x1b" not in done.stdout  # links are for terminals


def test_on_a_terminal_pictures_are_links_and_the_server_stays(workdir: Path) -> None:
    shown, terminal = pty.openpty()
    command = [sys.executable, "-m", "clients.demo.demo", "--workdir", str(workdir)]
    # Of a suite in the background, whose SIGINT is ignored, it would ignore that, too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        demo = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        said = ""
        while "press Ctrl+C" not in said:
            assert demo.poll() is None, said
            said += os.read(shown, 1 << 16).decode()
        (page,) = re.findall(r"any picture: \S*?(http://[\d.:]+)", said)
        with urlopen(page) as answer:  # our own server
            assert answer.status == 200
        demo.send_signal(signal.SIGINT)
        demo.wait()
    finally:
        demo.kill()
    os.close(terminal)
    os.close(shown)
    assert demo.returncode == 0
    links = re.findall(r"\x1b\]8;[^;]*;(file://[^\x1b]+)\x1b\\", said)
    assert links.count((workdir / "asked" / "chelsea.jpg").as_uri()) == 4
    assert not list(workdir.glob("knowledge-*"))


def test_photographs_that_are_asked_about_are_none_of_those_that_are_stored(workdir: Path) -> None:
    notes, asked = write_album(workdir)
    stored = {path.name: path.read_bytes() for path in notes.glob("*.jpg")}
    taken = {path.name: path.read_bytes() for path in asked.glob("*.jpg")}
    assert taken.keys() - stored.keys() == {f"{Path(name).stem}.jpg" for name in UNSTORED}
    assert not set(stored.values()) & set(taken.values())


def test_it_says_what_it_takes_without_pytorch_and_llama_cpp(demo: Demo) -> None:
    done = demo("--help")
    assert (done.returncode, "--workdir" in done.stdout) == (0, True), done.stderr


def test_every_answer_stands_in_a_note_and_none_of_the_unanswerable_ones() -> None:
    notes = {path.stem: " ".join(path.read_text(encoding="utf-8").split()) for path in NOTES.glob("*.md")}
    for asked in QUESTIONS:
        if asked.photograph and asked.photograph not in UNSTORED:
            assert all(word in notes[Path(asked.photograph).stem] for word in asked.right), asked.question


def test_a_package_that_cannot_be_had_is_named_with_what_to_do(tmp_path: Path, demo: Demo) -> None:
    done = demo("--workdir", tmp_path, "--end", PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert "The demo failed: scikit-image==0.26.0 could not be downloaded" in done.stdout
    assert f"into {tmp_path}/packages" in done.stdout
