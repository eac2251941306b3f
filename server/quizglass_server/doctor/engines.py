"""What executes models here: llama.cpp's compiled variants, ONNX Runtime's providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.domain.sound import SPEECH_ROLES
from quizglass_server.engines.generator.process.programs import SLOWER, Origin, find_program
from quizglass_server.engines.onnx.providers import AUTO, choose, short
from quizglass_server.errors import EngineFailed, SettingsError

if TYPE_CHECKING:  # importing it needs llama.cpp, which may be what is missing
    from quizglass_server.engines.generator.checks.backends import Variant
    from quizglass_server.roles.load import RoleStatus

_AMX = "sapphirerapids"
_BUILD = "python server/native/wheel.py --install (docs/operations.md, Building llama.cpp)"


def llama_variants(variants: Sequence[Variant], in_use: str | None, flags: frozenset[str]) -> Iterator[Finding]:
    """Which variant of llama.cpp computes on this CPU, and what a better one would take.

    Args:
        variants: what was compiled, best first; none where it was compiled for one machine.
        in_use: the name of the one that is loaded; None: none runs here.
        flags: what the kernel says that the CPU can do.
    """
    compiled = [each.name for each in variants]
    values = {"variants": compiled, "in_use": in_use}
    if in_use is None:
        yield Finding("llama.cpp", Status.WRONG, "no compiled variant runs on this processor", f"run {_BUILD}", values)
        return
    if not variants:
        text = "compiled for the machine it was built on; on another it may end with an illegal instruction (signal 4)"
        yield Finding("llama.cpp", Status.OK, text, f"for an installation that is moved, run {_BUILD}", values)
        return
    text = f"computes with variant {in_use}; compiled are {', '.join(compiled)}"
    yield Finding("llama.cpp", Status.OK, text, "", values)
    if "amx_int8" in flags and _AMX not in compiled:
        yield Finding(
            "AMX",
            Status.SLOW,
            "this processor has AMX and llama.cpp was compiled without: quantised prompts could be read faster",
            f"with a newer C compiler (gcc 12.2 gets AMX wrong), run {_BUILD}; the build takes AMX only where it works",
        )


def providers(available: Sequence[str], setting: str) -> Iterator[Finding]:
    """What ONNX Runtime may run models with; `executors` says what it did."""
    try:
        chosen = [short(name) for name in choose(setting, available)]
    except SettingsError as error:
        text, _, remedy = error.message.partition("; ")
        yield Finding("ONNX Runtime", Status.WRONG, text, remedy, {"available": list(available)})
        return
    yield Finding("ONNX Runtime", Status.OK, f"offers {', then '.join(chosen)}", "", {"providers": chosen})
    if setting == AUTO and chosen == ["cpu"] and has_gpu():
        remedy = "pip uninstall onnxruntime, then pip install '.[gpu]' in the clone"
        yield Finding("GPU", Status.SLOW, "there is an NVIDIA card and ONNX Runtime was installed without CUDA", remedy)


def executors(statuses: Iterable[RoleStatus], available: Sequence[str], setting: str) -> Iterator[Finding]:
    """What ran each role's model when they were loaded, as capabilities name it.

    Args:
        statuses: of the loaded roles.
        available: ONNX Runtime's names of the providers that it is compiled with.
        setting: the provider that it was to use, which is one of them.
    """
    ran: dict[str, list[str]] = {}
    of_onnx: dict[str, list[str]] = {}
    for status in statuses:
        if status.role not in SPEECH_ROLES:  # which have findings of their own
            ran.setdefault(status.executor, []).append(status.role)
            if status.engine == "onnx":
                of_onnx.setdefault(status.executor, []).append(status.role)
    if not ran:
        return
    text = "; ".join(f"{executor} ran {', '.join(roles)}" for executor, roles in ran.items())
    best = short(choose(setting, available)[0])
    behind = [role for executor, roles in of_onnx.items() if not executor.startswith(best) for role in roles]
    if not behind:
        yield Finding("executors", Status.OK, text, "", {"executors": ran})
        return
    remedy = (
        f"{best} did not start for {', '.join(behind)}: a server's log has ONNX Runtime's reason, and --provider "
        f"{best} makes it an error. CUDA needs a driver for CUDA 13 (580 or later) and libraries: pip install '.[gpu]'"
    )
    yield Finding("executors", Status.SLOW, text, remedy, {"executors": ran})


def has_gpu() -> bool:
    """Whether an NVIDIA card has a device file."""
    return Path("/dev/nvidia0").exists()


def llama_server(named: Path | None, flags: frozenset[str], *, generates: bool = True) -> Iterator[Finding]:
    """Where the generator's program comes from, and what it computes with.

    Args:
        named: what the setting names, if it does.
        flags: what the kernel says that the CPU can do.
        generates: whether a generator is served: without one it is not needed.
    """
    try:
        program = find_program(named)
    except (EngineFailed, SettingsError) as error:
        text, _, remedy = error.message.partition("; ")
        if generates or named is not None:
            yield Finding("llama-server", Status.WRONG, text, remedy)
        else:
            yield Finding("llama-server", Status.OK, "not installed, and this bundle has no generator", remedy)
        return
    values = {"origin": program.origin.name.lower(), "program": str(program)}
    if program.origin is Origin.PREBUILT:
        yield Finding("llama-server", Status.SLOW, f"is that of {program}: {SLOWER}", f"run {_BUILD}", values)
        return
    yield Finding("llama-server", Status.OK, f"is that of {program}", "", values)
    if program.origin is Origin.WHEEL:
        from quizglass_server.engines.generator.checks import backends

        yield from llama_variants(backends.variants(), backends.variant_in_use(), flags)


def looked_at(
    flags: frozenset[str], setting: str, llama: Path | None = None, *, generates: bool = True
) -> Iterator[Finding]:
    """The engines that are installed.

    Args:
        flags: what the kernel says that the CPU can do.
        setting: the provider that ONNX Runtime is to use.
        llama: the llama-server that is named, if one is.
        generates: whether a generator is served: without one llama.cpp is not needed.
    """
    yield from llama_server(llama, flags, generates=generates)
    try:
        import onnxruntime
    except ImportError as error:
        yield _missing("ONNX Runtime", error, "in the clone: pip install '.[cpu]', or '.[gpu]'")
    else:
        yield from providers(onnxruntime.get_available_providers(), setting)


def _missing(name: str, error: ImportError, remedy: str) -> Finding:
    return Finding(name, Status.WRONG, f"cannot be imported: {error}", remedy)
