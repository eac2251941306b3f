"""Questions with a frame that shows nothing known, over the wire, which a note without a picture answers or not."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass.values import Entry
from quizglass_bundle.tuning import Answers
from quizglass_server.domain.entries import ChunkHit
from tests.support.rpc_fakes import Stage, png, serve_stage
from tests.support.turn_fakes import World

WIFI = "Network name: Fjord-5G. Password: 4711."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the network called?", "Network name: Fjord-5G."),
        ("What's the Wi-Fi password?", "Password: 4711."),
        ("When was this bought?", "I don't know"),
        ("When was the mug bought?", "I don't know"),
    ],
)
async def test_a_note_on_the_wifi_answers_about_it_and_not_about_what_is_seen(
    tmp_path: Path, question: str, answer: str
) -> None:
    world = World(quote_accept=0.9, image_accept=0.99, answers=Answers.QUOTE)
    world.knowledge.chunks = [ChunkHit(Entry("wifi", "Home wi-fi", WIFI, source="notes"), WIFI, 0.9)]
    asked_for = "Fjord" if "network" in question else "4711"
    world.models.scores = {asked_for: 0.95}
    made, frame = Stage(tmp_path), types_pb2.Frame(encoded=png())
    made.use(world.assistant, None)
    async with serve_stage(made) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        stub = assistant_pb2_grpc.AssistantServiceStub(channel)
        request = assistant_pb2.AskRequest(question=question, frames=[frame], policy="quote")
        events = [event async for event in stub.Ask(request)]
    assert events[-1].done.answer == answer
