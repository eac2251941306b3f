"""How pictures and questions are given to `quizglass`, and how it explains an address where no server answers."""

import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from quizglass_client.cli import main
from quizglass_client.files import LARGEST_PICTURE
from quizglass_server.policies.table import PolicyStatus
from tests.support.rpc_fakes import png


def command(target: str, *words: object) -> list[str]:
    return [sys.executable, "-m", "quizglass_client.cli", "--server", target, *map(str, words)]


@pytest.fixture
def ran(stage):
    """Runs the command in a process of its own; gives its status, output and errors, which are one line each."""

    def run(*words: object, **given: object) -> tuple[int, str, str]:
        made = subprocess.run(command(stage.target, *words), capture_output=True, timeout=120, check=False, **given)
        return made.returncode, made.stdout.decode(), made.stderr.decode().replace("\n", " ")

    return run


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(png())
    return path


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_picture_is_read_from_a_pipe_on_standard_input(stage, ran, name: str) -> None:
    assert ran("ask", name, "How much?", input=png(80))[:2] == (0, "45 crowns\n")
    assert stage.assistant.turns[0].picture.width == 80


def test_a_picture_is_read_from_a_file_on_standard_input(stage, ran, photo: Path) -> None:
    with photo.open("rb") as file:
        assert ran("ask", "-", "How much?", stdin=file)[0] == 0
    assert stage.assistant.turns[0].picture.width == 64


def test_a_pipe_is_a_picture_wherever_a_file_is(stage, ran, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for words in (("ask", pipe, "How much?"), ("knowledge", "search", "--picture", pipe)):
        writer = threading.Thread(target=partial(pipe.write_bytes, png(80)))
        writer.start()
        assert ran(*words)[0] == 0
        writer.join()
    assert stage.assistant.turns[0].picture.width == 80


@pytest.mark.parametrize("given", [{"stdin": subprocess.DEVNULL}, {"input": b""}])
def test_nothing_on_standard_input_is_no_picture(stage, ran, given: dict[str, object]) -> None:
    assert ran("ask", "-", "How much?", **given) == (0, "45 crowns\n", "")
    assert stage.assistant.turns[0].picture is None


def test_a_pipe_that_stays_empty_holds_up_no_question(stage) -> None:
    asked = subprocess.Popen(
        command(stage.target, "ask", "-", "How much?"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert asked.stdin is not None
    assert asked.stdout is not None
    assert asked.stderr is not None
    with asked, asked.stdin:  # it stays open until the answer is there
        assert asked.stdout.read() == b"45 crowns\n"
        assert "asked without a picture" in asked.stderr.read().decode().replace("\n", " ")
    assert stage.assistant.turns[0].picture is None


def test_what_is_no_picture_is_not_sent_from_standard_input(stage, ran) -> None:
    status, _, err = ran("ask", "-", "How much?", input=b"a secret")
    assert status == 2
    assert "standard input is no picture" in err
    assert 'without a picture: quizglass ask "question"' in err
    assert stage.assistant.turns == []
    assert ran("ask", "/dev/stdin", "How much?", input=b"")[::2] == (
        2,
        "quizglass: /dev/stdin is empty; give a picture ",
    )


def test_the_lines_of_a_loop_are_left_to_it(stage, ran, tmp_path: Path) -> None:
    lines = tmp_path / "questions"
    lines.write_text("How much?\nWhose is it?\nWhy?\n")
    with lines.open("rb", buffering=0) as file:
        file.seek(len("How much?\n"))  # a shell has read the first
        status, _, err = ran("ask", "-", "How much?", stdin=file)
        assert (status, file.read()) == (2, b"Whose is it?\nWhy?\n")
    assert 'in a loop over lines: quizglass ask - "question" < /dev/null' in err
    assert stage.assistant.turns == []


@pytest.mark.parametrize("lines", ["done < questions", "done < <(cat questions)"])
def test_a_loop_asks_every_one_of_its_lines(stage, photo: Path, lines: str) -> None:
    (photo.parent / "questions").write_text("How much?\nWhose is it?\nWhy?\n")
    asking = shlex.join(command(stage.target, "ask", photo))
    loop = f'while read -r question; do {asking} "$question"; {asking[: -len(str(photo))]} "$question"; {lines}'
    made = subprocess.run(["bash", "-c", loop], cwd=photo.parent, capture_output=True, timeout=120, check=True)
    assert made.stdout.splitlines() == [b"45 crowns"] * 6, made.stderr
    asked = ["How much?", "Whose is it?", "Why?"]
    assert [turn.question for turn in stage.assistant.turns] == [each for each in asked for _ in range(2)]


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "{photo}", "How much?", "--explain"],
        ["ask", "{photo}", "How much?", "--json"],
        ["ask", "Why is that?", "--history", "What is it?=A car"],
        ["walk", "{folder}/walk.jsonl"],
        ["knowledge", "import", "{folder}/things"],
        ["knowledge", "import", "{folder}/things", "--sync"],
        ["knowledge", "import", "{folder}/things", "--dry-run"],
        ["knowledge", "add", "{photo}", "A note of it."],
        ["knowledge", "search", "--text", "cost?", "--picture", "{photo}"],
        ["knowledge", "list"],
        ["knowledge", "get", "none"],
        ["knowledge", "delete", "none"],
        ["knowledge", "tune"],
        ["knowledge", "export", "{folder}/out"],
        ["knowledge", "verify", "{folder}/store"],
        ["knowledge", "repair", "{folder}/store"],
        ["knowledge", "compact"],
        ["memory", "search", "--text", "cost?"],
        ["memory", "forget", "--session-id", "none"],
        ["capabilities"],
        ["health"],
    ],
    ids=lambda words: " ".join(word for word in words if "{" not in word),
)
def test_no_command_reads_what_it_was_not_asked_to(stage, photo: Path, words: list[str]) -> None:
    folder = photo.parent
    (folder / "things").mkdir()
    (folder / "things" / "camera.txt").write_text("It takes pictures.")
    (folder / "store").mkdir()
    lines = b"the next line\n" * 3
    reading, writing = os.pipe()
    try:
        os.write(writing, lines)
        asked = [word.format(photo=photo, folder=folder) for word in words]
        subprocess.run(command(stage.target, *asked), stdin=reading, capture_output=True, timeout=120, check=False)
        os.set_blocking(reading, False)
        assert os.read(reading, 1000) == lines
    finally:
        os.close(reading)
        os.close(writing)


def test_standard_input_is_bounded_as_files_are(stage, tmp_path: Path, ran) -> None:
    large = tmp_path / "large.png"
    with large.open("wb") as file:
        file.truncate(LARGEST_PICTURE + 1)
    with large.open("rb") as file:
        status, _, err = ran("ask", "-", "How much?", stdin=file)
    assert status == 1
    assert f"standard input: has more than {LARGEST_PICTURE} bytes" in err
    assert stage.assistant.turns == []


def test_a_question_alone_is_asked_without_a_picture(stage, ran) -> None:
    long = f"What does this mean: {'very ' * 100}expensive?"
    for question in ("Who founded Tandex?", "Why?", "tell me who founded Tandex", long):
        assert ran("ask", question)[:2] == (0, "45 crowns\n")
    assert [turn.picture for turn in stage.assistant.turns] == [None] * 4
    assert stage.assistant.turns[2].question == "tell me who founded Tandex"


def test_what_may_be_a_mistyped_file_is_no_question(stage, ran, photo: Path) -> None:
    for words, says in (
        (["my photo.jpg"], "my photo.jpg is no file; give a picture first"),
        (["photo"], "photo is no file; give a picture first"),
        (["How", "much", "is", "it?"], "Or type: quizglass ask 'How much is it?'"),
        (["How much?", photo], f"Or type: quizglass ask {photo} 'How much?'"),
    ):
        status, _, err = ran("ask", *words)
        assert (status, says in err) == (2, True), err
    assert stage.assistant.turns == []


def test_a_server_without_a_memory_remembers_nothing_and_that_is_said(ran, photo: Path) -> None:
    for flag in ("--remember", "--recall"):
        status, out, err = ran("ask", photo, "How much?", flag)
        assert (status, out) == (0, "45 crowns\n")
        assert f"{flag} has no effect: this server has no visual memory" in err


@contextmanager
def page() -> Iterator[str]:
    """A server of HTTP alone."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("words", [["ask", "Why is that?"], ["health"], ["knowledge", "list"]])
def test_the_port_of_the_page_is_named_as_such(words: list[str], capsys) -> None:
    with page() as target:
        assert main([*words, "--server", target]) == 3
    host, _, port = target.partition(":")
    err = capsys.readouterr().err.replace("\n", " ")
    assert f"{target} speaks HTTP, not gRPC" in err
    assert f"usually it is one less ({host}:{int(port) - 1})" in err
    assert "is quizglass-server running" not in err


@contextmanager
def proxy() -> Iterator[str]:
    """A server that takes HTTP/1.1 and HTTP/2, and answers no call."""

    def take(listener: socket.socket) -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with link:
                begun = link.recv(24)
                link.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]) if begun[:3] == b"PRI" else b"HTTP/1.1 503 No\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=take, args=(listener,))
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_proxy_that_takes_both_is_not_the_page(capsys) -> None:
    with proxy() as target:
        assert main(["knowledge", "list", "--server", target]) == 3
    err = capsys.readouterr().err.replace("\n", " ")
    assert f"no answer from {target}" in err
    assert "speaks HTTP" not in err


def test_another_service_on_the_port_is_named_as_such(capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                with link:
                    link.sendall(b"220 mail\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        assert main(["knowledge", "list", "--server", f"127.0.0.1:{listener.getsockname()[1]}"]) == 3
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert "does not speak gRPC in clear" in capsys.readouterr().err.replace("\n", " ")


def test_the_path_of_an_imported_file_hints_at_its_entry(stage, capsys, tmp_path: Path) -> None:
    things = tmp_path / "things"
    (things / "kitchen").mkdir(parents=True)
    (things / "camera.txt").write_text("It takes pictures.")
    (things / "kitchen/kettle.md").write_text("It whistles.")
    (things / "kitchen/kettle.png").write_bytes(png())
    target = ["--server", stage.target, "knowledge"]
    assert main([*target, "import", str(things), "--no-compare"]) == 0
    capsys.readouterr()
    for name, meant in (
        ("things/camera.txt", "camera.txt (Camera)"),
        (str(things / "kitchen/kettle.md"), "kitchen/kettle.md (Kettle)"),
        ("kettle.png", "kitchen/kettle.md (Kettle)"),
    ):
        for what in ("delete", "get"):
            assert main([*target, what, name]) == 1
            assert f"did you mean {meant}?" in capsys.readouterr().err.replace("\n", " ")
    assert len(stage.knowledge.entries) == 2


def test_capabilities_begin_with_what_is_served(stage, ran) -> None:
    stage.assistant.policy_statuses = (
        PolicyStatus("quote", ()),
        PolicyStatus("image", ()),
        *(PolicyStatus(f"other-{number}", (f"part_{number}",)) for number in range(20)),
    )
    lines = ran("capabilities")[1].splitlines()
    assert lines[0].split() == ["policies", "quote", "(default),", "image"]
    assert lines[1].startswith("answers")
    assert [line for line in lines if "not served" in line] == lines[-1:]
    assert "20 policies for want of models; --all names them" in lines[-1]
    every = ran("capabilities", "--all")[1].splitlines()
    assert [line for line in every if "other-" in line] == every[-20:]


def test_evidence_in_a_pipe_is_a_line_each(stage, ran) -> None:
    out = ran("knowledge", "search", "--text", "cost?")[1]
    assert [line.split()[0] for line in out.splitlines()] == ["from", "[1]"]
    narrow = ran("knowledge", "search", "--text", "cost?", env={**os.environ, "COLUMNS": "40"})[1]
    assert len(narrow.splitlines()) > 2
