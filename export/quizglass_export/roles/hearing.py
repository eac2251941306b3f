"""The hearing: nothing is exported, it is a server of the Wyoming protocol."""

from __future__ import annotations

from quizglass_bundle.parts import SpeechAddress
from quizglass_export.roles.shared.entry import Entry


class Hearing(Entry):
    """Recognises speech."""

    address: SpeechAddress


ENTRY = Hearing
"""What a recipe says of the role."""
