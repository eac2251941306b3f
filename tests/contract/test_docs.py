"""The documentation says what is there: regions are fresh, links and paths lead somewhere, names exist."""

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest
from google.protobuf.descriptor import Descriptor, FileDescriptor
from pydantic import BaseModel

from bench import render
from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, session_pb2, types_pb2
from quizglass_bundle.manifest import Manifest
from quizglass_client.cli.command import parser as client_parser
from quizglass_export import cli as export_cli
from quizglass_lab import cli as lab_cli
from quizglass_server import errors
from quizglass_server.config.load import Settings, all_fields, fields_of
from quizglass_server.config.settings import LinkOptions
from quizglass_server.policies import POLICIES
from quizglass_server.rpc.transport import status

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *render.documents(),
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "clients" / "conformance" / "README.md",
]
ROOTS = (
    *("", "bundle/quizglass_bundle", "server/quizglass_server", "export/quizglass_export", "lab/quizglass_lab"),
    "clients/python/quizglass_client",
)
PLACEHOLDERS = re.compile(r"\b(NAME|LANGUAGE)\b")
MADE = ("bench/results", "models/starter", "work/", ".run/", "bundle.toml")
"""Made by users, or by commands that the documents name."""
STAGES = {
    "decode",
    "read",
    "tag",
    "plan",
    "embed",
    "image_search",
    "rewrite",
    "text_search",
    "rerank",
    "generate",
    "verify",
}
STAGES |= {
    "gate",
    "recall",
    "domain",
    "detect",
    "coarse_rerank",
    "judge",
    "draft",
    "entry_pictures",
    "links",
    "look",
    "spatial_match",
}
STAGES |= {"picture_by_text"}
SKIPPED = {"BUDGET", "NO_PICTURE", "NO_QUERY", "EMPTY_KNOWLEDGE", "MEMORY_OFF", "FAILED", "NO_FRAME"}
OTHER_WORDS = {
    "STOPPING",
    "incident",
    "quizglass",
    "external",
    "believed",
    "why",
    "calculated",
    "disputed",
    "unseen",
    "off_question",
    "unanswered",
    "CANCELLED",
}
OTHER_PACKAGES = ("google.rpc.", "grpc.health.")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(quizglass(?:-export|-lab)?) ([a-z][a-z-]*)", re.MULTILINE)
_MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")


def _named(documents: Iterable[Path]) -> list[object]:
    return [pytest.param(path, id=path.name) for path in documents]


def _prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", _prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_regions_are_fresh() -> None:
    assert render.main(["--check"]) == 0, "run: python -m bench.render"


def test_results_are_json_for_any_reader() -> None:
    for path in render.RESULTS.glob("*.json"):
        found: list[str] = []
        json.loads(path.read_text(encoding="utf-8"), parse_constant=found.append)
        assert not found, f"{path.name}: {found[0]} is no JSON"


def test_filling_twice_changes_nothing() -> None:
    for path in render.documents():
        once = render.filled(path.read_text(encoding="utf-8"), path)
        assert render.filled(once, path) == once


def test_a_region_that_is_not_closed_is_refused() -> None:
    with pytest.raises(render.RenderError, match=r"page\.md: 1 regions are opened and 0 are whole"):
        render.filled("<!-- bench:accuracy -->\n", Path("page.md"))


def test_a_region_of_no_known_name_is_refused() -> None:
    with pytest.raises(render.RenderError, match="no region 'bench:speed'"):
        render.filled("<!-- bench:speed -->\n<!-- /bench -->\n", Path("page.md"))


def test_a_result_becomes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"name": "a | b", "value": 0.9875, "unit": "", "peer": "", "peer_value": None, "ratio": None}
    text = (
        '{"machine": {"cpu": "X", "cores": 2, "memory_gib": 8, "system": "Linux"}, "versions": {"python": "3.11"},'
        f' "command": "c", "rows": [{json.dumps(row | {"bar": ">= 0.9", "ok": True})}]}}'
    )
    (tmp_path / "accuracy.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    filled = render.figures("accuracy")
    assert "| a \\| b | 0.9875 |  | `>= 0.9` | yes |" in filled
    assert "Measured by `c` on X, 2 cores, 8 GiB, Linux; python 3.11." in filled
    assert "make bench-latency" in render.bars(), "what was not measured says so"


def test_a_section_that_was_measured_with_other_versions_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"machine": {"cpu": "X", "cores": 2, "memory_gib": 8, "system": "Linux"}, "command": "c", "rows": []}
    now, before = {"python": "3.11", "numpy": "2.2"}, {"python": "3.11", "numpy": "2.1"}
    sections = {"old": {"versions": before}, "new": {"versions": now}, "untold": {}}
    (tmp_path / "engine.json").write_text(json.dumps(how | {"versions": now, "sections": sections}), encoding="utf-8")
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    assert render.figures("engine").endswith("python 3.11, numpy 2.2 (the sections old with numpy 2.1).")


def test_a_bar_that_could_not_be_judged_is_not_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"bar": ">= 1", "ok": ok} for ok in (True, False, None)]
    (tmp_path / "engine.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    assert "| 1 of 3 |" in render.bars()


def test_a_table_names_the_command_of_every_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how = {"machine": {"cpu": "X", "cores": 2, "memory_gib": 8, "system": "Linux"}, "versions": {"python": "3.11"}}
    sections = {name: {"command": f"c --only {name}"} for name in ("second", "first")} | {"third": {"command": "c"}}
    text = json.dumps(how | {"command": "c", "rows": [], "sections": sections | {"fourth": {}}})
    (tmp_path / "engine.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    assert "Measured by `c --only second`, `c --only first`, `c` on X" in render.figures("engine")


@pytest.mark.parametrize("path", _named(DOCUMENTS))
def test_relative_links_lead_somewhere(path: Path) -> None:
    for link in _LINK.findall(_prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path.name}: {link}"
        if anchor:
            assert anchor in _anchors(target), f"{path.name}: {link}"


@pytest.mark.parametrize("path", _named(DOCUMENTS))
def test_paths_exist(path: Path) -> None:
    for token in _CODE.findall(_prose(path)):
        if _looks_like_a_path(token) and not token.startswith(MADE):
            assert any((ROOT / root / token).exists() for root in ROOTS), f"{path.name}: {token}"


def _looks_like_a_path(token: str) -> bool:
    first, slash, rest = token.partition("/")
    if not re.fullmatch(r"[\w./-]+", token) or not first or PLACEHOLDERS.search(token):
        return False
    if not slash:
        return bool(re.fullmatch(r"[\w-]+\.(py|md|toml)", token))
    below = any((ROOT / root / first).is_dir() for root in ROOTS)
    return below and (rest == "" or re.search(r"(\.\w+|/)$", token) is not None or (ROOT / first).is_dir())


@pytest.mark.parametrize("path", _named(DOCUMENTS))
def test_make_targets_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = path.read_text(encoding="utf-8")
    code = "\n".join([*_CODE.findall(text), *_FENCE.findall(text)])
    for target in _MAKE.findall(code):
        assert target in targets, f"{path.name}: make {target}"


@pytest.mark.parametrize("path", _named(DOCUMENTS))
def test_commands_exist(path: Path) -> None:
    known = {
        "quizglass-export": _commands(export_cli.build_parser()),
        "quizglass-lab": _commands(lab_cli.build_parser([])),
        "quizglass": _commands(client_parser()),
    }
    for program, command in _COMMAND.findall("\n".join(_FENCE.findall(path.read_text(encoding="utf-8")))):
        assert command in known[program], f"{path.name}: {program} {command}"


def _commands(parser: argparse.ArgumentParser) -> set[str]:
    """Names of a program's commands."""
    parsers = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name for action in parsers for name in action.choices}


def test_the_index_links_every_page_and_folder_of_pages() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    for path in {*docs.glob("*.md"), *docs.glob("*/README.md")} - {docs / "README.md"}:
        assert f"({path.relative_to(docs).as_posix()}" in index, path.name


@pytest.mark.parametrize("folder", _named((ROOT / "docs").glob("*/README.md")))
def test_the_readme_of_a_folder_links_every_page_of_it(folder: Path) -> None:
    readme = folder.read_text(encoding="utf-8")
    for path in folder.parent.glob("*.md"):
        assert path == folder or f"({path.name}" in readme, path.name


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name in Settings.model_fields:
        assert f"`{name}`" in page, name
        assert f"`--{name.replace('_', '-')}`" in page, name


def test_the_help_of_the_default_policy_names_every_policy() -> None:
    described = set(re.findall(r"[\w-]+", all_fields()["default_policy"].description or ""))
    variants = {name for name in POLICIES for other in POLICIES if name.startswith((f"{other}-", f"{other}+"))}
    assert described >= set(POLICIES) - variants


def _parts(part: type[BaseModel]) -> set[type[BaseModel]]:
    """A part of the manifest and all that are in it."""
    inner = {part}
    waiting = [field.annotation for field in part.model_fields.values()]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            inner |= _parts(kind)
        waiting += get_args(kind)
    return inner


def test_every_key_of_a_manifest_is_documented() -> None:
    page = (ROOT / "docs" / "bundles.md").read_text(encoding="utf-8")
    for part in sorted(_parts(Manifest), key=lambda part: part.__name__):
        for key in part.model_fields:
            assert f"`{key}`" in page, f"{part.__name__}: {key}"


def test_every_event_and_call_is_documented() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    events = assistant_pb2.DESCRIPTOR.message_types_by_name["AskResponse"].oneofs_by_name["event"].fields
    calls = [
        method.name
        for pb2 in (assistant_pb2, knowledge_pb2, memory_pb2, session_pb2)
        for service in pb2.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ]
    for name in [*(field.name for field in events), *calls]:
        assert f"`{name}`" in page, name


def test_every_message_and_setting_of_a_session_is_documented() -> None:
    page = (ROOT / "docs" / "session.md").read_text(encoding="utf-8")
    messages = session_pb2.DESCRIPTOR.message_types_by_name
    for name in ("ClientMessage", "ServerMessage"):
        for field in messages[name].oneofs_by_name["message"].fields:
            assert f"`{field.name}`" in page, field.name
    for setting in fields_of(LinkOptions):
        assert f"`{setting}`" in page, setting


def test_names_in_the_protocol_page_exist() -> None:
    known = _contract_names() | STAGES | SKIPPED | OTHER_WORDS | set(POLICIES) | set(Settings.model_fields)
    known |= {kind.code for kind in status.STATUS} | {code.name for code in status.STATUS.values()}
    for token in _CODE.findall(_prose(ROOT / "docs" / "protocol.md")):
        name = re.fullmatch(r"(?:quizglass\.v1\.)?([A-Za-z]\w*(?:\.[a-z]\w*)*)", token)
        if name is None or token in known or token.startswith((*OTHER_PACKAGES, "quizglass.v1")):
            continue
        if not (ROOT / "protos" / "quizglass" / "v1" / token).exists():
            assert set(name[1].split(".")) <= known, token


def _contract_names() -> set[str]:
    names: set[str] = set()
    for pb2 in (assistant_pb2, knowledge_pb2, memory_pb2, session_pb2, types_pb2):
        file: FileDescriptor = pb2.DESCRIPTOR
        names.add(Path(file.name).name)
        for service in file.services_by_name.values():
            names |= {service.name, *(method.name for method in service.methods)}
        for enum in file.enum_types_by_name.values():
            names |= {enum.name, *enum.values_by_name}
        for message in file.message_types_by_name.values():
            names |= _message_names(message)
    return names


def _message_names(message: Descriptor) -> set[str]:
    names = {message.name, *message.fields_by_name, *message.oneofs_by_name}
    for enum in message.enum_types:
        names |= {enum.name, *enum.values_by_name}
    for nested in message.nested_types:
        names |= _message_names(nested)
    return names


def test_every_error_class_stands_in_the_table() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    for kind in errors.QuizglassError.__subclasses__():
        if kind.__module__ == errors.__name__:
            assert f"`{kind.code}`" in page, kind.__name__
