"""`quizglass chat`: a session whose questions are typed, or come as lines of a file."""

import os
import subprocess
import sys
from functools import partial

import pytest

from quizglass.session import Notice, Progress, TurnUpdate
from quizglass.values import AnswerDelta
from quizglass_client.cli.chat import _Talk
from quizglass_client.cli.command import parser
from quizglass_client.terminal.speech import as_line
from quizglass_server.errors import EngineLost
from tests.support.rpc_fakes import png, serving_on_a_thread


def test_a_number_of_words_that_is_none_is_wrong_usage(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["chat", "--words", "-3"])
    assert "'-3' is not a whole number above 0" in capsys.readouterr().err


async def test_chat_tells_of_failures_that_are_of_no_question(capsys):
    class Told:
        async def news(self):
            yield Notice(reason="INVALID_PICTURE", text="frame_begin: this is not a picture")
            yield Notice(ask_id="1", turn_over=True, text="a turn tells of its own")

    arguments = parser().parse_args(["chat"])
    await _Talk(Told(), arguments).tell_news()
    assert capsys.readouterr().err == "quizglass: frame_begin: this is not a picture\n"


def test_chat_as_json_names_its_messages_and_their_events():
    line = as_line(TurnUpdate("1", "t", 2, 0.5, AnswerDelta("45", round=1)))
    assert (line["message"], line["event"], line["text"]) == ("turn", "answer_delta", "45")
    assert (line["ask_id"], line["seq"], line["round"], line["segments"]) == ("1", 2, 1, [])
    assert as_line(Progress("1", "plan", 1.0)) == {
        **{"message": "progress", "ask_id": "1", "stage": "plan"},
        **{"elapsed": 1.0, "left": 0.0},
    }


def test_chat_answers_line_by_line(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "notes.txt").write_text("no picture")
    with serving_on_a_thread(tmp_path) as stage:
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "chat", tmp_path / "a.png"]
        shown = f"/show missing.png\n/show {tmp_path / 'notes.txt'}\n/shwo a.png\n/show\n{'x' * 300_000}\n"
        lines = f"What is this?\n{shown}And how much?\n/stop\n/quit\nnever asked\n"
        run = subprocess.run(command, input=lines, text=True, capture_output=True, timeout=300)
    assert run.returncode == 1
    assert run.stdout.count("45 crowns") >= 2
    assert "missing.png is no file" in run.stderr
    assert "notes.txt is no picture" in run.stderr
    assert "/shwo a.png: there are /show FILE" in run.stderr
    assert "/show: there are /show FILE" in run.stderr
    assert "more than 256000" in run.stderr
    assert [turn.question for turn in stage.assistant.turns] == ["What is this?", "And how much?"]


def typed(target, lines):
    """What becomes of a chat whose input is these bytes, no terminal; without any, its input is closed."""
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", target, "chat"]
    closed = None if lines is not None else partial(os.close, 0)
    environment = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}  # as in most locales
    return subprocess.run(command, input=lines, env=environment, capture_output=True, timeout=300, preexec_fn=closed)


def test_a_chat_whose_input_is_no_text_goes_on_with_the_next_line(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        run = typed(stage.target, b"What is \xff this?\nAnd how much?\n")
        assert (run.returncode, b"45 crowns" in run.stdout) == (1, True)
        assert b"character 8 is no Unicode character" in run.stderr
        assert [turn.question for turn in stage.assistant.turns] == ["And how much?"]


def test_a_picture_waits_for_the_first_question_that_can_be_asked(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    with serving_on_a_thread(tmp_path) as stage:
        typed(
            stage.target,
            f"/show {tmp_path / 'a.png'}\n".encode() + b"What is \xff this?\nWhat is this?\nAnd how much?\n",
        )
        assert [turn.picture is not None for turn in stage.assistant.turns] == [True, False]


def test_a_chat_goes_on_after_a_question_that_an_engine_failed(tmp_path):
    async def fails_once(turn, policy, budget):
        if turn.question == "What is this?":
            raise EngineLost("the generator is being restarted")
        async for event in plain(turn, policy, budget):
            yield event

    with serving_on_a_thread(tmp_path) as stage:
        plain, stage.assistant.script = stage.assistant.script, fails_once
        run = typed(stage.target, b"What is this?\nAnd how much?\n")
    assert (run.returncode, b"45 crowns" in run.stdout) == (1, True)
    assert run.stderr == b"quizglass: the generator is being restarted\n"


def test_a_chat_without_an_input_ends(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        run = typed(stage.target, None)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_a_chat_says_what_can_be_typed(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        run = typed(stage.target, b"/help")
    assert (run.returncode, run.stdout) == (0, b"")
    assert all(each in run.stderr for each in (b"/show FILE", b"/stop", b"/device", b"/forget", b"/help", b"/quit"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/device battery=full", "battery: 'full' is no number of percent"),
        ("/device battery=9 charging=true", "charging: there are battery, heat and link"),
        ("/device heat=mild", "heat: 'mild' is none of normal, warm, hot"),
    ],
)
def test_a_chat_that_is_told_what_no_device_is_fails_and_says_so(tmp_path, line, says):
    with serving_on_a_thread(tmp_path) as stage:
        run = typed(stage.target, line.encode())
    assert (run.returncode, run.stderr.decode()) == (1, f"quizglass: {says}\n")
