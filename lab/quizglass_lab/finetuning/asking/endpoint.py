"""An OpenAI-compatible endpoint (chat completions), asked for several prompts at once."""

from __future__ import annotations

import base64
import logging
import math
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from quizglass_bundle.inputs.prompts import SegmentKind
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.asking.interface import MOST_TOKENS, Ask, Chosen, Written
from quizglass_lab.finetuning.models.chat import Prompts, chat_messages
from quizglass_lab.finetuning.models.inputs import read_picture
from quizglass_lab.scoring.endpoint import ChatEndpoint, EndpointError

_TOP = 20
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """A model behind an OpenAI-compatible endpoint, asked over HTTP.

    Attributes:
        endpoint: its address, model and key's variable.
        prompts: templates in ChatML, which become messages.
        parallel: requests under way at once.
        logprobs: whether it is asked for probabilities, which some endpoints refuse to tell.
    """

    endpoint: ChatEndpoint
    prompts: Prompts
    parallel: int = 8
    logprobs: bool = True

    @property
    def name(self) -> str:
        """The endpoint's name for the model."""
        return self.endpoint.model

    def shows_entries(self, task: str) -> bool:
        """Whether the task's prompt shows pictures of entries too."""
        return self.prompts.shows_entries(task)

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        """Complete every prompt; ExportError where the endpoint refuses."""
        with ThreadPoolExecutor(self.parallel) as pool:
            return list(pool.map(lambda ask: self._write(ask, most_tokens), asks))

    def choose(self, asks: Sequence[Ask], labels: Sequence[str]) -> list[Chosen]:
        """Probability of each label by the endpoint's own; 1 for the letter it answers where it tells none.

        Where it answers none of them all are as likely, and the log says how often.
        """
        with ThreadPoolExecutor(self.parallel) as pool:
            chosen = list(pool.map(lambda ask: self._choose(ask, labels), asks))
        if unsaid := sum(not each.shares for each in chosen):
            logger.warning("%s: %d of %d choices named none of%s", self.name, unsaid, len(chosen), ",".join(labels))
        equal = (1 / len(labels),) * len(labels)
        return [each if each.shares else replace(each, shares=equal) for each in chosen]

    def _write(self, ask: Ask, most_tokens: int) -> Written:
        began = time.perf_counter()
        reply = self._complete(ask, max_tokens=most_tokens, **self._telling())
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        return Written(
            str(choice["message"]["content"] or "").strip(),
            tuple(math.exp(min(token["logprob"], 0)) for token in _tokens(choice)),
            int(usage.get("prompt_tokens") or 0),
            int(usage.get("completion_tokens") or 0),
            time.perf_counter() - began,
        )

    def _choose(self, ask: Ask, labels: Sequence[str]) -> Chosen:
        """One choice; its shares are empty where the reply names none of the labels."""
        began = time.perf_counter()
        reply = self._complete(ask, max_tokens=1, **self._telling(top_logprobs=_TOP))
        tokens = int((reply.get("usage") or {}).get("prompt_tokens") or 0)
        return Chosen(_shares(reply["choices"][0], labels), tokens, time.perf_counter() - began)

    def _telling(self, **how: Any) -> dict[str, Any]:
        return {"logprobs": True, **how} if self.logprobs else {}

    def _complete(self, ask: Ask, **how: Any) -> dict[str, Any]:
        prompt = self.prompts.fill(ask.task, ask.values, len(ask.pictures))
        shown = {segment.picture for segment in prompt if segment.kind is SegmentKind.IMAGE}
        messages = chat_messages(prompt, {index: _data_url(ask.pictures[index]) for index in shown})
        try:
            return self.endpoint.reply(messages, **how)
        except EndpointError as error:
            raise ExportError(str(error)) from None


def _shares(choice: dict[str, Any], labels: Sequence[str]) -> tuple[float, ...]:
    """Probability of each label; none where the reply names none of them."""
    weights = {label.strip(): 0.0 for label in labels}
    for first in _tokens(choice)[:1]:
        for each in first.get("top_logprobs") or [first]:
            if (name := str(each["token"]).strip()) in weights:
                weights[name] += math.exp(min(each["logprob"], 0))
    if not sum(weights.values()):
        said = re.split(r"\W", str(choice["message"]["content"] or "").strip(), maxsplit=1)[0]
        weights = {name: float(said == name) for name in weights}  # "Answer" is no A
    total = sum(weights.values())
    return tuple(weight / total for weight in weights.values()) if total else ()


def _tokens(choice: dict[str, Any]) -> list[dict[str, Any]]:
    return (choice.get("logprobs") or {}).get("content") or []


def _data_url(path: Path) -> str:
    read_picture(path)  # a file that is none is an error of its own
    with Image.open(path) as image:  # by its content: pictures of archives are all called .jpg
        kind = "image/jpeg" if image.format == "MPO" else Image.MIME.get(image.format or "", "image/jpeg")
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
