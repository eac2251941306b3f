"""An OpenAI-compatible endpoint as a judge: prompts in, texts out, over plain HTTP."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEY_VARIABLE = "OPENAI_API_KEY"
_AGAIN = (408, 409, 429, 500, 502, 503, 504)
_LONGEST_S = 60.0


class EndpointError(RuntimeError):
    """The endpoint did not answer, or not with a chat completion; the message has its address and never its key."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Completes prompts greedily.

    Attributes:
        url: up to `/v1`.
        model: its name there.
        key_variable: environment variable that has the key; no key is sent where it is unset.
        most_tokens: of a reply.
        tries: how often a request is sent that was refused for load, or whose connection broke.
        wait: seconds before the second try, twice as long before each further one; as long as the endpoint says, if
            that is longer, but a minute at most.
        timeout: seconds for one reply.
    """

    url: str
    model: str
    key_variable: str = KEY_VARIABLE
    most_tokens: int = 256
    tries: int = 4
    wait: float = 1.0
    timeout: float = 120.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise EndpointError(f"{self.url}: expected an address that begins with http:// or https://")

    def __call__(self, prompt: str) -> str:
        """The reply to one prompt.

        Raises:
            EndpointError: no reply after all tries, or one that is no chat completion.
        """
        reply = self.reply([{"role": "user", "content": prompt}], max_tokens=self.most_tokens)
        return str(reply["choices"][0]["message"]["content"] or "")

    def reply(self, messages: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        """The whole reply to messages, which has `choices.0.message.content`.

        Args:
            messages: as the protocol has them.
            more: further keys of the request, such as `max_tokens` and `logprobs`.

        Raises:
            EndpointError: as `__call__`.
        """
        body = {"model": self.model, "messages": list(messages), "temperature": 0, **more}
        reply: dict[str, Any] = self._post(json.dumps(body).encode())
        try:
            reply["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise EndpointError(f"{self.url}: choices.0.message.content: expected in the reply") from None
        return reply

    def _post(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(self.key_variable):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self.url.rstrip('/')}/chat/completions", body, headers)  # noqa: S310
        problem, wished = "", 0.0
        for attempt in range(self.tries):
            if attempt:
                time.sleep(max(self.wait * 2 ** (attempt - 1), wished))
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:  # noqa: S310
                    return json.load(response)
            except urllib.error.HTTPError as error:
                problem = f"HTTP {error.code} {error.reason}"
                if error.code in (401, 403):
                    problem += f"; set {self.key_variable} to a valid key"
                if error.code not in _AGAIN:
                    break
                wished = _wished(error.headers.get("Retry-After", ""))
            except (OSError, ValueError, http.client.HTTPException) as error:  # the last: a reply that broke off
                problem, wished = str(getattr(error, "reason", error)), 0.0
        raise EndpointError(f"{self.url}: {problem}")


def _wished(retry_after: str) -> float:
    """Seconds that a refusal asks to wait; 0 where it names none, or a date."""
    return min(float(retry_after), _LONGEST_S) if retry_after.strip().isdecimal() else 0.0
