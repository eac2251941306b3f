"""Tiny checkpoints, pictures and examples for the recipes of fine-tuning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer

from quizglass.values import Entry, Origin
from quizglass_server.domain.turns import Evidence
from tests.support.bundles import tiny_qwen
from tests.support.rpc_fakes import Stage, png, serving_on_a_thread

LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{{ message['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)


def checkpoint(folder: Path, kind: str = "qwen2_5_vl") -> Path:
    """A checkpoint of random weights: qwen2_5_vl, qwen3, qwen2, or llama with a chat format of its own."""
    folder.mkdir(parents=True)
    file = tiny_qwen.write_tokenizer(folder / "tokenizer.json")
    special: dict[str, Any] = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    if kind == "llama":
        own = Tokenizer.from_file(str(file))
        own.add_special_tokens(["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|begin_of_text|>"])
        content = json.loads(
            own.to_str().replace("<|im_start|>", "<|reserved_1|>").replace("<|im_end|>", "<|reserved_2|>")
        )
        file.write_text(json.dumps(content))
        special = {"eos_token": "<|eot_id|>", "bos_token": "<|begin_of_text|>", "chat_template": LLAMA_TEMPLATE}
    transformers.PreTrainedTokenizerFast(tokenizer_file=str(file), **special).save_pretrained(folder)
    _model(kind, file).save_pretrained(folder)
    return folder


def _model(kind: str, tokenizer: Path) -> Any:
    longer: dict[str, Any] = {"max_position_embeddings": 4096}
    if kind == "qwen2_5_vl":
        return tiny_qwen.qwen2_5_vl(tokenizer, **longer)
    if kind == "qwen3":
        return tiny_qwen.qwen3(tokenizer, **longer)
    torch.manual_seed(8)
    text = {**tiny_qwen._text(tokenizer), **longer}
    if kind == "qwen2":
        return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**text))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**text))


def picture(path: Path, seed: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def rows(path: Path, values: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


class ChatServer:
    """An OpenAI-compatible endpoint on loopback whose answers a function gives.

    Attributes:
        url: up to /v1.
        bodies: every request.
        keys: the Authorization header of every request.
        failures: statuses that the next requests get instead of an answer.
    """

    def __init__(self, reply: Callable[[str], str]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.failures: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append(body)
                outer.keys.append(self.headers["Authorization"])
                if outer.failures:
                    self.send_error(outer.failures.pop(0))
                    return
                text = reply(text_of(body))
                content = json.dumps(completion(text, body)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def text_of(body: Mapping[str, Any]) -> str:
    """All texts of a request's messages."""
    texts = []
    for message in body["messages"]:
        content = message["content"]
        texts += [content] if isinstance(content, str) else [part.get("text", "<picture>") for part in content]
    return "\n".join(texts)


def completion(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    tokens = [{"token": word, "logprob": -0.1, "top_logprobs": []} for word in text.split()]
    if body.get("top_logprobs"):
        tokens[0]["top_logprobs"] = [{"token": text, "logprob": -0.1}, {"token": "Z", "logprob": -3.0}]
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "logprobs": {"content": tokens}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": len(tokens)},
    }


def entry(name: str, number: int, origin: Origin = Origin.IMAGE_SEARCH, shown: bytes = b"") -> Evidence:
    """What a search of a server brings back."""
    return Evidence(
        str(number),
        origin,
        name,
        name.title(),
        f"It is {number} years old.",
        0.9 - number / 10,
        used=True,
        picture=shown,
    )


@contextmanager
def searching_server(folder: Path, names: Iterable[str]) -> Iterator[Stage]:
    """A server on a real socket that finds entries of these names, each with a picture, whatever is looked for."""
    with serving_on_a_thread(folder) as stage:
        found = []
        for number, name in enumerate(names):
            encoded = png(40, 40 + number)
            stage.knowledge.entries[name] = Entry(name, name.title(), picture_sha256=(sha256(encoded).digest(),))
            stage.knowledge.pictures[name] = [encoded]
            found.append(entry(name, number, shown=sha256(encoded).digest()))

        async def search(text: str, picture: Any, limit: int, *_: Any) -> list[Evidence]:
            origin = Origin.IMAGE_SEARCH if picture is not None else Origin.TEXT_SEARCH
            return [replace(item, origin=origin) for item in found[:limit]]

        stage.assistant.search = search  # type: ignore[method-assign]
        stage.assistant.policies = (*stage.assistant.policies, "cogplanner-sequential")
        yield stage
