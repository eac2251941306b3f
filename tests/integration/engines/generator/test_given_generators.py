"""Servers whose generator is no bundle's: model files, and servers elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quizglass.values import Done, FinishReason
from quizglass_client import AsyncClient, AsyncSession, ClientError
from quizglass_server import app
from quizglass_server.config.load import Settings, load_settings
from quizglass_server.engines.generator.process import programs
from quizglass_server.engines.generator.process.programs import SLOWER, Origin
from quizglass_server.errors import BundleError, EngineFailed, QuizglassError, SettingsError
from tests.support.engines.openai_server import Script, openai_server
from tests.support.rpc_fakes import png

_GRAMMARS = {"structured_outputs", "guided_grammar", "ebnf"}
"""Fields by which servers of OpenAI's protocol take a grammar."""


async def answered(address: str, **more: Any) -> Done:
    """The end of a turn about a picture."""
    async with AsyncClient(address) as client:
        return (await client.answer("What is this?", png(), **more)).done


async def test_model_files_are_served_without_a_bundle(
    starter_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = starter_bundle / "generator"
    files = {"generator": folder / "model-q8_0.gguf", "projector": folder / "mmproj-f16.gguf"}
    settings = load_settings({**files, "port": 0, "knowledge": tmp_path / "k"})
    assert settings.bundle is None
    async with app.running(settings) as server:
        told = await answered(server.address)
        assert told.answer
        async with AsyncClient(server.address) as client:
            capabilities = await client.capabilities()
        generator = next(role for role in capabilities.roles if role.role == "generator")
        assert (generator.engine, generator.sees_pictures) == ("llama", True)
        assert capabilities.policies[0] == "none"
        assert capabilities.bundle.startswith("model-q8_0 ")


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (Origin.WHEEL, "llama-cpp-python "),
        (Origin.PREBUILT, "xllamacpp 1.2"),
        (Origin.NAMED, "llama-server, of the setting llama_server"),
    ],
)
async def test_capabilities_say_where_the_program_comes_from(
    starter_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: Origin, said: str
) -> None:
    compiled = programs.in_wheel()
    assert compiled is not None
    if origin is Origin.PREBUILT:
        monkeypatch.setattr(programs, "in_wheel", lambda: None)
        monkeypatch.setattr(programs, "prebuilt", lambda: replace(compiled, origin=origin, version="1.2"))
    named = {"llama_server": compiled.command[0]} if origin is Origin.NAMED else {}
    files = {"generator": starter_bundle / "generator" / "model-q8_0.gguf", "knowledge": tmp_path / "k", **named}
    async with app.running(load_settings({**files, "port": 0})) as server, AsyncClient(server.address) as client:
        roles = {role.role: role for role in (await client.capabilities()).roles}
    assert roles["generator"].program.startswith(said)
    assert roles["generator"].notice == (
        f"runs llama-server of {said}: {SLOWER} (in the clone: make llama)" if origin is Origin.PREBUILT else ""
    )
    assert not any(role.program for name, role in roles.items() if name != "generator")


async def test_model_files_stand_in_for_the_generator_of_a_bundle(starter_bundle: Path, tmp_path: Path) -> None:
    files = {"generator": starter_bundle / "generator" / "model-q8_0.gguf"}
    settings = Settings(bundle=starter_bundle, knowledge=tmp_path / "k", port=0, **files)
    async with app.running(settings) as server:
        assert (await answered(server.address)).answer is not None
        async with AsyncClient(server.address) as client:
            roles = {role.role: role for role in (await client.capabilities()).roles}
        assert not roles["generator"].sees_pictures  # no projector was given, and the bundle's does not go with it
        assert "planner" in roles


async def test_a_generator_elsewhere_answers_and_what_it_lacks_is_told(starter_bundle: Path, tmp_path: Path) -> None:
    script = Script(tells=False)
    with openai_server(script) as port:
        url = f"http://127.0.0.1:{port}"
        settings = Settings(bundle=starter_bundle, knowledge=tmp_path / "k", port=0, generator_url=url)
        async with app.running(settings) as server:
            told = await answered(server.address, policy="none")
            assert told.answer == "It is a lamp."
            handed = {entry.to: entry.elsewhere for entry in told.ledger}
            assert handed["generator"] is True
            async with AsyncClient(server.address) as client:
                capabilities = await client.capabilities()
                generator = next(role for role in capabilities.roles if role.role == "generator")
                assert (generator.engine, generator.executor) == ("openai", "elsewhere")
                assert "labels cannot be chosen by probabilities" in generator.notice
                with pytest.raises(ClientError, match=r"generator\.choices"):
                    await client.answer("What is this?", png(), policy="prompt-based+")
            async with AsyncSession(server.address, local_only=True) as session:
                with pytest.raises(ClientError, match=r"LOCAL_ONLY.* has its generator behind a network address"):
                    await session.answer("What is this?", png())
    probes = [body for body in script.asked if _GRAMMARS & body.keys()]  # at the start: does it follow a grammar?
    assert len(probes) < len(script.asked)
    assert all("What is this?" in str(body["messages"]) for body in script.asked if body not in probes)


async def test_a_generator_elsewhere_needs_no_bundle(tmp_path: Path) -> None:
    with openai_server(Script()) as port:
        url = f"http://127.0.0.1:{port}"
        settings = load_settings({"generator_url": url, "knowledge": tmp_path / "k", "port": 0})
        async with app.running(settings) as server:
            assert (await answered(server.address)).answer == "It is a lamp."


async def test_of_two_generators_elsewhere_one_that_hangs_costs_one_question(tmp_path: Path) -> None:
    first, second = Script(words=("first",)), Script(words=("second",))
    with openai_server(first) as one, openai_server(second) as other:
        url = f"http://127.0.0.1:{one},http://127.0.0.1:{other}"
        settings = load_settings({"generator_url": url, "knowledge": tmp_path / "k", "port": 0})
        async with app.running(settings) as server:
            assert (await answered(server.address)).answer == "first"
            first.fault = "silence"
            assert (await answered(server.address, budget=1.0)).finish_reason is FinishReason.BUDGET
            assert (await answered(server.address)).answer == "second"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "generator: .*is no GGUF"),
        (b"GGML" + bytes(60), "generator: .*is no GGUF file"),
        (b"GGUF\x09\x00\x00\x00" + bytes(60), "generator: .* of version 9"),
        (b"GGUF\x03\x00\x00\x00\xff\xff", "generator: .* is cut off after 10 bytes"),
    ],
)
async def test_a_file_that_is_no_model_is_refused_by_the_setting(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    files = {"generator": tmp_path / "m.gguf", "knowledge": tmp_path / "k", "port": 0}
    with pytest.raises(SettingsError, match=why):
        async with app.running(load_settings(files)):
            pass


async def test_files_that_do_not_go_together_are_refused(starter_bundle: Path, tmp_path: Path) -> None:
    folder = starter_bundle / "generator"
    model, projector = folder / "model-q8_0.gguf", folder / "mmproj-f16.gguf"
    cases: list[tuple[dict[str, Any], type[QuizglassError], str]] = [
        ({"generator": projector}, SettingsError, "is a projector; name it by --projector"),
        ({"generator": model, "projector": model}, SettingsError, "is no projector"),
        ({"generator": tmp_path / "absent.gguf"}, SettingsError, "generator: .*No such file"),
        ({"generator": model, "generator_url": "http://127.0.0.1:9"}, SettingsError, "goes without generator_url"),
    ]
    for files, error, why in cases:
        with pytest.raises(error, match=why):
            async with app.running(load_settings({**files, "knowledge": tmp_path / "k", "port": 0})):
                pass
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(model.read_bytes()[:-100_000])
    with pytest.raises((BundleError, EngineFailed, SettingsError), match=r"cut\.gguf"):
        async with app.running(load_settings({"generator": cut, "knowledge": tmp_path / "k", "port": 0})):
            pass


async def test_what_llama_cpp_does_not_know_is_refused_in_its_words(starter_bundle: Path, tmp_path: Path) -> None:
    model = (starter_bundle / "generator" / "model-q8_0.gguf").read_bytes()
    (tmp_path / "odd.gguf").write_bytes(model.replace(b"qwen2vl", b"qwen9vl"))
    settings = load_settings({"generator": tmp_path / "odd.gguf", "knowledge": tmp_path / "k", "port": 0})
    with pytest.raises(BundleError, match=r"odd\.gguf: llama\.cpp cannot load .*unknown model architecture: 'qwen9vl'"):
        async with app.running(settings):
            pass


async def test_no_server_elsewhere_is_an_error_by_its_address(tmp_path: Path) -> None:
    settings = load_settings({"generator_url": "http://127.0.0.1:9", "knowledge": tmp_path / "k"})
    with pytest.raises(EngineFailed, match=r"generator_url: http://127\.0\.0\.1:9.* cannot be reached"):
        async with app.running(settings):
            pass
