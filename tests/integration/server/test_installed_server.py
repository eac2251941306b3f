"""Server and exporter as pip has them: their commands start, or say in a line which extra is missing."""

import pytest

from tests.support.installed import Installed


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server without ONNX Runtime and without what the page needs, and an exporter without anything else."""
    folder = tmp_path_factory.mktemp("server")
    return Installed(folder, "quizglass", "quizglass-bundle", "quizglass-server", bare=("quizglass-export",))


def test_the_commands_are_those_of_the_packages(server):
    assert server.commands == {"quizglass", "quizglass-server", "quizglass-export"}


def test_what_the_server_can_do_is_told(server):
    done = server.run("quizglass-server", "--help")
    assert (done.returncode, done.stdout.startswith("usage: quizglass-server")) == (0, True), done.stderr
    assert server.run("quizglass-server", "--print-config", "--bundle", "b", "--knowledge", "k").returncode == 0


def test_what_the_exporter_can_do_is_told_without_its_packages(server):
    assert server.helps("quizglass_export.cli", "build_parser") > 12


def test_the_server_says_in_a_line_what_its_engines_need(server, starter_bundle, tmp_path):
    done = server.run("quizglass-server", "--bundle", starter_bundle, "--knowledge", tmp_path / "k", "--port", "0")
    assert done.returncode == 5
    assert "is not installed; in the clone: pip install '.[cpu]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_server_says_in_a_line_what_its_page_needs(server, starter_bundle, tmp_path):
    place = ("--bundle", starter_bundle, "--knowledge", tmp_path / "k", "--port", "0", "--web-port", "0")
    done = server.run("quizglass-server", *place)
    assert (done.returncode, "in the clone: pip install '.[web]'" in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr


def test_the_exporter_says_in_a_line_what_it_needs(server, tmp_path):
    paths = ("--checkpoint", tmp_path, "--adapter", tmp_path, "--out", tmp_path / "out.gguf")
    done = server.run("quizglass-export", "adapter", *paths)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "in the clone: pip install '.[export]'" in done.stderr


def test_a_store_is_looked_at(server, tmp_path):
    done = server.run("quizglass", "knowledge", "verify", tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "nothing was stored here" in done.stdout
