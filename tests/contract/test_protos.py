"""The contract: documented throughout, never renumbered, and the checked-in code is what it says."""

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc
from pydantic import BaseModel

from quizglass_bundle.manifest import Roles
from quizglass_server.session.coaching import closer

ROOT = Path(__file__).parents[2]
PROTOS = ROOT / "protos"
FROZEN = Path(__file__).with_name("wire_v1.json")
REFRESH = "if the change adds something and breaks nothing, run: python tests/contract/test_protos.py"


def compiled(protos: Path, out: Path) -> descriptor_pb2.FileDescriptorSet:
    sources = [path.relative_to(protos).as_posix() for path in sorted((protos / "quizglass/v1").glob("*.proto"))]
    arguments = [f"-I{protos}", f"--descriptor_set_out={out}", "--include_source_info", *sources]
    assert protoc.main(["protoc", *arguments]) == 0
    return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return compiled(PROTOS, tmp_path_factory.mktemp("protos") / "v1.binpb").file


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("generate", PROTOS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copied(tmp_path):
    """A copy of protos/ to spoil."""
    return shutil.copytree(PROTOS, tmp_path / "protos", ignore=shutil.ignore_patterns("__pycache__"))


def test_checked_in_code_is_what_the_protos_say(generator):
    assert generator.drift(PROTOS) == []


def test_drift_is_seen_and_mended(generator, copied):
    (copied / "quizglass/v1/types_pb2.py").write_text("stale")
    (copied / "quizglass/v1/knowledge_pb2.pyi").unlink()
    (copied / "quizglass/v1/gone_pb2.py").write_text("left over")
    spoilt = [Path("quizglass/v1") / name for name in ("gone_pb2.py", "knowledge_pb2.pyi", "types_pb2.py")]
    assert generator.drift(copied) == spoilt
    assert generator.write(copied) == spoilt
    assert generator.drift(copied) == []


def test_check_names_what_differs(generator, copied, monkeypatch, capsys):
    monkeypatch.setattr(generator, "HERE", copied)
    assert generator.main(["--check"]) == 0
    (copied / "quizglass/v1/assistant_pb2_grpc.py").write_text("stale")
    assert generator.main(["--check"]) == 1
    assert "protos/quizglass/v1/assistant_pb2_grpc.py" in capsys.readouterr().err


def test_no_empty_service_files():
    assert all("class " in path.read_text() for path in PROTOS.rglob("*_pb2_grpc.py"))


# Numbers of google.protobuf.FileDescriptorProto and below: what a path of source locations is made of.
MESSAGE, ENUM, SERVICE = 4, 5, 6
FIELD, NESTED, NESTED_ENUM, VALUE, METHOD = 2, 3, 4, 2, 2


def declared(file):
    """Every name of a file and its path in the source locations."""

    def of_enum(enum, path, prefix):
        yield prefix + enum.name, path
        for i, value in enumerate(enum.value):
            yield f"{prefix}{enum.name}.{value.name}", (*path, VALUE, i)

    def of_message(message, path, prefix):
        if message.options.map_entry:
            return
        yield prefix + message.name, path
        below = f"{prefix}{message.name}."
        for i, field in enumerate(message.field):
            yield below + field.name, (*path, FIELD, i)
        hidden = {field.oneof_index for field in message.field if field.proto3_optional}
        for i, oneof in enumerate(message.oneof_decl):
            if i not in hidden:
                yield below + oneof.name, (*path, 8, i)
        for i, nested in enumerate(message.nested_type):
            yield from of_message(nested, (*path, NESTED, i), below)
        for i, enum in enumerate(message.enum_type):
            yield from of_enum(enum, (*path, NESTED_ENUM, i), below)

    for i, message in enumerate(file.message_type):
        yield from of_message(message, (MESSAGE, i), "")
    for i, enum in enumerate(file.enum_type):
        yield from of_enum(enum, (ENUM, i), "")
    for i, service in enumerate(file.service):
        yield service.name, (SERVICE, i)
        for j, method in enumerate(service.method):
            yield f"{service.name}.{method.name}", (SERVICE, i, METHOD, j)


def test_everything_has_a_comment(files):
    bare = []
    for file in files:
        comments = {tuple(at.path): at.leading_comments.strip() for at in file.source_code_info.location}
        bare += [f"{file.name}: {name}" for name, path in declared(file) if not comments.get(path)]
    assert bare == []


def words_of_the_server() -> dict[str, set[str]]:
    """Of fields that are texts for what only the server knows: the words it fills them with."""
    roles, engines = set(), set()
    for name, field in Roles.model_fields.items():
        engines |= engines_in(field.annotation)
        roles.add("deciders.NAME" if name == "deciders" else name)
    source = "".join(path.read_text() for path in (ROOT / "server" / "quizglass_server").rglob("*.py"))
    skipped = set(re.findall(r'\.skip\([^)\n]*?"([A-Z_]{4,})"', source)) | {closer.REASON}
    return {"RoleCapability.role": roles, "RoleCapability.engine": engines, "SkippedStep.reason": skipped}


def engines_in(annotation) -> set[str]:
    """What the manifest's part of a role may name as its engine."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return set(get_args(annotation.model_fields["engine"].annotation))
    return set().union(*map(engines_in, get_args(annotation)))


def test_comments_name_every_word_that_the_server_fills_a_text_with(files):
    comments = {}
    for file in files:
        said = {tuple(at.path): at.leading_comments for at in file.source_code_info.location}
        comments |= {name: said.get(path, "") for name, path in declared(file)}
    for field, words in words_of_the_server().items():
        assert words, field
        assert {word for word in words if f'"{word}"' not in comments[field]} == set(), field


def all_enums(file):
    def below(message):
        yield from message.enum_type
        for nested in message.nested_type:
            yield from below(nested)

    yield from file.enum_type
    for message in file.message_type:
        yield from below(message)


def test_zero_of_every_enum_is_unspecified(files):
    for file in files:
        for enum in all_enums(file):
            zero = next(value.name for value in enum.value if value.number == 0)
            assert zero.endswith("_UNSPECIFIED"), enum.name


def wire(files) -> dict[str, str]:
    """Everything that two sides must agree on, as name: what it is."""
    agreed = {}
    label = {1: "", 3: "repeated "}

    def add_enum(enum, prefix):
        for value in enum.value:
            agreed[f"{prefix}{enum.name}.{value.name}"] = f"= {value.number}"

    def add_message(message, prefix):
        below = f"{prefix}{message.name}."
        agreed[below.rstrip(".")] = "message"
        for field in message.field:
            kind = field.type_name or descriptor_pb2.FieldDescriptorProto.Type.Name(field.type)
            oneof = f" in {message.oneof_decl[field.oneof_index].name}" if field.HasField("oneof_index") else ""
            agreed[below + field.name] = f"= {field.number} {label[field.label]}{kind}{oneof}"
        for nested in message.nested_type:
            add_message(nested, below)
        for enum in message.enum_type:
            add_enum(enum, below)

    for file in files:
        prefix = f"{file.package}."
        for message in file.message_type:
            add_message(message, prefix)
        for enum in file.enum_type:
            add_enum(enum, prefix)
        for service in file.service:
            for method in service.method:
                streams = ["", "stream "]
                agreed[f"{prefix}{service.name}.{method.name}"] = (
                    f"{streams[method.client_streaming]}{method.input_type} -> "
                    f"{streams[method.server_streaming]}{method.output_type}"
                )
    return agreed


def test_nothing_of_v1_is_renumbered_retyped_or_removed(files):
    frozen, now = json.loads(FROZEN.read_text()), wire(files)
    broken = {name: (was, now.get(name)) for name, was in frozen.items() if now.get(name) != was}
    assert broken == {}


def test_what_is_new_in_v1_is_frozen_too(files):
    assert sorted(set(wire(files)) - set(json.loads(FROZEN.read_text()))) == [], REFRESH


def test_every_rpc_of_bounded_work_has_a_time_limit_and_only_reading_ones_are_retried(files):
    configuration = json.loads((PROTOS / "quizglass/v1/service_config.json").read_text())
    limited, retried = [], set()
    for method in configuration["methodConfig"]:
        names = [f"{name['service']}.{name['method']}" for name in method["name"]]
        assert method["timeout"].endswith("s")
        limited += names
        if "retryPolicy" in method:
            assert method["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE"]
            retried |= {name.rpartition(".")[2] for name in names}
    rpcs = [f"{f.package}.{s.name}.{m.name}" for f in files for s in f.service for m in s.method]
    boundless = {"KnowledgeService.AddEntries", "KnowledgeService.CompactEntries", "MemoryService.CompactMemory"}
    assert sorted(limited) == sorted(set(rpcs) - {f"quizglass.v1.{name}" for name in boundless})
    of_entries = {"GetEntry", "GetPicture", "ListEntries", "SearchEntries"}
    of_memory = {"GetMemoryStats", "GetThumbnail", "SearchMemory"}
    assert retried == {"GetCapabilities", *of_entries, *of_memory}


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = wire(compiled(PROTOS, Path(folder) / "v1.binpb").file)
    lost = [name for name, was in json.loads(FROZEN.read_text()).items() if found.get(name) != was]
    if lost:
        raise SystemExit(f"these would break clients: {', '.join(lost)}")
    FROZEN.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{FROZEN.name}: {len(found)} names")
