"""`python -m bench.imports.articles [--articles N] [--characters N]`: what a benchmark's knowledge takes to import.

Writes a file in the form of Encyclopedic-VQA's knowledge (2 M articles, 15 GB), and reads and imports it in a process
of its own, whose largest memory is printed after each eighth of the articles: what stays flat is so at any size.
The server acknowledges without storing: what a store takes is measured in `bench.knowledge`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent import futures
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import grpc

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from quizglass_client import Client
from quizglass_lab.knowledge.finding import find
from quizglass_lab.knowledge.importing import import_once

_PARTS = 8
_WORDS = [f"word{number}" for number in range(4000)]


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


def main(arguments: list[str] | None = None) -> int:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=200_000)
    parser.add_argument("--characters", type=int, default=4000)
    args = parser.parse_args(arguments)
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,))
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encyclopedic_kb_wiki.json"
        write_articles(path, args.articles, args.characters)
        print(f"{args.articles:,} articles, {path.stat().st_size / 1e9:.2f} GB")
        print("| articles | seconds | largest memory, MiB |\n|---|---|---|")
        mine, its = context.Pipe()
        reader = context.Process(target=_import, args=(path, args.articles, port, its))
        reader.start()
        while (row := mine.recv()) is not None:
            print(f"| {row[0]:,} | {row[1]:.0f} | {row[2]:.0f} |", flush=True)
        reader.join()
    ours.send("stop")
    server.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
