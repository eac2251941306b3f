"""Commands under an encoding that lacks most characters: what they print is escaped, and nothing ends or is lost."""

import json
import os
import subprocess
import sys

import pytest

from quizglass.values import Entry
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.rpc_fakes import png

TITLE = "Café 考拉 🙂"
ESCAPED = "Caf\\xe9 \\u8003\\u62c9 \\U0001f642"
LATIN, ASCII = {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def ran(environment: dict[str, str], *words: object) -> tuple[int, str]:
    """Exit status and standard output, whose bytes are those of Latin-1 or ASCII."""
    run = [sys.executable, "-m", *map(str, words)]
    environment = {**os.environ, "COLUMNS": "200", **environment}
    done = subprocess.run(run, capture_output=True, env=environment, timeout=300, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode("latin-1")
    return done.returncode, done.stdout.decode("latin-1")


@pytest.fixture
def entry(stage):
    stage.knowledge.entries["a"] = Entry("a", TITLE, text=f"The {TITLE}.", attributes={"größe": "3 µm – 5 Ω"})
    return stage.knowledge.entries["a"]


@pytest.mark.parametrize("environment", [LATIN, ASCII], ids=["latin", "ascii"])
def test_entries_are_printed_with_escapes(stage, entry, environment) -> None:
    for command in (("list",), ("get", "a")):
        status, out = ran(environment, "quizglass_client.cli", "--server", stage.target, "knowledge", *command)
        assert status == 0
        assert ESCAPED in out.replace("é", "\\xe9")
        status, out = ran(
            environment, "quizglass_client.cli", "--server", stage.target, "knowledge", *command, "--json"
        )
        assert (status, json.loads(out)["title"]) == (0, TITLE)


@pytest.mark.parametrize("environment", [LATIN, ASCII], ids=["latin", "ascii"])
def test_files_are_imported_and_exported_without_loss(stage, tmp_path, environment) -> None:
    (tmp_path / "考.csv").write_text(f"id,title,time\na,{TITLE},\nb,🙂,考\n", encoding="utf-8")
    command = ("quizglass_client.cli", "--server", stage.target, "knowledge")
    assert ran(environment, *command, "import", tmp_path / "考.csv") == (1, "1 entry added, 1 refused\n")
    assert stage.knowledge.entries["a"].title == TITLE
    status, out = ran(environment, *command, "import", tmp_path / "考.csv", "--json")
    assert (status, [item["line"] for item in json.loads(out)["refused"]]) == (1, [3])
    assert ran(environment, *command, "export", tmp_path / "out")[0] == 0
    assert json.loads((tmp_path / "out" / "entries.jsonl").read_text(encoding="utf-8"))["title"] == TITLE


def test_a_question_is_asked_as_it_is(stage, tmp_path) -> None:
    (tmp_path / "p.png").write_bytes(png())
    command = ("quizglass_client.cli", "--server", stage.target, "ask", tmp_path / "p.png", f"What is {TITLE}?")
    assert (ran(LATIN, *command)[0], stage.assistant.turns[-1].question) == (0, f"What is {TITLE}?")


def test_the_server_and_the_exporter_print_names_with_escapes(tmp_path) -> None:
    bundle = write_bundle(tmp_path / "考拉")
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    (bundle / "manifest.json").write_text(json.dumps({**manifest, "name": TITLE}), encoding="utf-8")
    flags = ("--bundle", bundle, "--knowledge", tmp_path / "knowledge", "--port", "0", "--provider", "cpu")
    for command, name in (
        (("quizglass_server", *flags, "--print-config"), "\\U00008003\\U000062c9"),  # as TOML has it
        (("quizglass_server", "doctor", *flags), ESCAPED[8:]),
        (("quizglass_export.cli", "inspect", bundle), ESCAPED[8:]),
        (("quizglass_server.knowledge", "verify", tmp_path / "考拉"), ESCAPED[8:20]),
    ):
        status, out = ran(LATIN, *command)
        assert (status in (0, 1), name in out) == (True, True), (command, out)
