"""Proves that llama-server computes on this machine what it should, before the generator says that it serves.

A tiny model in all formats that llama.cpp has special code for must give the probabilities that are known of it: wrong
code, of a compiler or for another CPU, gives others, or ends the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from quizglass_server.engines.generator.checks import known_model

MOST_APART = 0.1
"""Of the known logits: length of the difference over theirs. Right code is at 0.03, one wrong matrix above 0.2."""


class Nonsense(Exception):
    """What is computed is wrong; the message has the deviation."""


def questions() -> list[dict[str, Any]]:
    """What `/completion` is asked: after all tokens but the last, read together, and after the last, read singly."""
    usual = {"n_predict": 1, "n_probs": known_model.VOCABULARY, "temperature": 0, "cache_prompt": True, "id_slot": 0}
    tokens = list(known_model.PROMPT)
    return [{**usual, "prompt": tokens[:-1]}, {**usual, "prompt": tokens}]


def judge(answers: Sequence[Mapping[str, Any]]) -> None:
    """Compare the answers to `questions` with what is known.

    Raises:
        Nonsense: they differ, or are no numbers.
    """
    for answer, expected in zip(answers, known_model.LOGITS, strict=True):
        try:
            (token,) = answer["completion_probabilities"]
            found = {int(each["id"]): float(each["logprob"]) for each in token["top_logprobs"]}
            got = [found[place] for place in range(known_model.VOCABULARY)]
        except (LookupError, TypeError, ValueError):
            raise Nonsense("the self-test's answer has no probabilities") from None
        if not (wrong := _apart(got, expected)) <= MOST_APART:
            raise Nonsense(f"the self-test's answer is off by {100 * wrong:.0f} %")


def _apart(got: Sequence[float], expected: Sequence[float]) -> float:
    """Distance over length, of values that may differ by one number in common."""
    one, other = _centred(got), _centred(expected)
    return sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / sum(b * b for b in other))


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]
