"""The operator's filter of frames, which runs before anything else sees their pixels, and fails closed."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.errors import FilterFailed, SettingsError

logger = logging.getLogger(__name__)
_REMEDY = "name MODULE:FUNCTION, and the module's folder in PYTHONPATH"


class FrameFilter:
    """Changes pictures by a function of pixels.

    Args:
        function: takes height x width x 3, uint8, sRGB, which it may write to, and gives the same; called on worker
            threads, several at a time.
    """

    def __init__(self, function: Callable[[RGB], RGB]) -> None:
        self._function = function

    @staticmethod
    def named(name: str) -> FrameFilter | None:
        """The filter of that name, MODULE:FUNCTION; None for none.

        Raises:
            SettingsError: there is no such function.
        """
        if not name:
            return None
        module, _, function = name.partition(":")
        try:
            there = getattr(importlib.import_module(module), function)
        except Exception as error:  # whatever an operator's module does when it is loaded
            raise SettingsError(f"frame_filter: {name!r} cannot be loaded: {error}; {_REMEDY}") from error
        if not callable(there):
            raise SettingsError(f"frame_filter: {name!r} is no function; {_REMEDY}")
        return FrameFilter(there)

    async def apply(self, picture: Picture, field: str) -> Picture:
        """The picture as it may be seen, under its name.

        Raises:
            FilterFailed: the function failed, or gave something else than a picture of the same size.
        """
        try:
            pixels = await asyncio.to_thread(self._function, picture.pixels.copy())
        except Exception as error:
            logger.exception("the frame filter failed")
            raise FilterFailed(field) from error
        if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape != picture.pixels.shape:
            logger.error("the frame filter gave no picture of the same size")
            raise FilterFailed(field)
        return replace(picture, pixels=np.ascontiguousarray(pixels))
