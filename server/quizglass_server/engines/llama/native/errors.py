"""What llama.cpp itself can fail with."""

from __future__ import annotations


class LoadFailed(Exception):
    """A model file cannot be used; the message names the file and says why."""


class DecodeFailed(Exception):
    """llama.cpp failed on one request; the others are not affected."""


class EngineBroken(Exception):
    """llama.cpp is in a state nobody knows: the process must end, and be started again by its supervisor."""
