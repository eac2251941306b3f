"""Who may import what, read from the source: the rooms of the architecture page, lowest first."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server" / "quizglass_server"
PACKAGES = {
    "quizglass_server": ROOT / "server",
    "quizglass_client": ROOT / "clients" / "python",
    "quizglass_export": ROOT / "export",
}
ROOMS = (
    *(
        "errors",
        "offline",
        "descriptors",
        "domain",
        "config",
        "scheduling",
        "markup",
        "decoding",
    ),
    *("engines", "engines.onnx", "engines.llama", "engines.llama.native", "engines.llama.costs", "engines.llama.link"),
    *("engines.llama.prefixes", "engines.llama.engine", "engines.llama.child", "engines.llama.process"),
    *("models", "coaching", "roles", "bundle"),
    *("knowledge.content", "knowledge.database", "knowledge.index", "knowledge.ingest", "knowledge.search"),
    *("knowledge.repair", "knowledge.milvus", "knowledge", "memory"),
    *("steps.language", "steps", "steps.lookup", "turn", "policies", "assistant"),
    *("session.output", "session", "doctor"),
    *("rpc.transport", "rpc", "web.http", "web.chat", "web", "app", "cli", "__main__"),
)
"""A room imports those before it, never one behind it. Modules in the server's root are rooms of their own."""
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


def test_every_room_of_the_server_imports_only_lower_ones() -> None:
    rank = {f"quizglass_server.{name}": place for place, name in enumerate(ROOMS)}
    rank["quizglass_server"] = -1  # the version, and what has to come before every import
    for upper, lowers in arrows().items():
        if upper.startswith("quizglass_server.") or upper == "quizglass_server":
            assert upper in rank, f"{upper} has no place among the rooms"
            if upper == "quizglass_server":
                continue
            high = {lower for lower in lowers if rank[lower] >= rank[upper]}
            assert not high, f"{upper} imports {sorted(high)}, which stand above it"


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


FOLDERS = [ROOT / "bench", *(root / package for package, root in PACKAGES.items())]


@pytest.mark.parametrize("place", FOLDERS, ids=lambda place: place.name)
def test_no_folder_is_too_full_to_be_seen_at_once(place: Path) -> None:
    folders: dict[Path, int] = defaultdict(int)
    for path in place.rglob("*.py"):
        folders[path.parent] += path.name != "__init__.py"
    assert {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > FULLEST} == {}


def test_benchmarks_need_nothing_of_the_tests_but_tiny_checkpoints() -> None:
    needed = {name for path in (ROOT / "bench").rglob("*.py") for name in imported(path) if name.startswith("tests")}
    assert {name for name in needed if not name.startswith("tests.support.bundles")} == set()


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


def test_only_the_llama_engine_knows_llama_cpp() -> None:
    known = importers("llama_cpp")
    assert {name for name in known if not name.startswith("engines/llama/")} == set()
