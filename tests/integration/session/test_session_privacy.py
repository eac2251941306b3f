"""Privacy that can be checked: what stays on the machine, what is filtered, and what is forgotten."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import grpc
import numpy as np
import pytest

from quizglass.session import (
    Forget,
    Forgotten,
    FrameDrop,
    FrameState,
    FrameStatus,
    Interrupted,
    Kept,
    Notice,
    Open,
    Privacy,
)
from quizglass.v1 import session_pb2, session_pb2_grpc
from quizglass_client import AsyncClient, AsyncSession, ClientError
from quizglass_server.config.load import Settings
from quizglass_server.decoding.filtering import FrameFilter
from quizglass_server.errors import SettingsError
from quizglass_server.scheduling.ledger import handed
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, Stage, png, serve_stage, serving, serving_on_a_thread
from tests.support.sessions.session_links import HOLDER, eventually, link, opened, question, words

ROOT = Path(__file__).parents[3]


def elsewhere(folder):
    """A server with its knowledge behind a network address."""
    stage = Stage(folder)
    settings = Settings(bundle=folder, knowledge="http://127.0.0.1:9", port=0)
    stage.services = replace(stage.services, settings=settings)
    return serve_stage(stage)


# Where it goes


async def test_a_local_session_is_refused_what_would_leave_the_machine(tmp_path):
    async with elsewhere(tmp_path) as stage, opened(stage.target, privacy=Privacy.LOCAL_ONLY) as (made, _):
        name = await made.show(png())
        await made.say(question("a", "What?", name), id=4)
        notice = await made.notice()
        assert (notice.message_id, notice.reason, notice.turn_over) == (4, "NOT_LOCAL", True)
        assert notice.metadata == {"elsewhere": "knowledge"}
        assert stage.assistant.turns == stage.assistant.looked_at == []


async def test_other_sessions_are_answered_and_local_ones_where_all_is_local(tmp_path):
    async with elsewhere(tmp_path) as stage, opened(stage.target) as (made, _):
        await made.say(question("a"))
        assert (await made.done("a")).answer
    async with serving(tmp_path) as stage, opened(stage.target, privacy=Privacy.LOCAL_ONLY) as (made, _):
        await made.say(question("a"))
        assert (await made.done("a")).answer


async def test_a_session_that_is_resumed_stays_local(tmp_path):
    async with elsewhere(tmp_path) as stage:
        async with opened(stage.target) as (first, there):
            await first.say(question("a"))
            await first.done("a")
            again = {"session_id": there.session_id, "last_seq": first.heard[-1][0]}
        for privacy in (Privacy.LOCAL_ONLY, Privacy.ANYWHERE):
            async with link(stage.target) as made:
                await made.say(Open(HOLDER, privacy=privacy, **again), question(f"b{privacy}"))
                assert (await made.notice()).reason == "NOT_LOCAL"
                again["last_seq"] = made.heard[-1][0]


async def test_what_was_said_in_a_local_session_stays_local_where_it_cannot_be_resumed(tmp_path):
    async with elsewhere(tmp_path) as stage:
        async with opened(stage.target, privacy=Privacy.LOCAL_ONLY) as (_, there):
            pass
        async with opened(stage.target, session_id=there.session_id, last_seq=99) as (made, again):
            assert again.restored_reason == "SEQ_AHEAD"
            await made.say(question("a"))
            assert (await made.notice()).reason == "NOT_LOCAL"


@pytest.mark.parametrize("call", ["Converse", "Attach"])
async def test_a_privacy_that_the_server_does_not_know_is_not_taken_for_none(tmp_path, call):
    wish = session_pb2.Open(holder=HOLDER, privacy=7)
    async with serving(tmp_path) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        stub = session_pb2_grpc.SessionServiceStub(channel)
        if call == "Converse":
            link_of = stub.Converse(iter([session_pb2.ClientMessage(open=wish)]))
        else:
            link_of = stub.Attach(session_pb2.AttachRequest(open=wish))
        with pytest.raises(grpc.aio.AioRpcError, match="privacy 7") as refused:
            await anext(aiter(link_of))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_the_python_client_says_why(tmp_path):
    async with elsewhere(tmp_path) as stage, AsyncSession(stage.target, local_only=True) as session:
        with pytest.raises(ClientError, match="LOCAL_ONLY") as refused:
            await session.answer("What?")
        assert refused.value.reason == "NOT_LOCAL"


def alone():
    """A command's beginning by which it has no network; empty where that is not permitted."""
    try:
        permitted = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        permitted = False
    return ["unshare", "-rn"] if permitted else []


@pytest.mark.parametrize("namespace", [False, True])
def test_nothing_of_a_local_session_goes_to_another_machine(namespace):
    prefix = alone() if namespace else []
    if namespace and not prefix:
        pytest.skip("network namespaces are not permitted here")
    command = [
        *prefix,
        sys.executable,
        "-m",
        "tests.support.sessions.local_only_session",
        *(["--alone"] if prefix else []),
    ]
    run = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    assert told["seen"], "the hook sees nothing"
    assert told["answer"] == "45 crowns"
    assert [each for each in told["told"] if "127.0.0.1" not in each] == []


# Which bytes went where


def went(done):
    return {each.to: each for each in done.ledger}


async def test_the_ledger_of_the_first_question_has_what_was_done_ahead_for_its_frame(tmp_path):
    data, looked_at = png(), asyncio.Event()

    async def looking(picture):
        yield "embed"
        handed("image_encoder", picture.pixels.nbytes)
        looked_at.set()

    async with serving(tmp_path) as stage, opened(stage.target) as (made, _):
        stage.assistant.look_ahead = looking
        name = await made.show(data)
        await looked_at.wait()
        await made.say(question("a", "What?", name))
        first = went(await made.done("a"))
        sizes = {"decoder": len(data), "frames": len(data), "image_encoder": 64 * 48 * 3}
        assert {to: entry.bytes for to, entry in first.items()} == sizes
        assert (first["frames"].kept, first["decoder"].kept) == ("frame", "pixels")
        assert not any(entry.elsewhere for entry in first.values())
        await made.say(question("b", "And now?", name))
        assert went(await made.done("b")) == {}


async def test_the_ledger_of_an_ask_has_its_frame_once(tmp_path):
    data = png()
    async with serving(tmp_path) as stage, AsyncClient(stage.target) as client:
        ledgers = [(await client.answer("What?", data)).done.ledger for _ in range(2)]
        assert [[(each.to, each.bytes) for each in ledger] for ledger in ledgers] == [[("decoder", len(data))], []]


async def test_the_ledger_says_what_an_engine_was_handed_and_what_is_elsewhere(tmp_path):
    async def counted(turn, policy, budget):
        handed("generator", 100)
        handed("knowledge", 20)
        handed("generator", 1)
        for event in EVENTS:
            yield event

    async with elsewhere(tmp_path) as stage, AsyncClient(stage.target) as client:
        stage.assistant.script = counted
        done = (await client.answer("What?")).done
        assert [(each.to, each.bytes, each.elsewhere) for each in done.ledger] == [
            ("generator", 101, False),
            ("knowledge", 20, True),
        ]


async def test_a_frame_that_is_filtered_is_handed_to_the_filter(tmp_path, filters):
    async with (
        serving(tmp_path, frame_filter="operators_filters:blackened") as stage,
        AsyncClient(stage.target) as client,
    ):
        ledger = went((await client.answer("What?", png())).done)
        assert (ledger["frame_filter"].bytes, ledger["frame_filter"].kept) == (64 * 48 * 3, "")


# What is seen


def blackened(pixels):
    pixels[:, : pixels.shape[1] // 2] = 0
    return pixels


def broken(pixels):
    raise ValueError("no detector")


def cropped(pixels):
    return pixels[1:]


@pytest.fixture
def filters(monkeypatch):
    monkeypatch.setitem(sys.modules, "operators_filters", sys.modules[__name__])


async def test_a_filter_runs_before_anything_else_sees_a_frame(tmp_path, filters):
    async with (
        serving(tmp_path, frame_filter="operators_filters:blackened") as stage,
        opened(stage.target) as (made, _),
    ):
        name = await made.show(png())
        await made.say(question("a", "What?", name))
        await made.done("a")
        (turn,) = stage.assistant.turns
        assert turn.picture.sha256 == name
        assert not turn.picture.pixels[:, :32].any()
        assert turn.picture.pixels[:, 32:].any()


@pytest.mark.parametrize("name", ["broken", "cropped"])
async def test_a_filter_that_fails_lets_no_frame_through(tmp_path, filters, name):
    async with serving(tmp_path, frame_filter=f"operators_filters:{name}") as stage, opened(stage.target) as (made, _):
        frame = await made.show(png())
        await made.say(question("a", "What?", frame))
        notice = await made.until(Notice, lambda said: said.turn_over)
        assert notice.reason == "FILTER_FAILED"
        assert stage.assistant.turns == stage.assistant.looked_at == []


@pytest.mark.parametrize("name", ["no_such_module:blur", "operators_filters:none", "operators_filters:ROOT", "json"])
def test_a_filter_that_is_not_there_refuses_to_start(filters, name):
    with pytest.raises(SettingsError, match="frame_filter"):
        FrameFilter.named(name)


def test_the_example_of_the_docs_blurs():
    page = (ROOT / "docs" / "session.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.partition("# blur.py\n")[2].partition("```")[0], names)
    code = cv2.QRCodeEncoder.create().encode("badge 4711")
    code = cv2.resize(code, None, fx=8, fy=8, interpolation=cv2.INTER_NEAREST)
    pixels = np.full((400, 500, 3), 255, np.uint8)
    pixels[50 : 50 + len(code), 60 : 60 + len(code)] = code[:, :, None]
    assert cv2.QRCodeDetector().detectAndDecode(pixels)[0] == "badge 4711"
    assert cv2.QRCodeDetector().detectAndDecode(names["codes"](pixels))[0] == ""


# What is forgotten


async def test_forgetting_ends_what_runs_and_gives_a_receipt(tmp_path):
    gate = Gate()
    async with serving(tmp_path, frame_wait_s=0.2) as stage, opened(stage.target) as (made, _):
        data = png()
        name = await made.show(data)
        await made.say(question("a", "What?", name))
        await made.done("a")
        stage.assistant.script = words(2, [(1, gate)])
        await made.say(question("b"))
        await gate.reached.wait()
        await made.say(Forget())
        await made.until(Interrupted)
        receipt = await made.until(Forgotten)
        assert (receipt.frames, receipt.frame_bytes, receipt.pictures, receipt.ended) == (1, len(data), 1, 1)
        assert receipt.exchanges == 2
        assert Kept("caches") in receipt.kept
        await eventually(lambda: stage.assistant.forgotten)
        stage.assistant.script = words(1)
        await made.say(question("c", "And what did I ask?"))
        await made.done("c")
        assert stage.assistant.turns[-1].history == ()
        await made.say(question("d", "What?", name))
        assert (await made.until(Notice, lambda said: said.turn_over)).reason == "NOT_FOUND"


async def test_forgetting_reaches_the_pictures_of_frames_that_are_gone_already(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (made, _):
        name = await made.show(png())
        await made.say(question("a", "What?", name))
        await made.done("a")
        await made.say(FrameDrop(name))
        await made.until(FrameStatus, lambda said: said.state is FrameState.DROPPED)
        await made.say(Forget())
        receipt = await made.until(Forgotten)
        assert (receipt.frames, receipt.pictures) == (0, 1)


def test_chat_forgets_and_shows_the_receipt(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    with serving_on_a_thread(tmp_path) as stage:
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "chat", "--local-only"]
        typed = "What?\n/forget\nAnd?\n"
        run = subprocess.run(
            [*command, tmp_path / "a.png"], input=typed, text=True, capture_output=True, timeout=300, check=False
        )
    assert run.returncode == 0, run.stderr
    assert "forgotten: 1 pictures, 1 exchanges; kept: caches" in run.stderr
