"""Frames that turns asked to remember: kept for a while in a knowledge store of their own, and found again."""

from quizglass_server.memory.memory import SightingMemory

__all__ = ["SightingMemory"]
