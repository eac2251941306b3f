"""llama-server of the package xllamacpp, with llama-server's own flags: `python -m …prebuilt FLAG…`.

Its build has no executable; the same server is a class. It ends with a signal.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Parameters = Any
"""xllamacpp has no types."""


def _number(name: str) -> Callable[[Parameters, str], None]:
    return lambda parameters, value: setattr(parameters, name, int(value))


def _fixed(name: str, value: object) -> Callable[[Parameters, str], None]:
    return lambda parameters, _: setattr(parameters, name, value)


def _ignored(_: Parameters, __: str) -> None:
    """For what the class does not have, or has by itself."""


WITH_VALUE: dict[str, Callable[[Parameters, str], None]] = {
    "--model": lambda parameters, value: setattr(parameters.model, "path", value),
    "--mmproj": lambda parameters, value: setattr(parameters.mmproj, "path", value),
    "--host": lambda parameters, value: setattr(parameters, "hostnames", [value]),
    "--port": _number("port"),
    "--parallel": _number("n_parallel"),
    "--ctx-size": _number("n_ctx"),
    "--kv-unified-per-slot": _number("kv_unified_per_slot"),
    "--batch-size": _number("n_batch"),
    "--ubatch-size": _number("n_ubatch"),
    "--threads": lambda parameters, value: setattr(parameters.cpuparams, "n_threads", int(value)),
    "--threads-batch": lambda parameters, value: setattr(parameters.cpuparams_batch, "n_threads", int(value)),
    "--poll": lambda parameters, value: setattr(parameters.cpuparams, "poll", int(value)),
    "--cache-ram": _number("cache_ram_mib"),
    "--slot-save-path": lambda parameters, value: setattr(parameters, "slot_save_path", value),
    "--image-min-tokens": _number("image_min_tokens"),
    "--image-max-tokens": _number("image_max_tokens"),
    "--log-verbosity": _number("verbosity"),
    "--log-colors": _ignored,
}
"""Flags of `ProcessOptions.flags` that have a value."""
ALONE: dict[str, Callable[[Parameters, str], None]] = {
    "--kv-unified": _fixed("kv_unified", True),
    "--offline": _fixed("offline", True),
    "--no-ui": _fixed("ui", False),
    "--no-slots": _fixed("endpoint_slots", False),
    "--no-context-shift": _fixed("ctx_shift", False),
    "--no-repack": _fixed("no_extra_bufts", True),
}


def main() -> None:
    """Serve until a signal comes."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    try:
        for set_flag, value in _flags(sys.argv[1:]):
            set_flag(parameters, value)
    except KeyError as error:
        raise SystemExit(f"E error: invalid argument: {error.args[0]}") from None
    if key := os.environ.pop("LLAMA_API_KEY", ""):
        parameters.api_keys = [key]
    try:
        server = xllamacpp.Server(parameters)
    except Exception as error:
        raise SystemExit(f"E error: {error}") from None
    print(f"I listening on {server.listening_address}", file=sys.stderr, flush=True)
    # Its destructor waits for requests; who ends it has none that matter.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        signal.pause()


def _flags(arguments: Sequence[str]) -> Iterator[tuple[Callable[[Parameters, str], None], str]]:
    rest = iter(arguments)
    for flag in rest:
        if flag in ALONE:
            yield ALONE[flag], ""
        else:
            yield WITH_VALUE[flag], next(rest, "")


if __name__ == "__main__":
    main()
