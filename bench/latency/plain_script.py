"""What one would write in an afternoon: two encoders, hnswlib, llama-server, everything always, one generation."""

from __future__ import annotations

import base64
import io
import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from types import TracebackType
from typing import Any, Self

import hnswlib
import httpx
import numpy as np
import onnxruntime
from PIL import Image
from tokenizers import Tokenizer

from quizglass_server.engines.generator.process.programs import find_program

_MEAN, _STD = np.array([0.4815, 0.4578, 0.4082]), np.array([0.2686, 0.2613, 0.2758])
_SIDE, _PASSAGES, _MIDDLE = 112, 3, 0.5
"""Pixels of a side as the models take them; passages shown; share of each side that the middle of a picture is."""


class PlainScript:
    """Answers questions about a world's entries."""

    def __init__(self, bundle: Path, world: Path) -> None:
        self._bundle, self._world = bundle, world
        self._pictures, self._texts = _session(bundle / "image_encoder"), _session(bundle / "text_encoder")
        self._tokenizer = Tokenizer.from_file(str(bundle / "text_encoder/tokenizer.json"))
        self._tokenizer.enable_truncation(128)

    def __enter__(self) -> Self:
        """Index the world and start llama-server."""
        self._shown, self._passages = list[tuple[str, str]](), list[str]()
        pictures, passages = list[Any](), list[Any]()
        for line in (self._world / "entries.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            for place in entry["pictures"]:
                self._shown.append((entry["title"], entry["caption"]))
                pictures.append(self._seen(_opened((self._world / place).read_bytes())))
            for paragraph in entry["text"].split("\n\n"):
                self._passages.append(f"{entry['title']}: {paragraph}")
                passages.append(self._read(self._passages[-1]))
        self._by_picture, self._by_text = _index(pictures), _index(passages)
        self._folder = TemporaryDirectory()
        socket = Path(self._folder.name) / "x.sock"
        models = [
            "-m",
            self._bundle / "generator/model-q8_0.gguf",
            "--mmproj",
            self._bundle / "generator/mmproj-f16.gguf",
        ]
        flags = ["--host", socket, "--threads", "1", "--no-webui", "-c", "2048", "-np", "1"]
        self._server = subprocess.Popen(
            [*find_program().command, *map(str, (*models, *flags))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._http = httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://x", timeout=60)
        while not self._ready():
            sleep(0.05)
        self._marker = self._http.get("/props").json().get("media_marker") or "<__media__>"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End llama-server."""
        self._server.kill()
        self._server.wait()
        self._folder.cleanup()

    def answer(self, question: str, frame: bytes) -> str:
        """Look everything up, the picture whole and its middle, and generate once."""
        picture = _opened(frame)
        views = np.stack([self._seen(picture), self._seen(_middle(picture))])
        labels, distances = self._by_picture.knn_query(views, k=1)
        title, caption = self._shown[labels[distances.argmin(), 0]]
        places = self._by_text.knn_query(self._read(f"{question} {title}"), k=_PASSAGES)[0][0]
        told = "".join(f"Found: {self._passages[at]}\n" for at in places)
        asked = f"{self._marker}Seen: {title}: {caption}\n{told}Question: {question}\n"
        prompt = f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\nAnswer:"
        encoded = io.BytesIO()
        _fitted(picture).save(encoded, "PPM")
        shown = base64.b64encode(encoded.getvalue()).decode()
        body = {"prompt": {"prompt_string": prompt, "multimodal_data": [shown]}, "n_predict": 64, "temperature": 0}
        return str(self._http.post("/completion", json={**body, "stop": ["<|im_end|>"]}).json()["content"]).strip()

    def _ready(self) -> bool:
        try:
            return self._http.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def _seen(self, picture: Image.Image) -> Any:
        pixels = (np.asarray(_fitted(picture)) / 255.0 - _MEAN) / _STD
        found = self._pictures.run(
            ["image_embeds"], {"pixel_values": pixels.transpose(2, 0, 1)[None].astype(np.float32)}
        )
        return found[0][0]

    def _read(self, text: str) -> Any:
        ids = np.array([self._tokenizer.encode(text).ids])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = {node.name: given[node.name] for node in self._texts.get_inputs()}
        return self._texts.run(["last_hidden_state"], wanted)[0][0].mean(axis=0)


def _session(folder: Path) -> onnxruntime.InferenceSession:
    """A model on one thread: two that wait for each other take longer for models as small as these."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options)


def _opened(encoded: bytes) -> Image.Image:
    return Image.open(io.BytesIO(encoded)).convert("RGB")


def _middle(picture: Image.Image) -> Image.Image:
    width, height = picture.size
    left, top = int(width * (1 - _MIDDLE) / 2), int(height * (1 - _MIDDLE) / 2)
    return picture.crop((left, top, width - left, height - top))


def _fitted(picture: Image.Image) -> Image.Image:
    return picture.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)


def _index(vectors: list[Any]) -> Any:
    index = hnswlib.Index("cosine", len(vectors[0]))
    index.init_index(len(vectors), ef_construction=200, M=16)
    index.add_items(np.stack(vectors))
    index.set_ef(64)
    return index
