"""The voice: nothing is exported, it is a server of the Wyoming protocol."""

from __future__ import annotations

from quizglass_bundle.parts import SpeechAddress
from quizglass_export.roles.shared.entry import Entry


class Voice(Entry):
    """Speaks."""

    address: SpeechAddress


ENTRY = Voice
"""What a recipe says of the role."""
