"""`quizglass chat`: a session whose questions are typed, or come as lines of a file."""

import asyncio
import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from bench.session.cutting_proxy import Cut, cutting_proxy
from quizglass.session import Notice, Progress, TurnUpdate
from quizglass.values import AnswerDelta
from quizglass_client.cli.chat import _Talk
from quizglass_client.cli.command import parser
from quizglass_client.terminal.speech import as_line
from quizglass_server.errors import EngineLost
from quizglass_server.session.dialogue.token import DialogueSealer
from tests.support.rpc_fakes import Stage, png, serve_stage, serving, serving_on_a_thread
from tests.support.sessions.session_links import WAIT_S


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
            f"/show {tmp_path / 'a.png'}\n".encode() + b"What is \xff this?\nWhat is this?\nWho founded Jolawex?\n",
        )
        assert [turn.picture is not None for turn in stage.assistant.turns] == [True, False]


def test_a_chat_goes_on_about_its_picture_until_another_thing_is_named(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    questions = "What is this?", "And when?", "For how much?", "How old is he?", "Who founded Jolawex?", "And when?"
    with serving_on_a_thread(tmp_path) as stage:
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "chat", tmp_path / "a.png"]
        run = subprocess.run(command, input="\n".join(questions), text=True, capture_output=True, timeout=300)
    assert (run.returncode, run.stdout.count("45 crowns")) == (0, 6)
    assert [turn.question for turn in stage.assistant.turns] == [*questions]
    assert [turn.picture is not None for turn in stage.assistant.turns] == [True, True, True, True, False, False]


async def _typed(chat, line):
    """What a chat says to a line, up to its answer."""
    chat.stdin.write(f"{line}\n".encode())
    await chat.stdin.drain()
    async with asyncio.timeout(WAIT_S):
        return (await chat.stdout.readline()).decode()


@pytest.mark.parametrize("same_keys", [True, False])
async def test_a_chat_shows_its_picture_again_to_a_server_that_was_started_anew(tmp_path, same_keys):
    (tmp_path / "a.png").write_bytes(png())
    async with serving(tmp_path) as one, cutting_proxy(one.rpc.port) as proxy:
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", proxy.target, "chat", tmp_path / "a.png"]
        pipe = asyncio.subprocess.PIPE
        chat = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        assert "45 crowns" in await _typed(chat, "What is this?")
        two = Stage(tmp_path)
        if not same_keys:
            two.services = replace(two.services, sealer=DialogueSealer([b"\1" * 32], 60))
        async with serve_stage(two):
            proxy.move(two.rpc.port)
            proxy.cut(Cut.RST)
            async with asyncio.timeout(WAIT_S):
                while b"the link is back" not in await chat.stderr.readline():
                    pass
            assert "45 crowns" in await _typed(chat, "And when?")
            assert "45 crowns" in await _typed(chat, "What colour is this?")
            _, errors = await chat.communicate(b"/quit\n")
        assert (chat.returncode, errors) == (0, b"")
        shown = hashlib.sha256(png()).digest()
        assert [turn.picture.sha256 for turn in two.assistant.turns] == [shown, shown]


def test_a_picture_that_a_later_server_has_not_is_asked_for_in_plain_words(tmp_path):
    (tmp_path / "a.png").write_bytes(png())

    def ask(target, *question):
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", target, "ask", "--session", "s", *question]
        return subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=300)

    with serving_on_a_thread(tmp_path) as one:
        assert ask(one.target, "a.png", "What is this?").returncode == 0
    with serving_on_a_thread(tmp_path) as two:
        gone = ask(two.target, "-", "And when?")
        assert "the picture that this question is about is not held any more; show it again" in gone.stderr
        assert not any(word in gone.stderr for word in ("frames", "session:", "NOT_FOUND"))
        assert ask(two.target, "a.png", "And when?").returncode == 0
    assert [turn.picture is not None for turn in two.assistant.turns] == [True]


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
