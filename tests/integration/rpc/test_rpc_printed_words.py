"""Questions about a drawn menu over the wire, whose words the server reads itself."""

from __future__ import annotations

import io
from pathlib import Path

import grpc
import pytest
from PIL import Image, ImageDraw, ImageFont

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_bundle.tuning import Answers
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.roles.reader import READER, RapidOcrReader
from tests.support.rpc_fakes import Stage, serve_stage
from tests.support.turn_fakes import World

MENU = ("Mains", "Goulash 14.20", "Gnocchi 11.00", "Trout 16.80", "Desserts", "Tiramisu 5.20", "Panna cotta 4.90")


def drawn(lines: tuple[str, ...]) -> bytes:
    """A white card with dark lines, as a PNG."""
    card = Image.new("RGB", (640, 60 + 80 * len(lines)), "white")
    font = ImageFont.load_default(44)
    for at, line in enumerate(lines):
        ImageDraw.Draw(card).text((40, 40 + 80 * at), line, "black", font=font)
    out = io.BytesIO()
    card.save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def world() -> World:
    """An assistant that recognises nothing, with a reader that reads and a reranker that finds no answer."""
    world = World(quote_accept=0.9, answers=Answers.QUOTE)
    world.knowledge.entries.clear()
    world.models.scores = {"": 0.001}
    return world


async def test_a_drawn_menu_is_read_out_listed_and_compared(tmp_path: Path, world: World) -> None:
    pool, answers = EnginePool(1), dict[str, str]()
    world.models[READER] = RapidOcrReader(pool)
    frame = types_pb2.Frame(encoded=drawn(MENU))
    try:
        made = Stage(tmp_path)
        made.use(world.assistant, None)
        async with serve_stage(made) as stage, grpc.aio.insecure_channel(stage.target) as channel:
            stub = assistant_pb2_grpc.AssistantServiceStub(channel)
            for question in ("Read me the menu", "What desserts do they have?", "What's the cheapest main?"):
                request = assistant_pb2.AskRequest(question=question, frames=[frame], policy="quote")
                events = [event async for event in stub.Ask(request)]
                done = events[-1].done
                answers[question] = done.answer
                assert [done.answer[each.start : each.end] for each in done.citations] == [done.answer]
    finally:
        pool.close()
    assert answers == {
        "Read me the menu": " ".join(MENU),
        "What desserts do they have?": "Desserts: Tiramisu 5.20; Panna cotta 4.90",
        "What's the cheapest main?": "Gnocchi 11.00",
    }
