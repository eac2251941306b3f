"""An OpenAI-compatible endpoint (chat completions), asked for several prompts at once.

The key comes from the environment and is never part of an error or of a file.
"""

from __future__ import annotations

import base64
import json
import math
import mimetypes
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_export.errors import ExportError
from quizglass_export.finetuning.asking.interface import MOST_TOKENS, Ask, Written
from quizglass_export.finetuning.models.chat import Prompts, chat_messages
from quizglass_export.finetuning.models.inputs import read_picture

KEY_VARIABLE = "OPENAI_API_KEY"
_TOP = 20
_AGAIN = (408, 409, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """Asks over HTTP.

    Attributes:
        url: up to `/v1`.
        model: its name there.
        prompts: templates in ChatML, which become messages.
        key_variable: environment variable of the key; unset: no key is sent.
        parallel: requests under way at once.
        tries: how often a request that was refused for load or a broken connection is sent.
        wait: seconds before the second try; twice as long before each further one.
        timeout: seconds for one answer.
    """

    url: str
    model: str
    prompts: Prompts
    key_variable: str = KEY_VARIABLE
    parallel: int = 8
    tries: int = 5
    wait: float = 1.0
    timeout: float = 120.0

    @property
    def name(self) -> str:
        """As the endpoint names it."""
        return self.model

    def shows_entries(self, task: str) -> bool:
        """Whether the task's prompt shows pictures of entries too."""
        return self.prompts.shows_entries(task)

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        """Complete every prompt; ExportError where the endpoint refuses."""
        return self._each(asks, lambda ask: self._write(ask, most_tokens))

    def choose(self, asks: Sequence[Ask], labels: Sequence[str]) -> list[list[float]]:
        """Probability of each label by the endpoint's own; 1 for the letter it answers where it tells none."""
        return self._each(asks, lambda ask: self._choose(ask, labels))

    def _each(self, asks: Sequence[Ask], one: Any) -> list[Any]:
        with ThreadPoolExecutor(self.parallel) as pool:
            return list(pool.map(one, asks))

    def _write(self, ask: Ask, most_tokens: int) -> Written:
        began = time.perf_counter()
        reply = self._complete(ask, {"max_tokens": most_tokens, "logprobs": True})
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        tokens = (choice.get("logprobs") or {}).get("content") or []
        return Written(
            str(choice["message"].get("content") or "").strip(),
            tuple(math.exp(min(token["logprob"], 0)) for token in tokens),
            int(usage.get("prompt_tokens", 0)),
            int(usage.get("completion_tokens", 0)),
            time.perf_counter() - began,
        )

    def _choose(self, ask: Ask, labels: Sequence[str]) -> list[float]:
        reply = self._complete(ask, {"max_tokens": 1, "logprobs": True, "top_logprobs": _TOP})
        choice, names = reply["choices"][0], [label.strip() for label in labels]
        tokens = (choice.get("logprobs") or {}).get("content") or []
        weights = dict.fromkeys(names, 0.0)
        for each in (tokens[0].get("top_logprobs") or [tokens[0]]) if tokens else []:
            if (name := str(each["token"]).strip()) in weights:
                weights[name] += math.exp(min(each["logprob"], 0))
        if not sum(weights.values()):
            said = str(choice["message"].get("content") or "").strip()
            weights = {name: float(said.startswith(name)) for name in names}
        total = sum(weights.values())
        return [weights[name] / total if total else 1 / len(names) for name in names]

    def _complete(self, ask: Ask, how: dict[str, Any]) -> dict[str, Any]:
        prompt = self.prompts.fill(ask.task, ask.values, len(ask.pictures))
        shown = {each.picture for each in prompt if each.kind.value == "image"}
        messages = chat_messages(prompt, {index: _data_url(ask.pictures[index]) for index in shown})
        body = {"model": self.model, "messages": messages, "temperature": 0, **how}
        reply = self._post(json.dumps(body).encode())
        try:
            reply["choices"][0]["message"]
        except (KeyError, IndexError, TypeError):
            raise ExportError(f"{self.url}: an answer without choices.0.message; not a chat completion") from None
        return reply

    def _post(self, body: bytes) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(self.key_variable):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self.url.rstrip('/')}/chat/completions", body, headers)  # noqa: S310
        for attempt in range(1, self.tries + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:  # noqa: S310
                    reply: dict[str, Any] = json.load(response)
                    return reply
            except urllib.error.HTTPError as error:
                problem = f"HTTP {error.code} {error.reason}"
                if error.code in (401, 403):
                    problem += f"; set {self.key_variable} to a valid key"
                if error.code not in _AGAIN:
                    raise ExportError(f"{self.url}: {problem}") from None
            except (OSError, ValueError) as error:
                problem = str(getattr(error, "reason", error))
            if attempt < self.tries:
                time.sleep(self.wait * 2 ** (attempt - 1))
        raise ExportError(f"{self.url}: {problem} (tried {self.tries} times)")


def _data_url(path: Path) -> str:
    read_picture(path)  # a file that is none is an error of its own
    kind = mimetypes.guess_type(path.name)[0] or "image/jpeg"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
