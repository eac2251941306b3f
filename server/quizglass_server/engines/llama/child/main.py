"""The generator process: `python -m quizglass_server.engines.llama.child.main --link NUMBER --load OPTIONS ...`.

Started by `process`, never by hand. Protocol with the parent: calls over the connection that it inherits as descriptor
`--link`; one line of JSON on standard output, with `description` and `executor` once it has proved itself and serves,
with `failed` and why the model cannot be loaded, or with `nonsense` and what it computed wrong; the log as JSON lines
on standard error; and it lives only as long as its standard input is open, which ends with the parent however the
parent ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from threading import Thread
from typing import TextIO

import uvloop

from quizglass_server.engines.llama.child.service import GeneratorService
from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.link.log_lines import JsonLines
from quizglass_server.engines.llama.native.errors import LoadFailed
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.model import NativeModel, start_backend
from quizglass_server.engines.llama.native.options import LoadOptions
from quizglass_server.engines.llama.native.proof import Nonsense, prove, prove_model
from quizglass_server.parent_death import die_with_parent

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
    Thread(target=_end_with_parent, name="parent", daemon=True).start()
    if arguments.parent:
        die_with_parent(arguments.parent)  # a process that is stopped does not see its input close
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(arguments, report))
    except (LoadFailed, Nonsense) as error:
        _tell(report, {"failed" if isinstance(error, LoadFailed) else "nonsense": str(error)})
        os._exit(LOAD_FAILED_STATUS)


async def _serve(arguments: argparse.Namespace, report: TextIO) -> None:
    options: LoadOptions = arguments.load

    def load() -> Engine:
        log = LlamaLog()
        start_backend(log)
        prove(log, options)
        model = NativeModel(options, log)
        prove_model(model)
        engine = Engine(model, arguments.stop)
        engine.warm_up()
        return engine

    worker = await EngineWorker.start(load)
    if arguments.restore is not None:
        logger.info("%d kept prefixes are restored", await worker.files.restore(arguments.restore))
    if arguments.keep:
        worker.files.get_ready()
    model = worker.engine.model
    service = GeneratorService(worker)
    link = socket.socket(fileno=arguments.link)
    await asyncio.get_running_loop().create_unix_connection(service.connection, sock=link)
    _tell(report, {"description": model.description, "executor": model.executor})
    await asyncio.Event().wait()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--link", type=int, required=True, help="descriptor of the connection to serve")
    parser.add_argument("--parent", type=int, default=0, help="process to die with, even when stopped; 0: none")
    parser.add_argument("--load", type=LoadOptions.from_json, required=True, help="what to load, JSON")
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


def _end_with_parent() -> None:
    """Wait for standard input to close, then leave without running destructors of a busy engine."""
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
