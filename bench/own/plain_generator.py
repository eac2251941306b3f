"""What a generator is worth without this project around it: llama-server on the bundle's model, asked in two ways.

Alone it gets the question. Behind a text search it gets the notes, too, that the bundle's own text encoder finds
nearest to the question's words, which is what most programs with a vector store do. Both are asked greedily with the
bundle's own answer prompt, which is what its model was taught or its chat format, and no picture reaches either.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np

from bench.own.asking import BUDGET_S, Told
from bench.own.dataset import OwnThing
from quizglass_bundle.files import Bundle
from quizglass_bundle.inputs.prompts import filled, load_template
from quizglass_bundle.parts import ANSWER, GeneratorPart
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.roles.text_encoder import OnnxTextEncoder
from quizglass_server.scheduling.cores import usable_cores

ALONE = "generator alone"
SEARCHED = "text search and llama-server"
_START_S = 120.0
_ANSWER_S = 5 * BUDGET_S
"""On a busy machine, too, an answer is slow rather than missing."""
_POLL_S = 0.05


@dataclass(frozen=True)
class NearestNotes:
    """All notes with their vectors, one a row."""

    encoder: OnnxTextEncoder
    texts: Sequence[str]
    vectors: np.ndarray
    """Float32 [notes, dimension], of length 1."""

    @classmethod
    async def read(cls, things: Sequence[OwnThing], encoder: OnnxTextEncoder) -> NearestNotes:
        """Embed the notes, each with its title in front."""
        texts = [f"{thing.title}: {' '.join(thing.note.split())}" for thing in things]
        return cls(encoder, texts, np.stack(await encoder.embed_passages(texts)))

    async def to(self, question: str, count: int) -> list[str]:
        """The notes nearest to a question's words, nearest first."""
        (asked,) = await self.encoder.embed_queries([question])
        return [self.texts[int(at)] for at in np.argsort(-(self.vectors @ asked))[:count]]


class PlainGenerator:
    """llama-server on a bundle's generator; started by the first question, ended on leaving."""

    def __init__(self, bundle: Bundle) -> None:
        part = bundle.roles.generator
        assert isinstance(part, GeneratorPart)
        self._part = part
        self._model = bundle.path(part.model)
        self._template = load_template(bundle.path(part.prompts[ANSWER]), sees=part.sees_pictures)
        self._folder: TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._http: httpx.Client | None = None

    def __enter__(self) -> Self:
        """Nothing runs yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End llama-server."""
        if self._http is not None:
            self._http.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def pid(self) -> int | None:
        """llama-server's process id; None before the first question."""
        return None if self._process is None else self._process.pid

    def answer(self, question: str, notes: Sequence[str] = ()) -> Told:
        """What it writes to a question with these notes.

        Raises:
            EngineFailed: there is no llama-server.
            RuntimeError: it did not come up.
            httpx.HTTPError: it refused, as where a prompt does not fit its context.
        """
        http = self._served()
        prompt = self._template.render(pictures=0, **filled({"question": question, "found": list(notes)}))
        began, ids = perf_counter(), list[int]()
        for segment in prompt:
            special = segment.kind.value == "text"
            ids += _post(http, "/tokenize", {"content": segment.text, "parse_special": special})["tokens"]
        body = {"prompt": ids, "n_predict": self._part.max_new_tokens, "temperature": 0, "stop": [*self._part.stop]}
        text = str(_post(http, "/completion", body)["content"]).strip()
        took = 1e3 * (perf_counter() - began)
        return Told(text, first_ms=took, whole_ms=took)

    def _served(self) -> httpx.Client:
        if self._http is None:
            self._folder = TemporaryDirectory()
            socket = Path(self._folder.name) / "plain.sock"
            flags = ["--host", socket, "--threads", usable_cores(), "--poll", 0, "-c", self._part.context, "-np", 1]
            self._process = subprocess.Popen(
                [*find_program().command, *map(str, ("-m", self._model, *flags))],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_WAIT_POLICY": "passive"},  # no busy-wait: other work may run beside it
            )
            transport = httpx.HTTPTransport(uds=str(socket))
            self._http = httpx.Client(transport=transport, base_url="http://plain", timeout=_ANSWER_S)
            self._wait(self._process, self._http)
        return self._http

    def _wait(self, process: subprocess.Popen[bytes], http: httpx.Client) -> None:
        until = monotonic() + _START_S
        while not _healthy(http):
            if process.poll() is not None or monotonic() > until:
                raise RuntimeError(f"llama-server did not come up on {self._model}")
            sleep(_POLL_S)


def _healthy(http: httpx.Client) -> bool:
    try:
        return http.get("/health").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _post(http: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = http.post(path, json=body).raise_for_status().json()
    return found
