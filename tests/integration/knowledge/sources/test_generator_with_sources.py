"""A generator without a bundle, and sources: text is looked up without a text encoder."""

from __future__ import annotations

from pathlib import Path

from quizglass.values import Plan
from quizglass_client import AsyncClient
from quizglass_server import app
from quizglass_server.config.load import load_settings
from tests.support.engines.openai_server import Script, openai_server
from tests.support.knowledge.searxng_server import finds, searxng
from tests.support.rpc_fakes import png

PRICE = {"url": "https://lamps.example/a", "title": "Lamp", "content": "It is a lamp. It costs 45 crowns."}


async def test_a_picture_and_a_question_are_looked_up_and_cited(tmp_path: Path) -> None:
    script = Script()
    async with searxng(finds(PRICE)) as server:
        (file := tmp_path / "sources.toml").write_text(
            f'[web]\ntype = "searxng"\nurl = "{server.url}"\nbudget_s = 30\n'
        )
        with openai_server(script) as port:
            given = {"generator_url": f"http://127.0.0.1:{port}", "port": 0, "knowledge": tmp_path / "k"}
            settings = load_settings({**given, "sources": file})
            async with app.running(settings) as running, AsyncClient(running.address) as client:
                assert (await client.capabilities()).policies[0] == "text"
                answer = await client.answer("What is this?", png(), budget=60)
    assert answer.plan is not None
    assert answer.plan.plan is Plan.TEXT
    assert [(item.entry_id, item.used) for item in answer.evidence] == [("web:https://lamps.example/a", True)]
    assert any("It costs 45 crowns." in str(body["messages"]) for body in script.asked)
    assert [cited.source for cited in answer.done.citations] == ["https://lamps.example/a"]
    assert len(server.asked) == 1
