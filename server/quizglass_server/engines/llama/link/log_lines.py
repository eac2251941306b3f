"""A child's log as lines of JSON that its parent reads back."""

from __future__ import annotations

import json
import logging
from asyncio import StreamReader


class JsonLines(logging.Formatter):
    """One JSON object a line: level, logger, message."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        return json.dumps({"level": record.levelno, "logger": record.name, "message": message})


async def relay_all(log: StreamReader, fallback: logging.Logger) -> None:
    """Log a child's lines until it ends."""
    while True:
        try:
            line = await log.readline()
        except ValueError:
            fallback.warning("a child wrote a line too long for its log")
            continue
        if not line:
            return
        relay(line, fallback)


def relay(line: bytes, fallback: logging.Logger) -> None:
    """Log a line of a child: a JSON line under its own logger and level, anything else as a warning."""
    text = line.decode("utf-8", "replace").rstrip()
    try:
        record = json.loads(text)
        name, level, message = str(record["logger"]), int(record["level"]), str(record["message"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        if text:
            fallback.warning("%s", text)
        return
    logging.getLogger(name).log(level, "%s", message)
