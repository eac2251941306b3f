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
_SIDE, _PASSAGES = 112, 3


class PlainScript:
    """Answers questions about a world's entries."""

    def __init__(self, bundle: Path, world: Path) -> None:
        self._bundle, self._world = bundle, world
        self._pictures = onnxruntime.InferenceSession(str(bundle / "image_encoder/model.onnx"))
        self._texts = onnxruntime.InferenceSession(str(bundle / "text_encoder/model.onnx"))
        self._tokenizer = Tokenizer.from_file(str(bundle / "text_encoder/tokenizer.json"))
        self._tokenizer.enable_truncation(128)

    def __enter__(self) -> Self:
        """Index the world and start llama-server."""
        self._names, self._passages = list[str](), list[str]()
        pictures, passages = list[Any](), list[Any]()
        for line in (self._world / "entries.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            for place in entry["pictures"]:
                self._names.append(f"{entry['title']}: {entry['caption']}")
                pictures.append(self._seen((self._world / place).read_bytes()))
            self._passages.append(f"{entry['title']}: {entry['text']}")
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
        """Look everything up, and generate once."""
        seen = self._names[self._by_picture.knn_query(self._seen(frame), k=1)[0][0][0]]
        found = [self._passages[at] for at in self._by_text.knn_query(self._read(question), k=_PASSAGES)[0][0]]
        told = "".join(f"Found: {passage}\n" for passage in found)
        asked = f"{self._marker}Seen: {seen}\n{told}Question: {question}\n"
        prompt = f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\nAnswer:"
        picture = base64.b64encode(_fitted(frame, "PPM")[0]).decode()
        body = {"prompt": {"prompt_string": prompt, "multimodal_data": [picture]}, "n_predict": 64, "temperature": 0}
        return str(self._http.post("/completion", json={**body, "stop": ["<|im_end|>"]}).json()["content"]).strip()

    def _ready(self) -> bool:
        try:
            return self._http.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def _seen(self, encoded: bytes) -> Any:
        pixels = (_fitted(encoded, "PPM")[1] / 255.0 - _MEAN) / _STD
        found = self._pictures.run(
            ["image_embeds"], {"pixel_values": pixels.transpose(2, 0, 1)[None].astype(np.float32)}
        )
        return found[0][0]

    def _read(self, text: str) -> Any:
        ids = np.array([self._tokenizer.encode(text).ids])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = {node.name: given[node.name] for node in self._texts.get_inputs()}
        return self._texts.run(["last_hidden_state"], wanted)[0][0].mean(axis=0)


def _fitted(encoded: bytes, form: str) -> tuple[bytes, Any]:
    image = Image.open(io.BytesIO(encoded)).convert("RGB").resize((_SIDE, _SIDE))
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue(), np.asarray(image)


def _index(vectors: list[Any]) -> Any:
    index = hnswlib.Index("cosine", len(vectors[0]))
    index.init_index(len(vectors))
    index.add_items(np.stack(vectors))
    return index
