"""Entries, their pictures and texts: kept durably, found by vectors."""

from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.knowledge.content.records import AddReport
from quizglass_server.knowledge.index.index import IndexOptions

__all__ = ["AddReport", "IndexOptions", "KnowledgeBase"]
