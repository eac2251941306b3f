"""What the peer of a session is sent."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.session import beside, coaching
from bench.session.cutting_proxy import cutting_proxy
from quizglass_server.domain.turns import Picture, Vector


async def test_the_peer_gets_picture_and_dialogue_in_every_request_and_all_of_it_is_counted() -> None:
    bodies: list[dict[str, Any]] = []
    sizes: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(int(line[15:]) for line in head.decode().split("\r\n") if line.startswith("Content-Length:"))
        bodies.append(json.loads(await reader.readexactly(size)))
        sizes.append(len(head) + size)
        chunks = [{"role": "assistant"}, {"content": f"answer {len(bodies)}"}]
        events = "".join(f"data: {json.dumps({'choices': [{'delta': each}]})}\n\n" for each in chunks)
        writer.write(f"HTTP/1.1 200 OK\r\n\r\n{events}data: [DONE]\n\n".encode())
        writer.close()

    async with (
        await asyncio.start_server(serve, "127.0.0.1", 0) as server,
        cutting_proxy(server.sockets[0].getsockname()[1]) as proxy,
    ):
        up, took = await beside._with_peer(proxy, "What is this?", b"picture")
    assert len(took) == len(bodies) == 8
    assert up == sum(sizes)
    for count, body in enumerate(bodies):
        first, *rest = body["messages"]
        assert [part["type"] for part in first["content"]] == ["image_url", "text"]
        assert first["content"][0]["image_url"]["url"] == "data:image/jpeg;base64,cGljdHVyZQ=="
        said = [text for at in range(count) for text in (f"answer {at + 1}", beside.LATER[at])]
        assert [each["content"] for each in rest] == said


async def test_what_judging_adds_is_measured_on_pictures_that_no_cache_has_seen() -> None:
    seen: list[bytes] = []

    class Encoder:
        dimension, fingerprint = 1, ""

        async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
            seen.extend(picture.sha256 for picture in pictures)
            return [np.ones(1, np.float32) for _ in pictures]

    frames = [np.full((32, 32, 3), light, np.uint8) for light in (0, 255)]
    assert len(await coaching._added_ms(Encoder(), frames, 3)) == 3
    assert len(set(seen)) == len(seen)
