"""What requests may be at most: bytes by their method, items by their field. The one table that all transports share.

The rooms that check requests say what is allowed; this is the same, known before anything is made of a request.
"""

from __future__ import annotations

from collections.abc import Callable

from quizglass_server.assistant.asking import MAX_EXCHANGE_CHARS, MAX_FRAMES
from quizglass_server.config.load import Settings
from quizglass_server.knowledge.content import validation as entry
from quizglass_server.network.permissions import Permission
from quizglass_server.rpc import knowledge, session
from quizglass_server.rpc.requests.reader import Aside, Bound, Limits
from quizglass_server.rpc.requests.shape import CountLimits
from quizglass_server.scheduling.memory import WorkMemory

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""An entry with its pictures is one message, and so is a search with several."""
_SMALL_BYTES = 256 * 1024
"""Ids, filters and texts, but no pictures."""
_CHARACTER_BYTES = 4
"""Of one character in UTF-8, at most."""


def request_limits(settings: Settings, check_room: Callable[[], None], work: WorkMemory) -> Limits:
    """The limits of a server.

    Args:
        settings: of the server.
        check_room: raises Overloaded when questions and searches would be refused anyway.
        work: admits the memory of decoded requests.
    """
    dialogue, frame = _dialogue_bytes(settings), settings.max_frame_bytes
    small = Bound(_SMALL_BYTES, _SMALL_BYTES)
    return Limits(
        {
            "Ask": Bound(frame + dialogue, dialogue, check_room),
            "SearchEntries": Bound(MAX_MESSAGE_BYTES, _filter_bytes(), check_room),
            "SearchMemory": Bound(frame + _SMALL_BYTES, _SMALL_BYTES, check_room),
            "AddEntries": Bound(MAX_MESSAGE_BYTES, _entry_bytes()),
            "ListEntries": Bound(_SMALL_BYTES, _SMALL_BYTES, large_answer=True),
            "GetPicture": Bound(_SMALL_BYTES, _SMALL_BYTES, large_answer=True),
            "Converse": Bound(_SMALL_BYTES, _SMALL_BYTES, patient=True),
        },
        small,
        count_limits(settings.max_history),
        Aside(work),
    )


def count_limits(max_history: int) -> CountLimits:
    """How often every repeated field of a request may come, and which fields are pictures."""
    most = {
        "AskRequest.frames": MAX_FRAMES,
        "AskRequest.history": max_history,
        "Entry.attributes": entry.MAX_ATTRIBUTES,
        "Entry.pictures": entry.MAX_PICTURES,
        "Entry.picture_sha256": entry.MAX_PICTURES,
        "EntryFilter.attributes": knowledge.MAX_FILTERED,
        "EntryFilter.kinds": knowledge.MAX_FILTERED,
        "EntryFilter.sources": knowledge.MAX_FILTERED,
        "EntryFilter.languages": knowledge.MAX_FILTERED,
        "SearchEntriesRequest.more_pictures": knowledge.MAX_MORE_PICTURES,
        "CreatePairingRequest.may": len(Permission),
        "SendRequest.messages": session.MAX_MESSAGES,
    }
    pictures = {
        "Frame.encoded",
        "FramePart.data",
        "SpeechAudio.data",
        "Entry.pictures",
        "SearchEntriesRequest.picture",
        "SearchEntriesRequest.more_pictures",
        "SearchMemoryRequest.picture",
    }
    return CountLimits(most, pictures)


def _dialogue_bytes(settings: Settings) -> int:
    """What is in a question beside its picture."""
    chars = settings.max_question_chars + 2 * MAX_EXCHANGE_CHARS * settings.max_history
    return _CHARACTER_BYTES * chars + _SMALL_BYTES


def _filter_bytes() -> int:
    """What is in a search beside its pictures: a text, pairs of attributes, and three lists."""
    chars = knowledge.MAX_TEXT + (2 + 3) * knowledge.MAX_FILTERED * knowledge.MAX_FILTER_TEXT
    return _CHARACTER_BYTES * chars + _SMALL_BYTES


def _entry_bytes() -> int:
    """What is in an entry beside its pictures."""
    chars = entry.MAX_TEXT + entry.MAX_ATTRIBUTES * (entry.MAX_KEY + entry.MAX_VALUE)
    return _CHARACTER_BYTES * chars + _SMALL_BYTES
