"""What the doctor says of machines that are not at hand."""

import asyncio
import errno
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quizglass_server.config.address import MilvusAddress
from quizglass_server.config.listening import what_to_do
from quizglass_server.config.load import Settings
from quizglass_server.doctor import engines, machine
from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.engines.generator.checks.backends import NATIVE, Variant
from quizglass_server.engines.generator.checks.machine import cpu_features
from quizglass_server.engines.generator.process import programs
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from quizglass_server.roles.load import RoleStatus
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.knowledge.stores import add

GIB = 1 << 30
AVX2 = frozenset({"avx2", "fma", "f16c"})


def settings(**given: Any) -> Settings:
    return Settings(**{"bundle": Path("b"), "knowledge": Path("k")} | given)


def test_a_processor_without_avx2_is_wrong_and_says_what_is_missing() -> None:
    finding = machine.processor(frozenset({"fma"}), "x86_64")
    assert finding.status is Status.WRONG
    assert "AVX2, F16C missing" in finding.text
    assert finding.remedy


def test_a_processor_with_avx2_is_enough() -> None:
    assert machine.processor(AVX2, "x86_64").status is Status.OK


def test_an_arm_processor_needs_no_avx2() -> None:
    finding = machine.processor(frozenset({"asimd", "asimddp"}), "aarch64")
    assert (finding.status, finding.values["features"]) == (Status.OK, ["NEON", "dot product"])


def test_a_system_that_does_not_say_what_its_processor_can_do_is_not_called_wrong() -> None:
    assert machine.processor(frozenset(), "x86_64").status is Status.UNKNOWN


@pytest.mark.parametrize("name", ["flags", "Features"])
def test_flags_are_read_from_either_kind_of_processor_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{name}\t\t: avx2 fma\nbugs\t: none\n")
    assert cpu_features(tmp_path / "cpuinfo") == ("avx2", "fma")
    assert cpu_features(tmp_path / "absent") == ()


def test_cores_that_others_use_are_slow() -> None:
    (finding,) = machine.cores(load=1.8, usable=2, installed=4, governor="schedutil")
    assert finding.status is Status.SLOW
    assert "2 of 4" in finding.text
    (idle,) = machine.cores(load=0.2, usable=2, installed=4, governor="schedutil")
    assert idle.status is Status.OK


def test_models_that_do_not_fit_are_wrong_whatever_bounds_them() -> None:
    assert machine.memory(8 * GIB, 2 * GIB, None).status is Status.OK
    assert machine.memory(1 * GIB, 2 * GIB, None).status is Status.WRONG
    assert machine.memory(8 * GIB, 2 * GIB, limit=GIB).status is Status.WRONG


def test_models_that_fit_leave_room_for_requests_or_are_slow() -> None:
    assert machine.memory(8 * GIB, 2 * GIB, None, work=GIB).status is Status.OK
    finding = machine.memory(2 * GIB, GIB, None, work=2 * GIB)
    assert finding.status is Status.SLOW
    assert "--work-memory-bytes" in finding.remedy


def test_a_directory_that_does_not_exist_yet_is_judged_by_the_one_above(tmp_path: Path) -> None:
    finding = machine.disk(tmp_path / "to" / "be" / "made", "knowledge")
    assert finding.status in (Status.OK, Status.SLOW)
    assert not (tmp_path / "to").exists()


def test_a_file_in_the_place_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0o755)
    for place in (tmp_path / "file", tmp_path / "file" / "knowledge"):
        finding = machine.disk(place, "knowledge")
        assert (finding.status, finding.text) == (Status.WRONG, f"{tmp_path / 'file'} is no directory")


def test_a_directory_that_may_not_even_be_looked_at_is_judged_by_the_one_above(tmp_path: Path) -> None:
    finding = machine.disk(tmp_path / ("x" * 300) / "knowledge", "knowledge")  # as one where permission is missing
    assert finding.status in (Status.OK, Status.SLOW)


def _llama(variants: tuple[Variant, ...], in_use: str | None, flags: frozenset[str] = AVX2) -> list[Finding]:
    return list(engines.llama_variants(variants, in_use, flags))


def test_no_variant_for_this_processor_is_wrong() -> None:
    (finding,) = _llama((Variant("haswell", 0),), None)
    assert finding.status is Status.WRONG
    assert "wheel.py" in finding.remedy


def test_a_build_for_one_machine_is_said_to_be_one() -> None:
    (finding,) = _llama((), NATIVE)
    assert finding.status is Status.OK
    assert "signal 4" in finding.text


def test_amx_that_was_not_compiled_is_said_to_be_slow() -> None:
    compiled = (Variant("zen4", 9), Variant("haswell", 3))
    assert [each.status for each in _llama(compiled, "zen4")] == [Status.OK]
    assert [each.status for each in _llama(compiled, "zen4", AVX2 | {"amx_int8"})] == [Status.OK, Status.SLOW]
    with_amx = (Variant("sapphirerapids", 20), *compiled)
    assert [each.status for each in _llama(with_amx, "sapphirerapids", AVX2 | {"amx_int8"})] == [Status.OK]


def test_a_card_that_is_not_used_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "has_gpu", lambda: True)
    assert [each.name for each in engines.providers(["CPUExecutionProvider"], "auto")] == ["ONNX Runtime", "GPU"]
    assert [each.name for each in engines.providers(["CPUExecutionProvider"], "cpu")] == ["ONNX Runtime"]


def _ran(**executors: str) -> list[RoleStatus]:
    engine = {"gpu": "llama", "process": "wyoming"}
    return [
        RoleStatus(role, engine.get(executor, "onnx"), executor, True, False) for role, executor in executors.items()
    ]


def test_what_ran_each_role_is_named_and_not_what_was_to_be_tried() -> None:
    cards = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    statuses = _ran(planner="cuda", detector="cpu", reranker="cuda", generator="gpu", voice="process")
    (behind,) = engines.executors(statuses, cards, "auto")
    assert behind.text == "cuda ran planner, reranker; cpu ran detector; gpu ran generator"
    assert behind.status is Status.SLOW
    assert "cuda did not start for detector: a server's log" in behind.remedy
    (whole,) = engines.executors(
        _ran(planner="tensorrt-engine", generator="gpu"), ["TensorrtExecutionProvider"], "auto"
    )
    assert (whole.status, whole.remedy) == (Status.OK, "")
    assert [each.status for each in engines.executors(_ran(planner="cpu"), cards, "cpu")] == [Status.OK]
    assert list(engines.executors(_ran(voice="process"), cards, "auto")) == []


def test_an_address_in_use_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from quizglass_server.doctor import serving

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert serving.address("127.0.0.1", port).status is Status.WRONG
        (taken,) = serving.web(settings(web_port=port))
        assert (taken.status, "--web-port" in taken.remedy) == (Status.WRONG, True)
    assert serving.address("127.0.0.1", 0).status is Status.OK
    assert [each.status for each in serving.web(settings(web_port=0))] == [Status.OK]
    assert list(serving.web(settings())) == []
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    (missing,) = serving.web(settings(web_port=0))
    assert "'.[web]'" in missing.remedy


@pytest.mark.parametrize("web_host", ["127.0.0.1", "0.0.0.0"])
def test_two_doors_at_one_address_are_wrong(web_host: str) -> None:
    from quizglass_server.doctor import serving

    (told,) = serving.web(settings(port=50999, web_port=50999, web_host=web_host))
    assert (told.status, told.text) == (Status.WRONG, f"{web_host}:50999: gRPC is to listen there")
    (apart,) = serving.web(settings(port=0, web_port=0, web_host=web_host))
    assert apart.status is Status.OK


def test_directories_and_files_that_a_server_would_refuse_are_wrong(tmp_path: Path) -> None:
    from quizglass_server.doctor import serving

    (tmp_path / "link").symlink_to(tmp_path)
    given = settings(knowledge=tmp_path, memory_directory=tmp_path / "link", session_key_file=tmp_path / "no" / "key")
    wrong = [each.text for each in serving.directories(given) if each.status is Status.WRONG]
    one = f"memory_directory: {tmp_path / 'link'} is the knowledge directory"
    assert wrong == [one, f"{tmp_path / 'no'} does not exist"]
    *_, inside = serving.directories(settings(bundle=tmp_path, knowledge=tmp_path / "knowledge"))
    assert (inside.name, inside.status, inside.remedy) == ("directories", Status.WRONG, "give another place")
    *_, unreadable = serving.directories(settings(session_key_file=tmp_path))
    assert (unreadable.status, unreadable.text) == (Status.WRONG, f"session_key_file: {tmp_path}: Is a directory")
    (tmp_path / "words").write_text("secret\n")
    *_, no_key = serving.directories(settings(session_key_file=tmp_path / "words"))
    assert (no_key.status, "line 1" in no_key.text) == (Status.WRONG, True)
    *_, made = serving.directories(settings(session_key_file=tmp_path / "key"))
    assert made.status in (Status.OK, Status.SLOW)
    assert not (tmp_path / "key").exists()


def test_a_milvus_is_said_not_to_have_been_asked() -> None:
    from quizglass_server.doctor import serving

    (told,) = serving.directories(settings(knowledge=MilvusAddress("http://milvus:19530")))
    assert (told.status, "http://milvus:19530 was not asked" in told.text) == (Status.UNKNOWN, True)


def test_a_full_disk_is_wrong_for_a_store_on_which_a_server_would_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quizglass_server.doctor import stores

    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    full = stores.store(tmp_path, "knowledge")
    assert (full.status, full.text) == (Status.WRONG, f"{tmp_path}: the disk is full")
    assert machine.disk(tmp_path, "temporary files").status is Status.SLOW


def test_vectors_that_a_bundle_has_no_encoder_for_are_told(tmp_path: Path) -> None:
    from quizglass_server.doctor import stores
    from quizglass_server.roles.table import Models

    asyncio.run(add(tmp_path, "a"))
    (told,) = stores.vectors(settings(knowledge=tmp_path), Models())
    assert (told.status, told.name) == (Status.SLOW, "vectors of the knowledge")
    assert told.text == "passages that the bundle has no text_encoder to search with: 1"
    assert "add-role" in told.remedy


def test_a_file_of_keys_that_may_not_even_be_looked_at_is_judged_by_its_directory(tmp_path: Path) -> None:
    from quizglass_server.doctor import serving

    *_, told = serving.directories(settings(session_key_file=tmp_path / ("x" * 300)))  # as without permission
    assert told.status in (Status.OK, Status.SLOW)
    *_, told = serving.directories(settings(session_key_file=tmp_path / ("x" * 300) / "key"))
    assert told.status is Status.WRONG


def test_policies_are_counted_and_what_the_others_lack_is_named(tmp_path: Path) -> None:
    from quizglass_bundle.files import Bundle
    from quizglass_server.doctor import serving

    finding = serving.policies(Bundle.load(write_bundle(tmp_path / "bundle")), None)
    served, others = finding.values["served"], finding.values["not_served"]
    assert finding.status is Status.OK
    assert finding.text.startswith(f"{len(served)} of {len(served) + len(others)} can be served; where none is named ")
    assert f"; answers: {finding.values['answers']}" in finding.text
    assert "The others lack deciders.act, " in finding.text
    assert len(finding.text) < 400


def test_a_default_policy_that_no_server_knows_is_wrong(tmp_path: Path) -> None:
    from quizglass_bundle.files import Bundle
    from quizglass_server.doctor import serving

    finding = serving.policies(Bundle.load(write_bundle(tmp_path / "bundle")), "adaptiv")
    assert (finding.status, finding.text) == (Status.WRONG, "default_policy adaptiv is no policy")
    assert "planning-agent+" in finding.remedy


def test_more_connections_than_descriptors_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from quizglass_server.doctor import serving

    monkeypatch.setattr(serving.descriptors, "raise_limit", serving.descriptors.limit)  # this process keeps its own
    assert serving.connections(0).status is Status.OK
    wrong = serving.connections(1 << 31)
    assert (wrong.status, "--max-connections" in wrong.remedy) == (Status.WRONG, True)


async def test_each_source_is_asked_once(tmp_path: Path) -> None:
    from quizglass_server.doctor.sources import beside, sources

    file = tmp_path / "sources.toml"
    (tmp_path / "a.md").write_text("This is quizglass.")
    tables = f'[notes]\ntype = "markdown"\nfolder = "{tmp_path}"\n[web]\ntype = "searxng"\nurl = "http://127.0.0.1:9"\n'
    file.write_text(tables)
    notes, web = await sources(settings(sources=file), None)
    assert (notes.name, notes.status, "1 passages" in notes.text) == ("source notes", Status.OK, True)
    assert (web.name, web.status, "cannot be reached" in web.text) == ("source web", Status.WRONG, True)
    _, shut = await sources(settings(sources=file, local_only=True), None)
    assert (shut.status, "LOCAL_ONLY" in shut.text) == (Status.UNKNOWN, True)
    assert beside(settings(sources=file), lambda _: False)("text_encoder")
    file.write_text('[web]\ntype = "searx"')
    assert not beside(settings(sources=file), lambda _: False)("text_encoder")
    (wrong,) = await sources(settings(sources=file), None)
    assert (wrong.status, wrong.remedy[:12]) == (Status.WRONG, "did you mean")
    assert await sources(settings(), None) == []


def test_a_frame_filter_that_cannot_be_loaded_is_wrong() -> None:
    from quizglass_server.doctor import serving

    (wrong,) = serving.frame_filter("no_such_module:blur")
    assert (wrong.status, "no_such_module" in wrong.text) == (Status.WRONG, True)
    assert wrong.remedy == "name MODULE:FUNCTION, and the module's folder in PYTHONPATH"
    (right,) = serving.frame_filter("numpy:flipud")
    assert right.status is Status.OK
    assert list(serving.frame_filter("")) == []


def test_a_provider_that_is_not_there_is_wrong_and_the_rest_is_looked_at() -> None:
    (finding,) = engines.providers(["CPUExecutionProvider"], "cuda")
    assert finding.status is Status.WRONG
    assert "CUDAExecutionProvider is not in this ONNX Runtime" in finding.text
    assert "'.[gpu]'" in finding.remedy


def test_what_to_do_about_an_address_depends_on_what_is_wrong_with_it() -> None:
    from quizglass_server.doctor import serving

    elsewhere = serving.address("192.0.2.1", 0)  # for documents alone: RFC 5737
    assert (elsewhere.status, "another --host" in elsewhere.remedy) == (Status.WRONG, True)
    assert "take a --web-port from 1024 on" in what_to_do(
        PermissionError(errno.EACCES, "Permission denied"), "web_port"
    )


def test_an_address_that_is_none_is_not_taken_for_one_in_use() -> None:
    from quizglass_server.doctor import serving

    for host in ("no.such.host.invalid", "no..host"):
        told = serving.address(host, 0, "HTTP", "--web-port")
        assert told.status is Status.WRONG
        assert "--web-host" in told.remedy


@pytest.mark.parametrize(("generates", "status"), [(True, Status.WRONG), (False, Status.OK)])
def test_llama_cpp_is_missed_where_a_generator_is_served(
    monkeypatch: pytest.MonkeyPatch, generates: bool, status: Status
) -> None:
    monkeypatch.setattr(programs, "in_wheel", lambda: None)
    monkeypatch.setattr(programs, "prebuilt", lambda: None)
    found = next(each for each in engines.looked_at(AVX2, "cpu", generates=generates) if each.name == "llama-server")
    assert (found.status, "server/native/wheel.py" in found.remedy) == (status, True)


def test_where_llama_server_comes_from_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "llama-server"
    for given, says in (
        ("gone", "does not exist"),
        (str(tmp_path), "is a directory"),
        (str(file), "cannot be executed"),
    ):
        if given == str(file):
            file.write_text("#!/bin/sh\n")
        (found,) = engines.llama_server(Path(given), AVX2)
        assert (found.status, says in found.text) == (Status.WRONG, True)
        assert found.remedy
    file.chmod(0o755)
    (found,) = engines.llama_server(file, AVX2)
    assert (found.status, found.values["origin"]) == (Status.OK, "named")
    monkeypatch.setattr(programs, "in_wheel", lambda: None)
    monkeypatch.setattr(programs, "prebuilt", lambda: programs.Program(programs.Origin.PREBUILT, ("x",), "1"))
    (found,) = engines.llama_server(None, AVX2)
    assert (found.status, found.values["program"]) == (Status.SLOW, "xllamacpp 1")


def test_what_others_could_reach_unprotected_is_wrong() -> None:
    from quizglass_server.doctor import serving

    (wrong,) = serving.network(settings(host="0.0.0.0"))
    assert (wrong.status, "say --insecure" in wrong.remedy) == (Status.WRONG, True)
    assert list(serving.network(settings())) == []


def test_tokens_of_which_none_is_valid_are_wrong(tmp_path: Path) -> None:
    from quizglass_server.doctor import serving

    file = TokenFile(tmp_path / "tokens")
    expired = datetime.now(UTC) - timedelta(seconds=1)
    file.add(made("old", [Permission.ASK], expired)[1])
    (none,) = serving.network(settings(tokens=file.path))
    assert (none.status, none.text) == (Status.WRONG, "0 are valid")
    file.add(made("new", [Permission.ASK], None)[1])
    (some,) = serving.network(settings(tokens=file.path))
    assert (some.status, some.text) == (Status.OK, "1 are valid")
