"""Spans of a server process, as a collector on this machine gets them; and collectors that are none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import grpc
import pytest

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from quizglass_server.observe.tracing import ATTRIBUTES
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.collector import collecting
from tests.support.engines.generator_process import PATIENCE_S
from tests.support.rpc_fakes import png

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
pytest.importorskip("opentelemetry.exporter", reason="the extra otel is not installed")

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
CANARY = "canary9152"


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_a_turn_and_its_stages_are_spans_of_the_callers_trace_without_a_word_of_it(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    token, record = made(f"glasses-{CANARY}", list(Permission), None)
    TokenFile(tokens).add(record)
    metadata = (("traceparent", TRACEPARENT), ("authorization", f"Bearer {token}"))
    picture = png(colour="green") + CANARY.encode()
    with collecting() as collector:
        flags = ["--traces-url", collector.url, "--tokens", str(tokens), "--web-port", "0"]
        with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as running:
            with grpc.insecure_channel(running.target) as channel:
                stub = assistant_pb2_grpc.AssistantServiceStub(channel)  # type: ignore[no-untyped-call]
                frames = [types_pb2.Frame(encoded=picture)]
                question = f"What is {CANARY}?"
                request = assistant_pb2.AskRequest(question=question, frames=frames, policy="none", session_id=CANARY)
                answer = list(stub.Ask(request, metadata=metadata, timeout=PATIENCE_S))[-1].done.answer
                with pytest.raises(grpc.RpcError):
                    list(stub.Ask(assistant_pb2.AskRequest(question="?", policy=CANARY), metadata=metadata))
            chat = b'{"model": "none", "messages": [{"role": "user", "content": "What is canary9152?"}]}'
            headers = {"content-type": "application/json", **dict(metadata)}
            urlopen(Request(f"{running.web}/v1/chat/completions", data=chat, headers=headers)).read()
        spans = collector.spans()
    turns = [span for span in spans if span.name == "turn"]
    assert len(turns) == 2
    for span in spans:
        assert span.trace_id.hex() == TRACE
        assert set(attributes(span)) <= set(ATTRIBUTES)
        assert not span.events
    assert {turn.parent_span_id.hex() for turn in turns} == {PARENT}
    assert attributes(turns[0])["quizglass.policy"] == "none"
    stages = {span.name: span for span in spans if span.parent_span_id == turns[0].span_id}
    assert {"queue", "decode", "generate"} <= set(stages)
    assert attributes(stages["generate"])["gen_ai.usage.input_tokens"] > 0
    sent = b"".join(collector.bodies)
    for secret in (CANARY, token, record.sha256, answer):
        assert secret
        assert secret.encode() not in sent


@contextmanager
def silent() -> Iterator[str]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as there:
        yield f"http://127.0.0.1:{there.getsockname()[1]}"


def test_a_collector_that_never_answers_keeps_no_turn_and_no_stop(tmp_path: Path) -> None:
    with silent() as url:
        flags = ["--traces-url", url]
        with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as running:
            with Client(running.target, timeout=PATIENCE_S) as client:
                for _ in range(3):
                    client.answer("What is this?", policy="none")
            process = running._process
            assert process is not None
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
