"""A real server on the starter bundle with its knowledge in a Milvus of its own process, which dies and comes back."""

import io
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass_client import Answer, Client, Entry, NotSupported, ServerUnavailable
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.draw import draw_thing
from quizglass_lab.pocketworld.world import core_world
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.knowledge.backends import free_port, milvus_process

THING = core_world().things[0]
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
TOKEN = "root:never-shown"


def picture() -> bytes:
    out = io.BytesIO()
    draw_thing(THING.look, 224).save(out, "PNG")
    return out.getvalue()


PICTURE = picture()
GIVEN = Entry(
    "thing",
    "Zubol",
    kind=THING.kind,
    caption="The Zubol is here.",
    text="The Zubol costs 12 crowns.",
    attributes={"price": "12 crowns"},
    pictures=(PICTURE,),
)


def ask(client: Client) -> Answer:
    return client.answer("How much does the Zubol cost?", PICTURE, policy="both")


def found_in(answer: Answer) -> set[str]:
    return {evidence.entry_id for evidence in answer.evidence}


def wait_for_health(target: str, status: int) -> None:
    """Wait until the health service says so of the knowledge: it tells whoever watches."""
    with grpc.insecure_channel(target) as channel:
        asked = health_pb2.HealthCheckRequest(service="quizglass.knowledge")
        for said in health_pb2_grpc.HealthStub(channel).Watch(asked, timeout=300):
            if said.status == status:
                return


def test_turns_look_up_in_milvus_and_go_on_without_it_while_it_is_gone(starter_bundle: Path, tmp_path: Path) -> None:
    port, token, log = free_port(), tmp_path / "token", tmp_path / "server.log"
    token.write_text(TOKEN)
    flags = ("--knowledge-timeout-s", "30", "--knowledge-collections", "shop", "--knowledge-token-file", str(token))
    with milvus_process(tmp_path / "milvus", port) as process:
        server = LocalServer(starter_bundle, f"http://127.0.0.1:{port}", flags=flags, log=log)
        with server, Client(server.target, timeout=60) as client:
            assert client.add_entries([GIVEN]).added == 1
            answer = ask(client)
            assert "thing" in found_in(answer)
            assert not answer.done.skipped
            assert (client.capabilities().knowledge, client.capabilities().knowledge_ready) == ("milvus", True)
            _what_it_does_not_do(client)
            process.kill()
            process.wait()
            _gone(client)
            wait_for_health(server.target, NOT_SERVING)
            with milvus_process(tmp_path / "milvus", port):
                wait_for_health(server.target, SERVING)
                assert "thing" in found_in(ask(client))
                assert client.add_entries([Entry("other", "Other", text="Words.")]).added == 1
                assert client.capabilities().entries == 2
    said = log.read_text()
    assert "Milvus does not answer" in said
    assert "Milvus answers again" in said
    assert "never-shown" not in said
    assert "Zubol" not in said


def _what_it_does_not_do(client: Client) -> None:
    digest = client.get_entry("thing").picture_sha256[0]
    for call in (lambda: client.get_picture(digest), client.compact):
        with pytest.raises(NotSupported, match="Milvus") as refused:
            call()
        assert (refused.value.status, refused.value.reason) == ("UNIMPLEMENTED", "NOT_SUPPORTED")
        assert refused.value.metadata["backend"] == "milvus"


def _gone(client: Client) -> None:
    answer = ask(client)
    assert {each.step: each.reason for each in answer.done.skipped} == {
        "image_search": "FAILED",
        "text_search": "FAILED",
    }
    assert "thing" not in found_in(answer)
    for call in (
        lambda: client.search("Zubol"),
        lambda: client.get_entry("thing"),
        lambda: client.add_entries([Entry("other", "Other", text="Words.")]),
    ):
        with pytest.raises(ServerUnavailable) as refused:
            call()
        assert refused.value.reason == "KNOWLEDGE_LOST"
    found = client.capabilities()
    assert (found.knowledge, found.knowledge_ready) == ("milvus", False)
    assert client.healthy(), "the server as a whole serves"


def test_a_file_of_milvus_lite_is_a_knowledge_store_too(starter_bundle: Path, tmp_path: Path) -> None:
    place = f"milvus:{tmp_path / 'knowledge.db'}"
    with LocalServer(starter_bundle, place) as server, Client(server.target, timeout=60) as client:
        assert client.add_entries([GIVEN]).added == 1
        assert "thing" in found_in(ask(client))
    assert (tmp_path / "knowledge.db").exists()


def test_a_milvus_that_is_not_there_ends_the_start(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle")
    flags = ("--port", "0", "--knowledge-timeout-s", "0.2", "--bundle", str(bundle))
    command = [sys.executable, "-m", "quizglass_server.cli", "--knowledge", f"http://127.0.0.1:{free_port()}", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 4
    assert "Milvus does not answer" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_commands_on_files_say_that_there_are_none(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quizglass_server.knowledge", "verify", "http://127.0.0.1:19530"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 2
    assert "knowledge in Milvus has no files here" in ended.stderr
