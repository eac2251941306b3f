"""The voice: nothing is exported, it is a server of the Wyoming protocol."""

from __future__ import annotations

from quizglass_export.roles.shared.entry import Entry
from quizglass_server.roles.speech import SpeechAddress


class Voice(Entry):
    """Speaks."""

    address: SpeechAddress


ENTRY = Voice
"""What a recipe says of the role."""
