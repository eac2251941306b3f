"""Addresses of sources that are asked over HTTP."""

from __future__ import annotations

import logging
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from quizglass_server.config.generator_address import generator_address

logger = logging.getLogger(__name__)


def _checked(url: str) -> str:
    if "@" in urlsplit(url).netloc:
        raise ValueError("holds a password, which would be shown")
    return str(generator_address(url))


WebAddress = Annotated[str, AfterValidator(_checked)]
"""http://HOST:PORT/PATH or https://HOST/PATH, without a slash at its end."""


def warn_when_in_clear(url: str) -> None:
    """Log where queries would cross a network without encryption."""
    if generator_address(url).leaves_machine_in_clear:
        logger.warning("queries cross the network without encryption", extra={"to": url})
