"""Who may import what, read from the source: the rooms of the architecture page, lowest first."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server" / "quizglass_server"
PACKAGES = {
    "quizglass_bundle": ROOT / "bundle",
    "quizglass_server": ROOT / "server",
    "quizglass_client": ROOT / "clients" / "python",
    "quizglass_export": ROOT / "export",
    "quizglass_lab": ROOT / "lab",
}
LAYERS = {
    "brackets": "",
    "errors": "",
    "containment": "",
    "steps.language.detection": "",
    "offline": "",
    "parent_death": "",
    "service_manager": "",
    "steady_clock": "",
    "web.chat.schemas": "brackets",
    "observe": "",
    "descriptors": "errors",
    "domain": "errors",
    "config": "errors",
    "scheduling": "errors",
    "network": "config errors observe scheduling",
    "decoding.markup": "containment domain errors parent_death",
    "decoding": "config containment domain errors observe parent_death scheduling",
    "engines": "observe",
    "engines.onnx": "errors scheduling",
    "engines.generator": "brackets errors observe scheduling",
    "engines.generator.checks": "engines.generator errors scheduling",
    "engines.generator.remote": "config engines engines.generator errors scheduling",
    "engines.generator.process": (
        "config containment descriptors engines.generator engines.generator.checks errors observe parent_death"
    ),
    "engines.wyoming": "decoding domain engines.generator engines.generator.process errors scheduling",
    "roles.shared": "domain engines engines.onnx errors scheduling",
    "session.coaching": "domain errors roles.shared",
    "roles": (
        "config containment domain engines engines.generator engines.generator.checks engines.generator.process "
        "engines.generator.remote engines.onnx engines.wyoming errors observe roles.shared scheduling"
    ),
    "knowledge.content": "decoding.markup domain errors",
    "knowledge.database": "domain errors knowledge.content observe steady_clock",
    "knowledge.index": "domain errors knowledge.content knowledge.database scheduling",
    "knowledge.ingest": (
        "decoding.markup domain errors knowledge.content knowledge.database knowledge.index roles scheduling"
    ),
    "knowledge.search": "domain knowledge.content knowledge.database knowledge.index",
    "knowledge.repair": "errors knowledge.content knowledge.database knowledge.index steady_clock",
    "knowledge.milvus": (
        "config decoding.markup domain errors knowledge.content knowledge.database knowledge.index knowledge.ingest "
        "knowledge.search roles scheduling steady_clock"
    ),
    "knowledge": (
        "config decoding decoding.markup domain engines errors knowledge.content knowledge.database knowledge.index "
        "knowledge.ingest knowledge.milvus knowledge.repair knowledge.search roles scheduling steady_clock"
    ),
    "knowledge.memory": (
        "config decoding domain errors knowledge knowledge.content knowledge.database knowledge.ingest roles scheduling"
    ),
    "knowledge.sources": (
        "config decoding.markup domain engines.generator errors knowledge.content knowledge.milvus observe scheduling"
    ),
    "steps.language": "domain",
    "steps": "domain errors roles scheduling steps.language",
    "steps.lookup.parts": "domain roles steps steps.language",
    "steps.lookup": (
        "domain errors knowledge.content knowledge.sources roles scheduling steps steps.language steps.lookup.parts"
    ),
    "assistant.turn": (
        "domain engines errors knowledge.sources observe roles scheduling steps steps.language "
        "steps.language.detection steps.lookup steps.lookup.parts"
    ),
    "policies": "domain steps steps.language",
    "assistant": (
        "assistant.turn config decoding domain errors knowledge.sources network observe policies roles scheduling "
        "steps steps.language steps.lookup steps.lookup.parts"
    ),
    "session.output": "domain errors",
    "session.dialogue": "config domain errors steady_clock steps.language steps.lookup.parts",
    "session.voice": "decoding domain errors roles scheduling session.output",
    "session": (
        "assistant assistant.turn config domain errors observe scheduling session.coaching session.dialogue "
        "session.output session.voice"
    ),
    "doctor": (
        "config containment decoding descriptors domain engines.generator.checks engines.generator.process "
        "engines.generator.remote engines.onnx errors knowledge knowledge.content knowledge.sources network policies "
        "roles scheduling session.dialogue"
    ),
    "tenants": "errors network",
    "rpc.requests": "errors scheduling",
    "rpc.transport": "config errors network observe rpc.requests scheduling",
    "rpc": (
        "assistant config decoding descriptors domain errors knowledge knowledge.content knowledge.database "
        "knowledge.memory knowledge.sources network observe roles rpc.requests rpc.transport scheduling session "
        "session.coaching session.dialogue session.voice tenants"
    ),
    "stores": (
        "assistant assistant.turn config decoding knowledge knowledge.memory knowledge.sources roles rpc scheduling "
        "session.dialogue"
    ),
    "web.http": "config errors network observe rpc.transport scheduling",
    "web.speech": "decoding domain errors observe roles scheduling web.http",
    "web.chat": (
        "assistant decoding domain errors network observe roles rpc.requests scheduling web.chat.schemas web.http "
        "web.speech"
    ),
    "web": "config errors network observe policies roles rpc rpc.requests web.chat web.http web.speech",
    "app": (
        "config containment decoding descriptors engines.generator.remote errors knowledge knowledge.sources network "
        "observe policies roles rpc scheduling service_manager session.dialogue steps.language.detection stores web"
    ),
    "cli": "app config doctor errors network",
    "__main__": "cli",
}
"""Every room of the server, lowest first, and all that it imports; one that imports more is not what its name says.

Modules in the server's root are rooms of their own.
"""
FULLEST = 14


@cache
def modules() -> dict[str, Path]:
    """Dotted name of every module to its file."""
    return {
        path.relative_to(root).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
        for package, root in PACKAGES.items()
        for path in (root / package).rglob("*.py")
    }


@cache
def imported(path: Path) -> frozenset[str]:
    """Names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def needs(module: str) -> set[str]:
    """Our modules that a module imports; of a package and a module in it, the module."""
    known = modules()
    named = {name for name in imported(known[module]) if name in known and name != module}
    return {name for name in named if not any(other.startswith(f"{name}.") for other in named)}


def room(module: str) -> str:
    """The package that a module lives in; for one in the root of a distribution, itself."""
    if module.count(".") <= 1 or modules()[module].name == "__init__.py":
        return module
    return module.rpartition(".")[0]


def arrows() -> dict[str, set[str]]:
    """Rooms, and the rooms that each imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        found[room(module)] |= {room(other) for other in needs(module)} - {room(module)}
    return found


def importers(*prefixes: str) -> set[str]:
    """Files of the server that import one of these or something below."""
    return {
        path.relative_to(SERVER).as_posix()
        for path in SERVER.rglob("*.py")
        if any(name == prefix or name.startswith(f"{prefix}.") for name in imported(path) for prefix in prefixes)
    }


def test_every_room_of_the_server_imports_what_the_table_says() -> None:
    whole = "quizglass_server"  # the version, and what has to come before every import
    rooms = {
        upper: {low for low in lowers if low.startswith(f"{whole}.")}
        for upper, lowers in arrows().items()
        if upper.startswith(f"{whole}.")
    }
    found = {
        upper.removeprefix(f"{whole}."): {low.removeprefix(f"{whole}.") for low in rooms[upper]} for upper in rooms
    }
    may = {name: set(lowers.split()) for name, lowers in LAYERS.items()}
    assert found.keys() == may.keys(), "a room is in the server and not in the table, or the other way round"
    for name, lowers in found.items():
        assert not lowers - may[name], f"{name} imports {sorted(lowers - may[name])}, which it need not know"
        assert not may[name] - lowers, f"{name} no longer imports {sorted(may[name] - lowers)}; take them off the table"


def test_the_table_goes_from_the_lowest_room_to_the_highest() -> None:
    below: set[str] = set()
    for name, lowers in LAYERS.items():
        assert set(lowers.split()) <= below, f"{name} imports what stands above it"
        below.add(name)


def _circles(graph: dict[str, set[str]]) -> list[str]:
    """Names that can reach themselves."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(graph.get(start, ()))
        while waiting:
            if (name := waiting.pop()) not in seen:
                seen.add(name)
                waiting += graph.get(name, ())
        return seen

    return [name for name in graph if name in reached(name)]


def test_no_module_and_no_room_imports_itself_in_a_circle() -> None:
    assert _circles({module: needs(module) for module in modules()}) == []
    assert _circles(dict(arrows())) == []


FOLDERS = [ROOT / "bench", ROOT / "tests", *(root / package for package, root in PACKAGES.items())]


@pytest.mark.parametrize("place", FOLDERS, ids=lambda place: place.name)
def test_no_folder_is_too_full_to_be_seen_at_once(place: Path) -> None:
    folders: dict[Path, int] = defaultdict(int)
    for path in place.rglob("*.py"):
        folders[path.parent] += path.name != "__init__.py"
    assert {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > FULLEST} == {}


def test_no_tests_import_those_of_another_file() -> None:
    """What several files need lies in `tests/support` or a `conftest.py`: else who changes one breaks the other."""
    imports = {
        (path.name, name)
        for path in (ROOT / "tests").rglob("*.py")
        for name in imported(path)
        if name.startswith(("tests.unit", "tests.integration", "tests.contract"))
    }
    assert imports == set()


def test_benchmarks_need_nothing_of_the_tests_but_tiny_checkpoints() -> None:
    needed = {name for path in (ROOT / "bench").rglob("*.py") for name in imported(path) if name.startswith("tests")}
    assert {name for name in needed if not name.startswith("tests.support.bundles")} == set()


def test_no_folder_of_the_benchmarks_imports_one_that_imports_it_back() -> None:
    files = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
        for path in (ROOT / "bench").rglob("*.py")
        if path.name != "__main__.py"  # which stands above all of its folder
    }
    graph: dict[str, set[str]] = defaultdict(set)
    for name, path in files.items():
        folder = name if path.name == "__init__.py" else name.rpartition(".")[0]
        others = {other for other in imported(path) if other in files and files[other].name != "__init__.py"}
        graph[folder] |= {other.rpartition(".")[0] for other in others} - {folder}
    assert _circles(graph) == []


def test_the_product_does_not_import_its_laboratory() -> None:
    product = [ROOT / "protos", ROOT / "bundle", ROOT / "server", ROOT / "clients", ROOT / "export"]
    files = (path for folder in product for path in folder.rglob("*.py") if "node_modules" not in path.parts)
    assert [str(path) for path in files if any(name.split(".")[0] == "quizglass_lab" for name in imported(path))] == []


def test_the_format_of_bundles_knows_neither_who_writes_them_nor_who_reads_them() -> None:
    files = PACKAGES["quizglass_bundle"].rglob("*.py")
    ours = {name for path in files for name in imported(path) if name.startswith("quizglass")}
    assert {name.split(".")[0] for name in ours} == {"quizglass_bundle"}


def test_the_server_does_not_import_the_exporter() -> None:
    assert importers("quizglass_export") == set()


def test_only_rpc_knows_grpc_and_the_public_messages() -> None:
    known = importers("grpc", "grpc_health", "grpc_reflection", "grpc_status", "quizglass.v1", "quizglass.convert")
    assert {name for name in known if not name.startswith("rpc/")} == set()


def test_the_values_of_the_wire_and_the_commands_of_the_client_know_no_messages() -> None:
    client = PACKAGES["quizglass_client"] / "quizglass_client"
    for path in (ROOT / "protos/quizglass/values.py", client / "types.py", *client.glob("cli/**/*.py")):
        known = {name for name in imported(path) if name.startswith(("google", "grpc", "quizglass.v1", "numpy"))}
        assert known == set(), path.name
    for path in client.rglob("*.py"):
        assert not any(name.startswith(("quizglass_server", "numpy")) for name in imported(path)), path.name


def test_only_what_looks_at_the_installation_knows_llama_cpp() -> None:
    assert importers("llama_cpp") == {"engines/generator/checks/backends.py"}


PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_ROOMS, MOST_STOPS, MOST_FILES = 16, 15, 25


def section(name: str) -> str:
    """The text below a heading, up to the next one."""
    _, _, rest = PAGE.partition(f"\n## {name}\n")
    assert rest, f"docs/architecture.md has no section {name!r}"
    return rest.partition("\n## ")[0]


def test_every_room_of_the_server_has_its_sentence_and_they_are_few() -> None:
    rows = re.findall(r"^\| `([a-z]+)/` \| ([^|]+) \|", section("The rooms"), re.MULTILINE)
    folders = {path.name for path in SERVER.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert sorted(name for name, _ in rows) == sorted(folders)
    assert len(folders) <= MOST_ROOMS
    assert [name for name, sentence in rows if not re.fullmatch(r"[A-Z][^.]+\.", sentence)] == []


def test_a_questions_way_has_few_stops_through_few_files_that_exist() -> None:
    stops = re.findall(
        r"^(\d+)\. (.*?)(?=^\d+\. |^\S|\Z)", section("One request, file by file"), re.MULTILINE | re.DOTALL
    )
    assert [int(number) for number, _ in stops] == list(range(1, len(stops) + 1))
    assert 1 < len(stops) <= MOST_STOPS
    files = {name for _, text in stops for name in re.findall(r"`([a-z_/]+\.py)`", text)}
    assert [name for name in sorted(files) if not (SERVER / name).is_file()] == []
    assert len(files) <= MOST_FILES
