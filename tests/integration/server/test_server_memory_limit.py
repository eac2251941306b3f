"""A real server under a limit of address space little above what it has: it refuses, and does not die."""

import io
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from PIL import Image

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_client import Client, ClientError, Overloaded
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.draw import draw_thing
from quizglass_lab.pocketworld.world import core_world

THING = core_world().things[0]
MB = 10**6
AT_ONCE = 8


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def picture(shade: int) -> bytes:
    """One that no cache has seen."""
    image = draw_thing(THING.look, 224)
    image.putpixel((0, 0), (shade, 0, 0))
    return png(image)


def large(shade: int) -> bytes:
    """Forty megapixels: 120 MB decoded, a few hundred kilobytes sent."""
    return png(Image.new("RGB", (8_000, 5_000), (shade, 90, 160)))


@contextmanager
def limited(pid: int, more: int) -> Iterator[None]:
    """So many bytes of address space above what the process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    before = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + more, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_AS, before)


def became(client: Client, shade: int, frame: Callable[[int], bytes] = picture) -> str:
    try:
        client.answer("What colour is this?", frame(shade))
    except ClientError as error:
        return type(error).__name__
    return "answered"


def test_large_pictures_one_after_the_other_fit_what_one_of_them_takes(starter_bundle: Path, tmp_path: Path) -> None:
    with (
        LocalServer(starter_bundle, tmp_path / "knowledge", flags=["--work-memory-bytes", str(256 << 20)]) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        ask = assistant_pb2_grpc.AssistantServiceStub(channel).Ask  # the SDK would make them smaller
        for shade in range(3):
            frame = types_pb2.Frame(encoded=large(shade))
            events = ask(assistant_pb2.AskRequest(question="What colour is this?", frames=[frame]), timeout=60)
            assert [event.WhichOneof("event") for event in events][-1] == "done"


def test_turns_near_the_limit_of_memory_are_refused_by_the_servers_own_budget(
    starter_bundle: Path, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    with (
        LocalServer(starter_bundle, tmp_path / "knowledge", log=log) as server,
        Client(server.target, timeout=60) as client,
        ThreadPoolExecutor(AT_ONCE) as askers,
    ):
        with limited(server.pid, 60 * MB):  # before the first turn, which makes most of what a server keeps
            near = list(askers.map(lambda shade: became(client, shade), range(2 * AT_ONCE)))
            near += askers.map(lambda shade: became(client, shade, large), range(2))
        with limited(server.pid, 10 * MB):
            beyond = [became(client, 100 + shade) for shade in range(3)]
        assert set(near) <= {"answered", Overloaded.__name__}, near
        assert set(beyond) == {Overloaded.__name__}, beyond
        assert client.answer("What colour is this?", picture(255)).text
        assert became(client, 3, large) == "answered"
    assert "MemoryError" not in log.read_text()
