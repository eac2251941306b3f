"""The port for HTTP of a whole server, with the shipped bundle behind it: what its page and OpenAI's client get."""

import base64
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import openai
import pydantic
import pytest

from quizglass_client.local import LocalServer

SAMPLES = Path(__file__).parents[3] / "server/quizglass_server/web/static/samples"
COLOURS = ["red", "green", "blue", "yellow", "orange", "pink", "purple", "white", "black", "grey", "brown", "teal"]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"$ref": "#/$defs/colour"}},
    "required": ["colour"],
    "additionalProperties": False,
    "$defs": {"colour": {"type": "string", "enum": COLOURS}},
}


@pytest.fixture(scope="module")
def server(starter_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(
        starter_bundle, tmp_path_factory.mktemp("web") / "knowledge", flags=["--web-port", "0"]
    ) as started:
        yield started


@pytest.fixture(scope="module")
def client(server: LocalServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.web}/v1", api_key="none is needed", timeout=120) as made:
        yield made


def asked(question: str, sample: str = "1.png") -> list[dict[str, object]]:
    uri = f"data:image/png;base64,{base64.b64encode((SAMPLES / sample).read_bytes()).decode()}"
    parts = [{"type": "text", "text": question}, {"type": "image_url", "image_url": {"url": uri}}]
    return [{"role": "user", "content": parts}]


def test_samples_of_the_page_are_answered(client: openai.OpenAI) -> None:
    samples = json.loads((SAMPLES / "samples.json").read_text())["samples"]
    shown = {path.name for path in SAMPLES.glob("*.png")}
    assert shown == {sample["file"] for sample in samples}
    for sample in samples:
        stream = client.chat.completions.create(
            model="quizglass", messages=asked(sample["questions"][0], sample["file"]), stream=True
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream).strip()


def test_an_answer_keeps_to_a_schema(client: openai.OpenAI) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "colour", "strict": True, "schema": SCHEMA}}
    answer = client.chat.completions.create(
        model="none", messages=asked("Which colour does this plant have?"), response_format=wanted
    )
    choice = answer.choices[0]
    assert choice.finish_reason == "stop", choice
    assert json.loads(choice.message.content or "")["colour"] in COLOURS


class Sighting(pydantic.BaseModel):
    mood: Literal["🙂", "é"]
    count: int = pydantic.Field(ge=10, le=12)
    code: Annotated[str, pydantic.StringConstraints(pattern=r"^\d{2}-[a-c]+$", max_length=5)]
    near: dict[Literal["tree", "house"], bool]


def test_an_answer_is_a_model_of_pydantic(client: openai.OpenAI) -> None:
    answer = client.chat.completions.parse(
        model="none", messages=asked("What is this?"), response_format=Sighting, max_tokens=400
    )
    assert isinstance(answer.choices[0].message.parsed, Sighting)


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"$ref": "https://example.org/schema.json"}])
def test_a_schema_that_cannot_be_used_is_named(client: openai.OpenAI, schema: dict[str, str]) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    with pytest.raises(openai.BadRequestError, match="json_schema") as caught:
        client.chat.completions.create(model="none", messages=asked("What is this?"), response_format=wanted)
    assert caught.value.param.startswith("response_format.json_schema.schema.")


def test_the_page_is_there(server: LocalServer) -> None:
    with urllib.request.urlopen(server.web) as page:
        assert b"<title>quizglass</title>" in page.read()
