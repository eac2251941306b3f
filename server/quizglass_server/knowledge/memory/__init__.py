"""Frames that turns asked to remember: kept for a while in a knowledge store of their own, and found again.

Stands on the knowledge store and knows no turn: who asks to remember hands over frames.
"""

from quizglass_server.knowledge.memory.memory import SightingMemory

__all__ = ["SightingMemory"]
