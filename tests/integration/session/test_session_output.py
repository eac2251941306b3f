"""An output profile over a real socket: what comes of a question on glasses that speak, or show a few lines."""

import subprocess
import sys

from quizglass.session import Interrupted, Markup, OutputProfile, Playback, Speech, TurnUpdate
from quizglass.values import AnswerDelta, Done, FinishReason, Verdict, VerdictOutcome
from quizglass_client import AsyncSession
from tests.support.gate import Gate
from tests.support.rpc_fakes import serving, serving_on_a_thread
from tests.support.sessions.session_links import opened, question, words

SPOKEN = OutputProfile(max_words=5, markup=Markup.NONE, speech=Speech.ENGLISH)


def writing(text, gate=None):
    async def script(turn, policy, budget):
        if gate is not None:
            await gate()
        yield AnswerDelta(text)
        yield Done(text, FinishReason.COMPLETE)

    return script


def segments(link, ask_id):
    updates = (said for _, said in link.heard if isinstance(said, TurnUpdate) and said.ask_id == ask_id)
    return [segment for update in updates for segment in update.segments]


async def test_segments_are_shaped_the_answer_is_not_and_the_rest_can_be_asked_for(tmp_path):
    written = "**It** is 3 km. Take bus 12. Good luck."
    async with serving(tmp_path) as stage, opened(stage.target, output=SPOKEN) as (link, _):
        stage.assistant.script = writing(written)
        await link.say(question("a"))
        assert (await link.done("a")).answer == written
        assert [each.text for each in segments(link, "a")] == ["It is three kilometres."]
        await link.say(question("b", "Go on"))
        await link.done("b")
        assert [each.text for each in segments(link, "b")] == ["Take bus twelve.", " Good luck."]
        assert len(stage.assistant.turns) == 1


async def test_a_display_gets_lines_that_fit(tmp_path):
    async with (
        serving(tmp_path) as stage,
        opened(stage.target, output=OutputProfile(max_lines=2, max_columns=10)) as (link, _),
    ):
        stage.assistant.script = writing("The tower is 中中中 high and \x1b[2Jold.")
        await link.say(question("a"))
        await link.done("a")
        assert [each.lines for each in segments(link, "a")] == [("The tower", "is 中中中"), ("high and", "[2Jold.")]


async def test_a_lead_in_comes_when_the_answer_takes_long_and_is_no_part_of_it(tmp_path):
    gate, output = Gate(), OutputProfile(lead_in_after=0.1, lead_in="Moment.")
    async with serving(tmp_path) as stage, opened(stage.target, output=output) as (link, _):
        stage.assistant.script = writing("It is red.", gate)
        await link.say(question("a"))
        led = await link.until(TurnUpdate, lambda said: bool(said.segments))
        assert (led.event, led.segments[0].text, led.segments[0].lead_in) == (None, "Moment.", True)
        await link.say(Playback("a", 0, 7))
        gate.open.set()
        assert (await link.done("a")).answer == "It is red."
        await link.say(Playback("a", 1, 5), question("b", "And what else?"))
        await link.done("b")
        exchange = stage.assistant.turns[1].history[-1]
        assert exchange.answer == "It is"


async def test_an_interrupted_answer_keeps_what_there_was_no_room_for(tmp_path):
    gate = Gate()
    async with serving(tmp_path) as stage, opened(stage.target, output=OutputProfile(max_words=5)) as (link, _):
        stage.assistant.script = words(9, [(8, gate)])
        await link.say(question("a"))
        await gate.reached.wait()
        await link.say(question("b", "Other?"))
        interrupted = await link.until(Interrupted)
        assert (interrupted.heard, interrupted.unheard) == ("w0. w1. w2. w3. w4.", "w5. w6. w7.")


async def test_the_python_client_asks_for_an_output_profile(tmp_path):
    async with serving(tmp_path) as stage, AsyncSession(stage.target, output=SPOKEN) as session:
        stage.assistant.script = writing("It is 3 km.")
        turn = await session.ask("How far?")
        said = [segment.text async for update in turn for segment in getattr(update, "segments", ())]
        assert said == ["It is three kilometres."]
        assert (await turn.answer()).text == "It is 3 km."


def test_chat_shows_answers_as_glasses_would(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        stage.assistant.script = writing("It is **3 km**. Take bus 12 there now.")
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "chat"]
        shown = ["--spoken", "--words", "5", "--columns", "12", "--lines", "1"]
        run = subprocess.run([*command, *shown], input="How far?\n", text=True, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert [line.split(maxsplit=1)[1] for line in run.stdout.splitlines() if line.startswith("says")] == [
        "It is three",
        "kilometres.",
    ]


async def test_a_doubtful_answer_says_so_to_whoever_only_listens_and_the_dialogue_does_not_hear_it(tmp_path):
    async def script(turn, policy, budget):
        yield AnswerDelta("It is 3 km.")
        yield Verdict(VerdictOutcome.UNSUPPORTED, 0.5, 0.5)
        yield Done("It is 3 km.", FinishReason.COMPLETE)

    async with serving(tmp_path) as stage, opened(stage.target, output=SPOKEN) as (link, _):
        stage.assistant.script = script
        await link.say(question("a"))
        assert (await link.done("a")).answer == "It is 3 km."
        said = segments(link, "a")
        assert [each.text for each in said] == ["It is three kilometres.", " But nothing I found confirms that."]
        assert [each.doubt for each in said] == [False, True]
        last = said[-1]
        await link.say(Playback("a", last.index, len(last.text)), question("b", "And now?"))
        await link.done("b")
        (earlier,) = stage.assistant.turns[-1].history
        assert earlier.answer == "It is three kilometres."
