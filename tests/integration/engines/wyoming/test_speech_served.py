"""Whole servers with a hearing and a voice: what they say of them, and that they go on without them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from urllib.request import urlopen

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass_bundle.manifest import Manifest, Roles
from quizglass_client import AsyncClient, AsyncSession
from quizglass_server import app
from quizglass_server.config.load import Settings, load_settings
from quizglass_server.doctor import serving
from quizglass_server.doctor.finding import Status
from quizglass_server.errors import SettingsError
from quizglass_server.roles.load import load_models
from quizglass_server.roles.speech import HEARING, VOICE
from tests.support.engines import wyoming_server
from tests.support.engines.wyoming_server import SpeechScript, wyoming_serving
from tests.support.rpc_fakes import png

PROGRAM = f"{sys.executable} {wyoming_server.__file__}"
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


async def watched(address: str, role: str, wanted: int) -> None:
    """Wait until the health of a role is so."""
    async with asyncio.timeout(120), grpc.aio.insecure_channel(address) as channel:
        request = health_pb2.HealthCheckRequest(service=f"quizglass.{role}")
        async for told in health_pb2_grpc.HealthStub(channel).Watch(request):
            if told.status == wanted:
                return


async def test_both_are_named_and_text_is_answered_without_them(starter_bundle: Path, tmp_path: Path) -> None:
    uri = f"unix://{tmp_path / 'voice'}"
    settings = Settings(bundle=starter_bundle, knowledge=tmp_path / "k", port=0, web_port=0, hearing=PROGRAM, voice=uri)
    async with app.running(settings) as server:
        await watched(server.address, "hearing", SERVING)
        async with AsyncClient(server.address) as client:
            roles = {role.role: role for role in (await client.capabilities()).roles}
            assert (roles["hearing"].engine, roles["hearing"].executor) == ("wyoming", "process")
            assert (roles["voice"].ready, "cannot be reached" in roles["voice"].notice) == (False, True)
            assert (await client.answer("What is this?", png(), policy="none")).done.answer
        with await asyncio.to_thread(urlopen, f"{server.web}/ready") as ready:
            assert ready.read() == b"ready\n"  # turns need neither
        async with wyoming_serving(SpeechScript(), uri):
            await watched(server.address, "voice", SERVING)


async def test_a_recogniser_behind_a_port_leaves_questions_in_text_to_sessions_that_stay_here(
    starter_bundle: Path, tmp_path: Path
) -> None:
    async with wyoming_serving(SpeechScript()) as uri:
        settings = Settings(bundle=starter_bundle, knowledge=tmp_path / "k", port=0, hearing=uri)
        async with app.running(settings) as server:
            assert server.services.models.elsewhere == ("hearing",)
            assert server.rpc.asking.elsewhere == ("hearing",)
            async with AsyncSession(server.address, local_only=True) as session:
                assert (await session.answer("What is this?", png(), policy="none")).done.answer


async def test_the_doctor_says_whether_they_answer(starter_bundle: Path, tmp_path: Path) -> None:
    settings = Settings(bundle=starter_bundle, knowledge=tmp_path / "k", port=0, hearing=PROGRAM)
    _, bundle = serving.bundle_of(settings)
    assert bundle is not None
    found = {each.name: each for each in await serving.models(bundle, settings)}
    assert (found["hearing"].status, found["hearing"].text) == (Status.OK, "answers (wyoming, process)")


async def test_the_doctor_says_what_does_not_answer(
    starter_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SPEECH_S", 3.0)
    settings = Settings(bundle=starter_bundle, knowledge=tmp_path / "k", port=0, voice=f"unix://{tmp_path / 'v'}")
    _, bundle = serving.bundle_of(settings)
    assert bundle is not None
    found = {each.name: each for each in await serving.models(bundle, settings)}
    assert found["voice"].status is Status.WRONG
    assert "cannot be reached" in found["voice"].text
    assert found["models"].status is Status.OK


async def test_a_bundle_may_name_servers_of_its_machine(starter_bundle: Path, tmp_path: Path) -> None:
    manifest = json.loads((starter_bundle / "manifest.json").read_text())
    manifest["roles"]["voice"] = {"engine": "wyoming", "kind": "voice", "address": f"unix://{tmp_path / 'v'}"}
    roles = Manifest.model_validate(manifest).roles
    assert roles.voice is not None
    assert roles.voice.server.socket == tmp_path / "v"


@pytest.mark.parametrize("address", ["tcp://voice.example.org:10200", "rm -rf x", "http://localhost:1"])
def test_a_bundle_starts_no_programs_and_sends_speech_nowhere(address: str) -> None:
    with pytest.raises(ValueError, match=r"of its own machine|tcp://HOST:PORT"):
        Roles.model_validate({"hearing": {"engine": "wyoming", "kind": "hearing", "address": address}})


async def test_the_settings_go_before_the_bundle(starter_bundle: Path, tmp_path: Path) -> None:
    settings = load_settings({"bundle": starter_bundle, "knowledge": tmp_path, "voice": PROGRAM, "hearing": PROGRAM})
    _, bundle = serving.bundle_of(settings)
    assert bundle is not None
    loaded = await load_models(bundle, settings, settings, None, settings)
    assert loaded[VOICE] is not None
    assert loaded[HEARING] is not None
    assert {each.role for each in loaded.statuses()} > {"hearing", "voice"}
    await loaded.close()


@pytest.mark.parametrize("name", ["hearing", "voice"])
def test_a_setting_that_is_no_server_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=name):
        load_settings({"bundle": tmp_path, "knowledge": tmp_path, name: "http://host:1"})
