"""Who may import what: the layers of the architecture page, read from the source."""

import ast
from functools import cache
from pathlib import Path

SERVER = Path(__file__).parents[2] / "server" / "quizglass_server"


@cache
def imported(path: Path) -> set[str]:
    """Modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def importers(*prefixes: str) -> set[str]:
    """Files of the server that import one of these or something below."""
    return {
        path.relative_to(SERVER).as_posix()
        for path in SERVER.rglob("*.py")
        if any(name == prefix or name.startswith(f"{prefix}.") for name in imported(path) for prefix in prefixes)
    }


def test_only_rpc_knows_grpc_and_the_public_messages() -> None:
    known = importers("grpc", "grpc_health", "grpc_reflection", "grpc_status", "quizglass.v1")
    assert {name for name in known if not name.startswith("rpc/")} == set()


def test_only_the_llama_engine_knows_the_private_messages_and_llama_cpp() -> None:
    known = importers("quizglass.internal", "llama_cpp")
    assert {name for name in known if not name.startswith("engines/llama/")} == set()


def test_engines_know_no_higher_layer() -> None:
    higher = ("models", "steps", "policies", "rpc", "knowledge", "toolbox", "assistant", "app")
    known = importers(*(f"quizglass_server.{layer}" for layer in higher))
    assert {name for name in known if name.startswith("engines/")} == set()
