"""Chats whose bodies and schemas become much, and answers that have to be valid under whatever schema they follow."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import jsonschema

from bench.hostile.drawn_schemas import drawn_schema
from bench.hostile.sections import Setup
from bench.hostile.stage import Attack as Beside
from bench.hostile.stage import Victim, repeated, victim
from bench.hostile.wire import Attack, over_http, under
from bench.results import Row, at_most
from bench.sections import Part

_PATH = "/v1/chat/completions"
_TYPE = "application/json"
_QUESTION: list[dict[str, Any]] = [{"role": "user", "content": "What is this?"}]
_DRAWN, _TOKENS = 200, 200
_PATIENCE_S = 120.0
_AMBIGUOUS = (
    "^(a|aa)+(a|aaa)+(a|aaaa)+$",
    "^([a-z]+[a-z]*)+[a-z ]*$",
    "^((a|b|ab)*(b|a|ba)*){1,20}$",
    "^(.*a){1,20}(.*b){1,20}$",
    "^([a-z ]*[a-z]+){1,50}$",
    "^(a?){30}a{30}$",
    "(x+x+)+y",
    r"^(\w+\s?)*$",
)


async def run(setup: Setup) -> Part:
    """Every attack in turn, then the drawn schemas, against one server."""
    part = Part()
    async with victim(setup, ["--web-port", "0"]) as served:
        for attack in _attacks(setup):
            setup.say(attack.name)
            rows, data = await under(setup, served, attack)
            part.rows += rows
            part.data[attack.name] = data
        name = f"{len(_AMBIGUOUS)} clients with schemas of ambiguous patterns"
        setup.say(name)
        found = await served.under(name, _following(served.server.web))
        part.rows += found.rows()
        part.data[name] = found.record()
        setup.say("answers under drawn schemas")
        part.rows += await asyncio.to_thread(_drawn, served.server.web, setup.count(_DRAWN, 5))
    return part


def _attacks(setup: Setup) -> Sequence[Attack]:
    keys = {f"k{number}": 1 for number in range(setup.count(800_000, 1000))}
    schema = {"enum": [1] * setup.count(3_500_000, 1000)}
    messages: list[Any] = [{}] * setup.count(2_600_000, 1000)
    picture = {"url": "data:image/png;base64," + "A" * setup.count(10 << 20, 1000)}
    shown = [{"role": "user", "content": [{"type": "image_url", "image_url": picture}]}]
    return [
        Attack("a chat of 11 MB of unknown keys", _chat(**keys)),
        Attack("a chat of 11 MB of schema", _chat(response_format=_format(schema))),
        Attack("a chat of 11 MB of empty messages", _chat(messages=messages)),
        Attack("64 chats of 11 MB of unknown keys", _chat(**keys), 64, many=True),
        Attack("64 chats of 11 MB of a picture that is none", _chat(messages=shown), 64, many=True),
    ]


def _chat(**body: Any) -> Any:
    return over_http(_PATH, _TYPE, json.dumps({"model": "none", "messages": _QUESTION, **body}).encode())


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "drawn", "schema": schema}}


def _following(web: str) -> Beside:
    """Clients that ask over and over, each for a text of a pattern of its own."""

    async def asks(pattern: str) -> None:
        await repeated(partial(asyncio.to_thread, _asked, web, {"type": "string", "pattern": pattern}), 1)

    async def attack(served: Victim) -> None:
        await asyncio.gather(*map(asks, _AMBIGUOUS))

    return attack


def _drawn(web: str, count: int) -> list[Row]:
    """Ask under drawn schemas; every answer that was not cut off has to be valid."""
    became: Counter[str] = Counter()
    for seed in range(count):
        schema = drawn_schema(seed)
        status, answer = _asked(web, schema)
        became[_outcome(schema, status, answer)] += 1
    ended = sum(became[each] for each in ("valid", "broken"))
    return [
        at_most(f"answers under {count} drawn schemas that break them", became["broken"], f"of {ended}", 0),
        Row("drawn schemas that are refused at their place", became["refused"], f"of {count}"),
        Row("answers under drawn schemas that were cut off, and say so", became["cut off"], f"of {count}"),
        Row("answers under drawn schemas that are refusals", became["not known"], f"of {count}"),
        at_most("drawn schemas with which something failed", became["failed"], f"of {count}", 0),
    ]


def _outcome(schema: Mapping[str, Any], status: int, answer: Mapping[str, Any]) -> str:
    if status == 400:
        return "refused" if answer["error"]["param"] else "failed"
    if status != 200:
        return "failed"
    (choice,) = answer["choices"]
    if choice["finish_reason"] != "stop":
        return "cut off"
    if choice["message"]["refusal"] is not None:
        return "not known"
    try:
        jsonschema.Draft202012Validator(schema).validate(json.loads(choice["message"]["content"]))
    except (ValueError, jsonschema.ValidationError):
        return "broken"
    return "valid"


def _asked(web: str, schema: Mapping[str, Any]) -> tuple[int, Any]:
    """Status and body of the answer to a question that is to follow a schema."""
    body = {"model": "none", "messages": _QUESTION, "max_tokens": _TOKENS, "response_format": _format(schema)}
    connection = HTTPConnection(urlsplit(web).netloc, timeout=_PATIENCE_S)
    try:
        connection.request("POST", _PATH, json.dumps(body), {"content-type": _TYPE})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
