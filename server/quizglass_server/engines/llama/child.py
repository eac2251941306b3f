"""The generator process: `python -m quizglass_server.engines.llama.child --socket PATH --model FILE ...`.

Started by `supervisor`, never by hand. Protocol with the parent: one line of JSON on standard output, with
`description` and `executor` once it serves, or with `failed` and the reason; the log as JSON lines on standard error;
and it lives only as long as its standard input is open, which ends with the parent however the parent ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from threading import Thread
from typing import TextIO

from quizglass_server.engines.llama.engine import Engine
from quizglass_server.engines.llama.errors import LoadFailed
from quizglass_server.engines.llama.logs import LlamaLog
from quizglass_server.engines.llama.native import LoadOptions, NativeModel, start_backend
from quizglass_server.engines.llama.relay import JsonLines
from quizglass_server.engines.llama.service import GeneratorService
from quizglass_server.engines.llama.worker import EngineWorker

LOAD_FAILED_STATUS = 3
logger = logging.getLogger(__name__)


def main() -> None:
    """Load, serve, and end with the parent."""
    arguments = _arguments()
    report = _private_output()
    _log_json(arguments.log_level)
    # The parent decides when this process ends; a Ctrl-C or a stop of the whole group must let it drain first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Thread(target=_end_with_parent, args=(arguments.socket,), name="parent", daemon=True).start()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(arguments, report))
    except LoadFailed as error:
        _tell(report, {"failed": str(error)})
        os._exit(LOAD_FAILED_STATUS)


async def _serve(arguments: argparse.Namespace, report: TextIO) -> None:
    worker = EngineWorker()
    options = LoadOptions(**{each.name: getattr(arguments, each.name) for each in fields(LoadOptions)})
    description = executor = ""

    def load() -> Engine:
        nonlocal description, executor
        log = LlamaLog()
        start_backend(log)
        model = NativeModel(options, log)
        description, executor = model.description, model.executor
        engine = Engine(model, arguments.stop)
        engine.warm_up()
        return engine

    await worker.load(load)
    if arguments.restore is not None:
        logger.info("%d kept prefixes are restored", await worker.restore(arguments.restore))
    if arguments.keep:
        worker.get_ready_to_save()
    service = GeneratorService(worker, description, options.context, options.threads)
    server = await asyncio.get_running_loop().create_unix_server(service.connection, str(arguments.socket))
    _tell(report, {"description": description, "executor": executor})
    await server.serve_forever()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed; None stands for asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket to serve on")
    parser.add_argument("--model", type=Path, required=True, help="text model, GGUF")
    parser.add_argument("--projector", type=Path, help="vision projector, GGUF; without it the model reads no pictures")
    parser.add_argument("--width", type=int, default=0, help="of pictures, pixels")
    parser.add_argument("--height", type=int, default=0, help="of pictures, pixels")
    parser.add_argument("--context", type=int, required=True, help="tokens of a prompt with its answer")
    parser.add_argument("--sequences", type=int, default=4, help="prompts kept for reuse")
    parser.add_argument("--threads", type=int, default=1, help="engine threads")
    parser.add_argument("--vision-threads", type=int, default=1, help="threads of the picture encoder")
    parser.add_argument("--batch", type=int, default=8, help="most answers written together")
    parser.add_argument("--cells", type=int, default=0, help="of the KV cache; 0: as the engine chooses")
    parser.add_argument("--queue", type=int, default=64, help="most requests that wait")
    parser.add_argument("--restore", type=Path, help="directory of kept prefixes")
    parser.add_argument("--keep", action="store_true", help="kept prefixes will be saved")
    parser.add_argument("--stop", action="append", default=[], help="text that ends an answer; repeatable")
    parser.add_argument("--log-level", type=int, default=logging.INFO, help="Python's number of a log level")
    return parser.parse_args()


def _private_output() -> TextIO:
    """Standard output for the report alone: whatever C code prints goes to standard error instead."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return report


def _tell(report: TextIO, message: dict[str, str]) -> None:
    report.write(json.dumps(message) + "\n")
    report.flush()


def _log_json(level: int) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler])


def _end_with_parent(socket: Path) -> None:
    """Wait for standard input to close, then leave without running destructors of a busy engine."""
    while os.read(0, 4096):
        pass
    # A parent that was killed cannot clean up: the socket's private directory is left to its last user.
    with suppress(OSError):
        socket.unlink(missing_ok=True)
        socket.parent.rmdir()
    os._exit(0)


if __name__ == "__main__":
    main()
