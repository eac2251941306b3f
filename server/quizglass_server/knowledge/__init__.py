"""Entries, their pictures and texts: kept durably, found by vectors.

Knows the two encoders by their interfaces; no turn, no policy and no wire.
"""

from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.knowledge.content.records import AddReport
from quizglass_server.knowledge.index.index import IndexOptions

__all__ = ["AddReport", "IndexOptions", "KnowledgeBase"]
