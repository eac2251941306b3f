"""Markup that would take for ever costs a process of its own, and neither the server nor the next text."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from quizglass_server.decoding.markup import converter as converters
from quizglass_server.decoding.markup.blocks import Block, blocks, plain
from quizglass_server.decoding.markup.child import packed, unpacked
from quizglass_server.decoding.markup.converter import Converter
from quizglass_server.errors import KnowledgeFailed

LONG = "# Velmora\n\nA *red* car.\n\n" + "A sentence about it.\n\n" * 200
SLOW = "[[a](" * 36_000  # takes seconds, even on a quiet machine
ROOT = Path(__file__).parents[4]


@contextmanager
def converting(us_a_character=15.0):
    converter = Converter(us_a_character)
    try:
        yield converter
    finally:
        converter.close()


async def test_long_markup_is_converted_as_short_markup_is():
    with converting() as converter:
        assert await converter.blocks(LONG, "markdown") == blocks(LONG, "markdown")
        page = "<h1>A</h1><p>one</p><h2>B</h2>" + "<p>more</p>" * 500
        assert await converter.blocks(page, "html") == blocks(page, "html")


async def test_a_text_that_takes_too_long_is_read_as_plain_text_and_the_next_one_is_converted(caplog):
    with converting(0.1) as converter:
        before = time.process_time()
        assert await converter.blocks(SLOW, "markdown") == plain(SLOW, "markdown")
        assert await converter.blocks(LONG, "markdown") == blocks(LONG, "markdown")
        assert time.process_time() - before < 2  # of this process: the other has had its seconds
    assert "markup that takes too much time or memory" in caplog.text


async def test_the_event_loop_and_other_threads_go_on_meanwhile():
    with converting(0.1) as converter:
        text = asyncio.create_task(converter.blocks(SLOW, "markdown"))
        turns = 0
        while not text.done():
            await asyncio.to_thread(lambda: None)
            await asyncio.sleep(0.001)  # the other process yields to whoever is busy
            turns += 1
        assert turns > 10  # seconds pass; none comes while others have the interpreter's lock


async def test_it_is_of_the_servers_session_beside_which_its_niceness_counts():
    with converting() as converter:
        await converter.blocks(LONG, "markdown")
        pid = converter._process.pid
        assert os.getsid(pid) == os.getsid(0)
        assert os.getpgid(pid) == pid  # a Ctrl-C in the terminal does not reach it


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_process_that_dies_is_replaced(death):
    with converting() as converter:
        await converter.blocks(LONG, "markdown")
        os.kill(converter._process.pid, death)
        converter._process.wait()
        assert await converter.blocks(LONG, "markdown") == blocks(LONG, "markdown")


async def test_a_process_that_had_nothing_to_do_and_leaves_as_it_is_asked_is_replaced():
    with converting() as converter:
        gone = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: ASYNC220  # at once
        gone.wait()
        gone.poll = lambda: None  # as it looks just before
        converter._process = gone
        assert await converter.blocks(LONG, "markdown") == blocks(LONG, "markdown")


async def test_that_it_cannot_be_started_is_said_and_refuses_nothing_for_ever(monkeypatch):
    with converting() as converter:
        with monkeypatch.context() as patched:
            patched.setattr(converters.sys, "executable", "/nowhere/python")
            with pytest.raises(KnowledgeFailed, match="cannot be started"):
                await converter.blocks(LONG, "markdown")
        with monkeypatch.context() as patched:
            patched.setattr(converters.sys, "executable", "true")
            with pytest.raises(KnowledgeFailed, match="status 0"):
                await converter.blocks(LONG, "markdown")
        assert await converter.blocks(LONG, "markdown") == blocks(LONG, "markdown")


async def test_a_conversion_under_way_does_not_delay_closing():
    with converting() as converter:
        await converter.blocks(LONG, "markdown")
        os.kill(converter._process.pid, signal.SIGSTOP)
        text, next_one = (asyncio.create_task(converter.blocks(LONG, "markdown")) for _ in range(2))
        await asyncio.sleep(0)  # both are with the thread now
        async with asyncio.timeout(60):
            await asyncio.to_thread(converter.close)
        for waiting in (text, next_one, converter.blocks(LONG, "markdown")):
            with pytest.raises(KnowledgeFailed, match="the server is stopping"):
                await waiting
        assert converter._process is None


def test_the_process_ends_with_the_server_though_it_has_no_time_to_say_so():
    code = (
        "import asyncio\nfrom quizglass_server.decoding.markup.converter import Converter\n"
        "async def main():\n"
        "    converter = Converter()\n"
        "    await converter.blocks('# a\\n\\nb\\n\\n' * 500, 'markdown')\n"
        "    print(converter._process.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    server = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    child = os.pidfd_open(int(server.stdout.readline()))
    os.kill(int(Path(f"/proc/self/fdinfo/{child}").read_text().split("Pid:")[1].split()[0]), signal.SIGSTOP)
    server.kill()
    server.wait()
    server.stdout.close()
    assert select.select([child], [], [], 30)[0], "it was stopped, and lives on"
    os.close(child)


def test_headings_are_sent_once_however_many_blocks_they_stand_above():
    made = [Block(("A" * 200, "B"), str(number)) for number in range(1000)] + [Block((), "end")]
    assert unpacked(packed(made)) == made
    assert len(str(packed(made))) < 30_000
