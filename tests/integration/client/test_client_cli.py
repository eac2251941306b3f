"""The `quizglass` command against a real socket: output, errors and exit statuses."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from quizglass import values
from quizglass.values import Entry, Region
from quizglass_client.cli import main
from quizglass_server.domain import turns as domain
from quizglass_server.errors import EngineFailed, EngineLost
from quizglass_server.policies.table import PolicyStatus
from tests.support.rpc_fakes import EVENTS, png, serving_on_a_thread


@pytest.fixture
def stage(tmp_path):
    with serving_on_a_thread(tmp_path) as made:
        yield made


@pytest.fixture
def quizglass(stage, capsys):
    """Runs the command; gives its exit status, output and errors."""

    def run(*words):
        status = main(["--server", stage.target, *map(str, words)])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    path.write_bytes(png())
    return path


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def test_ask_shows_a_turn(stage, quizglass, photo):
    status, out, err = quizglass(
        "ask", photo, "How much?", "--policy", "both", "--budget", 5, "--max-tokens", 7, "--history", "What?=A car."
    )
    assert (status, out, err) == (0, "45 crowns\n", "")  # no terminal: the answer alone
    policy, budget = stage.assistant.asked[0]
    assert stage.assistant.turns[0].max_answer_tokens == 7
    assert (policy, budget.total_s) == ("both", 5.0)
    assert stage.assistant.turns[0].history == (values.Exchange("What?", "A car."),)
    assert stage.assistant.turns[0].picture.width == 64


def test_a_question_needs_no_quotes(stage, quizglass, photo):
    assert quizglass("ask", photo, "How", "much", "--policy", "both", "is", "this?")[:2] == (0, "45 crowns\n")
    assert stage.assistant.turns[0].question == "How much is this?"
    assert stage.assistant.asked[0][0] == "both"


def test_ask_without_a_picture_as_json_lines(stage, quizglass):
    status, out, _ = quizglass("ask", "-", "How much?", "--json")
    events = objects(out)
    assert status == 0
    assert [event["event"] for event in events][:3] == ["accepted", "plan", "query"]
    assert [event["seq"] for event in events] == list(range(1, 8))
    assert events[1]["plan"] == "both"
    assert events[1]["probabilities"]["text"] == 0.1875
    assert events[-1]["answer"] == "45 crowns"
    assert events[-1]["citations"][0]["evidence_id"] == "1"
    assert stage.assistant.turns[0].picture is None


def test_a_refused_question_fails_and_says_why(quizglass):
    status, out, err = quizglass("ask", "-", " ")
    assert (status, out) == (1, "")
    assert "question: must not be empty" in err


def test_a_turn_that_breaks_in_mid_answer_fails_on_a_line_of_its_own(stage, quizglass):
    async def breaks(turn, policy, budget):
        yield EVENTS[3]
        raise ValueError("secret")

    stage.assistant.script = breaks
    status, out, err = quizglass("ask", "-", "How much?")
    assert status == 1
    assert out.endswith("45\n")
    assert "incident" in err
    assert "secret" not in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask", "none.png", "What?"], "none.png is no file; give a picture"),
        (["ask", "What is this?", "photo.png"], "What is this? is no file; give a picture first"),
        (["chat", "none.png"], "none.png is no file; give a picture"),
        (["memory", "search", "none.png"], "none.png is no file; give a picture"),
        (["memory", "forget", "--frame", "none.png"], "none.png is no file; give a picture"),
        (["knowledge", "search", "--picture", "none.png"], "none.png is no file; give a picture"),
        (["knowledge", "add", "--id", "a", "--title", "A", "--picture", "none.png"], "none.png is no file"),
        (["ask", "-", "What?", "--history", "no answer"], "question=answer"),
        (["knowledge", "search"], "--text"),
        (["knowledge", "import", "nowhere"], "nowhere does not exist"),
        (["knowledge", "import", "."], ". has no text, no picture and no entries.jsonl in it"),
        (["knowledge", "add", "--id", "a", "--title", "A", "--attribute", "year"], "key=value"),
    ],
)
def test_wrong_usage_is_status_2_and_says_what_is_right(quizglass, words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = quizglass(*words)
    assert status == 2
    assert says in err


@pytest.mark.parametrize("words", [[], ["ask"], ["knowledge"], ["ask", "-", "q", "--budget", "soon"], ["fly"]])
def test_wrong_words_are_status_2(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: quizglass" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", [None, 2.5])
def test_an_engine_that_is_paused_says_when_to_try_again(stage, quizglass, seconds):
    async def script(turn, policy, budget):
        raise EngineLost("the generator is paused", retry_after_s=seconds)
        yield

    stage.assistant.script = script
    status, _, err = quizglass("ask", "-", "How much?")
    assert status == 3
    assert f"paused; try again in {'a moment' if seconds is None else '2.5 s'}" in err


@pytest.mark.parametrize("words", [["health"], ["capabilities"], ["ask", "-", "q"], ["knowledge", "list"]])
def test_no_server_is_status_3(words, capsys):
    assert main([*words, "--server", "127.0.0.1:1"]) == 3
    assert "quizglass-server" in capsys.readouterr().err


def test_the_address_of_the_page_is_wrong_usage(capsys):
    assert main(["--server", "http://127.0.0.1:50062", "health"]) == 2
    assert "is no address; give HOST:PORT of the gRPC port" in capsys.readouterr().err.replace("\n", " ")


def test_the_server_can_be_named_by_the_environment(stage, capsys, monkeypatch):
    monkeypatch.setenv("QUIZGLASS_SERVER", stage.target)
    assert main(["health"]) == 0
    assert f"{stage.target} is serving" in capsys.readouterr().out


def write_lines(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(record if isinstance(record, str) else json.dumps(record) + "\n" for record in records))


def test_import_a_folder(stage, quizglass, tmp_path):
    world = tmp_path / "world"
    attributes = {"year": "1974"}
    write_lines(
        world / "entries.jsonl",
        {
            "id": "a",
            "title": "A",
            "kind": "car",
            "caption": "c",
            "text": "t",
            "attributes": attributes,
            "pictures": ["pictures/a.png"],
            "source": "s",
        },
        "\n",
        {"id": "b", "title": "B"},
    )
    (world / "pictures").mkdir()
    (world / "pictures/a.png").write_bytes(png())
    status, out, _ = quizglass("knowledge", "import", world)
    assert (status, out) == (0, "2 entries added, 0 refused\n")
    entry = stage.knowledge.entries["a"]
    assert (entry.title, entry.kind, entry.caption, entry.text) == ("A", "car", "c", "t")
    assert (entry.attributes, entry.source) == (attributes, "s")
    assert stage.knowledge.pictures["a"] == (png(),)


BAD_LINES = [
    ("{not json}\n", "is not JSON"),
    ("[1, 2]\n", "not a JSON object"),
    ({"id": "x", "titel": "X"}, "unknown key 'titel'"),
    ({"id": 5, "title": "X"}, "id: must be a string"),
    ({"id": "x", "title": "X", "attributes": {"year": 1974}}, "attributes"),
    ({"id": "x", "title": "X", "attributes": []}, "attributes"),
    ({"id": "x", "title": "X", "pictures": "a.png"}, "pictures"),
    ({"id": "x", "title": "X", "pictures": ["none.png"]}, "none.png"),
    ({"id": "x", "title": ""}, "title: is missing"),
    ({"id": "x", "title": "\ud800"}, "surrogate"),
    ("[" * 100_000 + "\n", "nested"),
]


@pytest.mark.parametrize(("line", "says"), BAD_LINES)
def test_a_bad_line_is_named_and_does_not_stop_the_others(stage, quizglass, tmp_path, line, says):
    path = tmp_path / "some.jsonl"
    write_lines(path, {"id": "a", "title": "A"}, line, {"id": "b", "title": "B"})
    status, out, err = quizglass("knowledge", "import", path)
    assert status == 1
    assert "2 entries added, 1 refused" in out
    assert f"{path}:2" in err
    assert says in err
    assert sorted(stage.knowledge.entries) == ["a", "b"]


def test_bytes_that_are_no_text_are_a_bad_line(stage, quizglass, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_bytes(b'\xff\n{"id": "a", "title": "A"}\n')
    status, _, err = quizglass("knowledge", "import", path)
    assert status == 1
    assert f"{path}:1: is not UTF-8" in err
    assert sorted(stage.knowledge.entries) == ["a"]


def test_import_as_json(quizglass, tmp_path):
    path = tmp_path / "some.jsonl"
    write_lines(path, "{\n", {"id": "a", "title": "A"}, {"id": "b", "title": ""})
    status, out, _ = quizglass("knowledge", "import", path, "--json")
    (report,) = objects(out)
    assert status == 1
    assert report["added"] == 1
    assert [(r["line"], r["id"], r["field"]) for r in report["refused"]] == [(1, "", ""), (3, "b", "title")]


def test_import_of_many_entries(stage, quizglass, tmp_path):
    path = tmp_path / "some.jsonl"
    write_lines(path, *({"id": f"e{i}", "title": "t"} for i in range(150)))
    assert quizglass("knowledge", "import", path)[0] == 0
    assert stage.knowledge.batches == [64, 64, 22]


def test_a_folder_without_entries_is_named(quizglass, tmp_path):
    status, _, err = quizglass("knowledge", "import", tmp_path)
    assert status == 2
    assert "give entries.jsonl, CSV, Parquet, a MediaWiki dump, or a folder" in err


def test_an_empty_store_is_told_apart_from_the_list(stage, quizglass):
    stage.knowledge.entries.clear()
    status, out, err = quizglass("knowledge", "list")
    assert (status, out) == (0, "")
    assert "nothing is stored yet; quizglass knowledge add photo.jpg" in err.replace("\n", " ")
    assert quizglass("knowledge", "list", "--json")[1:] == ("", "")


def test_add_list_get_search_delete(stage, quizglass, photo):
    words = ["--caption", "c", "--kind", "car", "--source", "s", "--attribute", "year=1974", "--picture", photo]
    assert quizglass("knowledge", "add", "--id", "a", "--title", "A", "--text", "t", *words)[:2] == (0, "added a\n")
    assert stage.knowledge.entries["a"].attributes == {"year": "1974"}
    assert quizglass("knowledge", "list")[1] == "a  A  car\n"
    assert objects(quizglass("knowledge", "list", "--json")[1])[0]["id"] == "a"
    status, out, _ = quizglass("knowledge", "get", "a")
    assert status == 0
    assert "1974" in out
    assert objects(quizglass("knowledge", "get", "a", "--json")[1])[0]["attributes"] == {"year": "1974"}
    status, out, _ = quizglass("knowledge", "search", "--text", "cost?", "--picture", photo)
    assert status == 0
    assert "Velmora" in out
    assert objects(quizglass("knowledge", "search", "--text", "cost?", "--json")[1])[0]["entry_id"] == "velmora"
    assert quizglass("knowledge", "delete", "a")[:2] == (0, "deleted a, A (commit 7)\n")
    status, _, err = quizglass("knowledge", "delete", "a")
    assert status == 1
    assert "there is no entry 'a'" in err


def test_an_attribute_named_as_a_field_hides_nothing_of_an_entry(quizglass):
    quizglass("knowledge", "add", "--id", "a", "--title", "Own", "--language", "de", "--attribute", "title=Other")
    out = quizglass("knowledge", "get", "a")[1]
    assert [line.split() for line in out.splitlines()] == [
        *(["id", "a"], ["title", "Own"], ["language", "de"], ["title", "Other"]),
    ]


def test_add_that_is_refused(quizglass):
    status, out, err = quizglass("knowledge", "add", "--id", "a", "--title", "")
    assert (status, out) == (1, "")
    assert "title: nothing says what it is; give a text or a title" in err


def test_policies_that_lack_the_same_are_told_together(stage, quizglass):
    stage.assistant.policy_statuses = (
        PolicyStatus("quote", ()),
        *(PolicyStatus(name, ("generator",)) for name in ("both", "none")),
    )
    out = " ".join(quizglass("capabilities", "--all")[1].split())
    assert "not served both, none: the bundle has no generator" in out


def test_capabilities_and_health(quizglass):
    status, out, _ = quizglass("capabilities", "--all")
    assert status == 0
    for part in (
        "starter 0.1.0",
        "planning-agent+ (default), none, both",
        "draft-first: the bundle has no tool_router",
        "reranker, coarse_reranker: both",
        "onnx, cpu",
    ):
        assert part in out
    assert "written by the generator" in " ".join(out.split())
    told = objects(quizglass("capabilities", "--json")[1])[0]
    assert told["answers"] == "write"
    assert told["policies"][0] == "planning-agent+"
    assert told["not_served"] == {"draft-first": ["tool_router"]}
    assert told["works_without"] == {"both": ["reranker", "coarse_reranker"]}
    assert quizglass("health", "--json")[0] == 0


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--print-completion", shell])
    assert caught.value.code == 0
    assert "knowledge" in capsys.readouterr().out


def test_an_unread_completion_is_no_traceback():
    command = [sys.executable, "-m", "quizglass_client.cli", "--print-completion", "bash"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_as_a_process_whose_reader_leaves_early(stage):
    stage.knowledge.entries = {f"e{i:04}": Entry(f"e{i:04}", "t" * 100) for i in range(3000)}
    command = [sys.executable, "-m", "quizglass_client.cli", "knowledge", "list"]
    environment = os.environ | {"QUIZGLASS_SERVER": stage.target}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith("e0000")
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 1


@pytest.mark.parametrize("words", [["capabilities"], ["capabilities", "--json"], ["knowledge", "list", "--json"]])
@pytest.mark.parametrize("output", ["full", "closed"])
def test_as_a_process_whose_output_cannot_be_written(stage, words, output):
    stage.knowledge.entries = {"e1": Entry("e1", "An entry")}
    command = [sys.executable, "-m", "quizglass_client.cli", *words]
    environment = os.environ | {"QUIZGLASS_SERVER": stage.target}
    with Path("/dev/full" if output == "full" else os.devnull).open("w") as out:
        run = subprocess.run(
            command,
            env=environment,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            preexec_fn=partial(os.close, 1) if output == "closed" else None,
        )
    told = "quizglass: the output cannot be written: No space left on device\n" if output == "full" else ""
    assert (run.returncode, run.stderr) == (1 if output == "full" else 0, told)


def test_ask_goes_on_with_the_session_of_a_file(stage, quizglass, photo, tmp_path):
    session = tmp_path / "walk.session"
    assert quizglass("ask", photo, "How much is this?", "--session", session)[0] == 0
    assert session.stat().st_mode & 0o777 == 0o600
    first = session.read_bytes()
    assert quizglass("ask", "-", "Who made it?", "--session", session, "--session-id", "walk")[0] == 0
    assert session.read_bytes() != first
    turn = stage.assistant.turns[1]
    assert turn.history[-1] == values.Exchange("How much is this?", "45 crowns")
    assert (turn.picture.width, turn.session) == (64, "walk")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photo.png", "walk.session"]


def test_a_session_that_is_refused_is_removed(stage, quizglass, tmp_path):
    session = tmp_path / "walk.session"
    session.write_bytes(b"forged")
    status, out, err = quizglass("ask", "-", "Who made it?", "--session", session)
    assert (status, out) == (1, "")
    assert "session: is not as a server made it" in err
    assert not session.exists()
    assert quizglass("ask", "-", "Who made it?", "--session", session)[0] == 0


def test_a_session_in_no_folder_is_refused_before_anything_is_asked(stage, quizglass):
    status, _, err = quizglass("ask", "-", "How much?", "--session", "nowhere/walk.session")
    assert status == 2
    assert "there is no folder nowhere" in err
    assert stage.assistant.turns == []


def test_a_session_that_cannot_be_written_is_refused_before_anything_is_asked(stage, quizglass):
    status, out, err = quizglass("ask", "-", "How much?", "--session", "/proc/walk.session")
    assert (status, out) == (1, "")
    assert err.startswith("quizglass: /proc/walk.session: ")
    assert stage.assistant.turns == []


def test_a_session_that_is_no_file_is_wrong(quizglass, tmp_path):
    status, _, err = quizglass("ask", "-", "Who made it?", "--session", tmp_path)
    assert status == 1
    assert "is a folder" in err


def explaining(stage):
    """A turn whose steps are reported where a client asks for that."""
    whole = domain.StepDetail("part", region=Region(0.0, 0.0, 0.5, 1.0))
    passage = domain.StepDetail("passage", "Velmora: The Velmora costs 45 crowns.", 0.5, "1")
    steps = (
        values.StepEnded("embed", "image_encoder", 0.0, 0.02, 0.01, (whole,)),
        values.StepEnded("rerank", "reranker", 0.03, 0.04, 0.0, (), (passage,), round=1, branch="2"),
        values.StepEnded("judge", "verifier", reason="BUDGET"),
    )

    async def script(turn, policy, budget):
        for event in (*(steps if turn.explain else ()), *EVENTS):
            yield event

    stage.assistant.script = script


def test_explain_prints_the_steps_and_the_answer(stage, quizglass, photo):
    explaining(stage)
    assert "steps" not in quizglass("ask", photo, "How much?")[1]
    status, out, err = quizglass("ask", photo, "How much?", "--explain")
    assert (status, err) == (0, "")
    for part in ("45 crowns", "embed", "part 0-50 % across", "round 1", "rerank (2)", "→ [1] Velmora:", "no time"):
        assert part in out, part
    assert "both 0.75" not in out, "what the steps tell is not told twice"
    assert len(stage.assistant.turns) == 2


def test_explain_as_json_has_the_steps(stage, quizglass, photo):
    explaining(stage)
    status, out, _ = quizglass("ask", photo, "How much?", "--explain", "--json")
    found = [event for event in objects(out) if event["event"] == "step"]
    assert (status, [event["name"] for event in found]) == (0, ["decode", "embed", "rerank", "judge"])
    assert (found[2]["round"], found[2]["branch"], found[2]["outputs"][0]["evidence_id"]) == (1, "2", "1")
    assert found[1]["inputs"][0]["region"] == {"left": 0.0, "top": 0.0, "right": 0.5, "bottom": 1.0}


def test_an_explained_turn_is_shown_as_it_happens(stage, quizglass, photo):
    explaining(stage)
    status, out, _ = quizglass("ask", photo, "How much?", "--explain")
    assert status == 0
    for part in ("planning-agent+", "check    supported", "reranker", "The Velmora costs 45 crowns."):
        assert part in out


@pytest.mark.parametrize("ending", ["json", "html"])
def test_a_trace_is_written(stage, quizglass, photo, tmp_path, ending):
    explaining(stage)
    file = tmp_path / f"turn.{ending}"
    status, out, _ = quizglass("ask", photo, "How much?", "--trace", file)
    assert (status, out) == (0, "45 crowns\n")
    text = file.read_text(encoding="utf-8")
    assert "The Velmora costs 45 crowns." in text
    assert ("data:image/jpeg;base64," in text) == (ending == "html")


def test_a_turn_that_fails_leaves_a_trace(stage, quizglass, tmp_path):
    async def script(turn, policy, budget):
        yield values.StepEnded("plan", "planner", reason="FAILED")
        raise EngineFailed("broken")

    stage.assistant.script = script
    status, out, err = quizglass("ask", "-", "How much?", "--explain", "--trace", tmp_path / "turn.json")
    assert (status, "plan" in out, "failed" in out) == (1, True, True)
    assert err
    trace = json.loads((tmp_path / "turn.json").read_text(encoding="utf-8"))
    assert (trace["finished"], [event["event"] for event in trace["events"]]) == (False, ["accepted", "step"])


def test_a_trace_stays_where_a_later_question_comes_to_nothing(stage, quizglass, tmp_path):
    file = tmp_path / "turn.json"
    assert quizglass("ask", "-", "How much?", "--trace", file)[0] == 0
    assert main(["--server", "127.0.0.1:1", "ask", "-", "How much?", "--trace", str(file)]) == 3
    assert json.loads(file.read_text(encoding="utf-8"))["finished"]


@pytest.mark.parametrize("name", ["turn.txt", "turn", "nowhere/turn.html"])
def test_a_trace_that_cannot_be_written_is_refused_before_anything_is_asked(stage, quizglass, name):
    status, _, err = quizglass("ask", "-", "How much?", "--trace", name)
    assert status == 2
    assert name in err
    assert stage.assistant.turns == []
