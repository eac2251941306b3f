"""What a benchmark's knowledge takes to import, of which no input is odd or damaged: section `articles`.

Writes a file in the form of Encyclopedic-VQA's knowledge (2 M articles, 15 GB), and reads and imports it in a process
of its own, whose largest memory is reported after each eighth of the articles: what stays flat is so at any size.
The server acknowledges without storing: what a store takes is measured in `bench.knowledge`.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import grpc

from bench.results import Row, at_most
from bench.sections import Part
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from quizglass_client import Client
from quizglass_lab.knowledge.finding import find
from quizglass_lab.knowledge.importing import import_once

COUNT = 200_000
MEMORY_MIB = 1024
"""Of an import."""
_PARTS = 8
_WORDS = [f"word{number}" for number in range(4000)]

Told = tuple[int, float, float]
"""Articles so far, seconds, and the largest memory in MiB."""


def write_articles(path: Path, count: int, characters: int) -> None:
    """Articles of about so many characters in four sections, with two pictures' addresses each."""
    random = Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write("{")
        for number in range(count):
            url = f"https://en.wikipedia.org/wiki/Article_{number}"
            texts = [" ".join(random.choices(_WORDS, k=characters // 32)) for _ in range(4)]
            article: dict[str, Any] = {"title": f"Article {number}", "section_titles": ["a", "b", "c", "d"]}
            article |= {"section_texts": texts, "image_urls": [f"{url}/1.jpg", f"{url}/2.jpg"], "url": url}
            article |= {"image_reference_descriptions": ["first", ""], "image_section_indices": [0, 1]}
            file.write(f"{', ' if number else ''}{json.dumps(url)}: {json.dumps(article)}")
        file.write("}")


class _Acknowledging(knowledge_pb2_grpc.KnowledgeServiceServicer, assistant_pb2_grpc.AssistantServiceServicer):
    """A server that takes every entry and keeps none."""

    def AddEntries(self, requests: Iterator[Any], context: object) -> Any:
        return knowledge_pb2.AddEntriesResponse(added=sum(1 for _ in requests))

    def GetCapabilities(self, request: object, context: object) -> Any:
        return assistant_pb2.GetCapabilitiesResponse(useful_picture_side=448)


def _serve(told: Connection) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    both: tuple[Any, ...] = (
        knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
        assistant_pb2_grpc.add_AssistantServiceServicer_to_server,
    )
    for add in both:
        add(_Acknowledging(), server)
    told.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    told.recv()
    server.stop(None)


def _import(path: Path, count: int, port: int, told: Connection) -> None:
    """Import, and tell articles, seconds and largest memory in MiB on the way; begins with that before the first."""
    begun, done = time.monotonic(), 0

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def tick(more: int) -> None:
        nonlocal done
        before, done = done, done + more
        if done * _PARTS // count > before * _PARTS // count:
            told.send((done, time.monotonic() - begun, peak()))

    told.send((0, 0.0, peak()))
    with tempfile.TemporaryDirectory() as out, Client(f"127.0.0.1:{port}") as client:
        import_once(client, find(path), Path(out), "bench", tick)
    told.send(None)


def run(say: Callable[[str], None], count: int, characters: int = 4000) -> Part:
    """Write and import so many articles of so many characters; rows of time and memory."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,))
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encyclopedic_kb_wiki.json"
        say(f"articles: writing {count:,}")
        write_articles(path, count, characters)
        gigabytes = path.stat().st_size / 1e9
        mine, its = context.Pipe()
        reader = context.Process(target=_import, args=(path, count, port, its))
        reader.start()
        told: list[Told] = []
        while (row := mine.recv()) is not None:
            told.append(row)
            say(f"articles: {row[0]:,} imported")
        reader.join()
    ours.send("stop")
    server.join()
    return Part(rows(told, gigabytes), {"articles, seconds, MiB": told})


def rows(told: Sequence[Told], gigabytes: float) -> list[Row]:
    """Time and memory of the whole, and what memory grows by.

    Args:
        told: articles, seconds and largest memory so far; the first before any article, the last of all.
        gigabytes: of the file.

    Raises:
        ValueError: the import ended before all articles were read.
    """
    if len(told) <= _PARTS:
        raise ValueError(f"the import told {len(told)} of {_PARTS + 1} states; see why with the file that it was given")
    (_, _, empty), (count, seconds, most) = told[0], told[-1]
    name = f"articles: {count:,} of Encyclopedic-VQA's form ({gigabytes:.2f} GB)"
    return [
        Row(f"{name}, time of the import", seconds, "s"),
        at_most(f"{name}, memory of the import, at most", most, "MiB", MEMORY_MIB),
        Row(f"{name}, memory that 1,000 articles add", 1000 * (most - empty) / count, "MiB"),
    ]
