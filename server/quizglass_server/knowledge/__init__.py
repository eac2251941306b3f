"""Entries, their pictures and texts: kept durably, found by vectors."""

from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.knowledge.index import IndexOptions
from quizglass_server.knowledge.records import AddReport

__all__ = ["AddReport", "IndexOptions", "KnowledgeBase"]
