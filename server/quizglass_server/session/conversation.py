"""What was asked and answered in a session, and how much of each answer was heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from quizglass.session import Segment
from quizglass_server.domain import checks
from quizglass_server.errors import InvalidInput
from quizglass_server.session.dialogue.following import MOST_EXCHANGES, Dialogue, Spoken


@dataclass(eq=False, slots=True)
class Said:
    """One question and what was answered."""

    ask_id: str
    question: str
    segments: Sequence[Segment] = ()
    """Confirmed ones, in order, with lead-ins and doubts, which are no part of the answer."""
    rest: str = ""
    """What was written and is in no confirmed segment; of a turn that is over, what its output had no room for."""
    frame: bytes = b""
    """SHA-256 of the picture that it is answered from; empty: from none."""
    spoken: Spoken | None = None
    """What it leaves to later questions, all of it heard; None: the turn is not over, or was ended before."""
    _heard: tuple[int, int] | None = field(default=None)
    """Segment and code point up to which it was; None: unknown."""

    def played(self, segment: int, code_point: int) -> None:
        """So much was said aloud. Going back changes nothing: what was heard was heard.

        Raises:
            InvalidInput: there is no such segment, or it is shorter.
        """
        there = next((each for each in self.segments if each.index == segment), None)
        if there is None:
            raise InvalidInput("playback.segment", f"{segment} is no confirmed segment of this answer")
        checks.within(code_point, 0, len(there.text), "playback.code_point")
        self._heard = max(self._heard or (0, 0), (segment, code_point))

    @property
    def told(self) -> bool:
        """Whether the client has told how much was heard."""
        return self._heard is not None

    @property
    def heard(self) -> str:
        """What counts as heard of the answer."""
        if self._heard is None:
            return self.spoken.answer if self.spoken is not None and not self.rest else self._confirmed.strip()
        return self._parts[0].strip()

    @property
    def unheard(self) -> str:
        """What was written of the answer and not heard."""
        if self._heard is None:
            return self.rest.strip()
        return f"{self._parts[1]}{self.rest}".strip()

    def left(self) -> Spoken | None:
        """What it leaves to later questions; None: nothing was said."""
        heard, unheard = self.heard, self.unheard
        if not heard and not unheard:
            return None
        known = self.spoken or Spoken(self.question, "", self.frame)
        return Spoken(known.question, heard, known.frame, known.entities if heard else (), unheard)

    @property
    def _confirmed(self) -> str:
        return "".join(each.text for each in self.segments if each.answers)

    @property
    def _parts(self) -> tuple[str, str]:
        """Confirmed text that was heard, and that was not."""
        last, code_point = self._heard or (0, 0)
        heard = "".join(
            each.text if each.index < last else each.text[:code_point]
            for each in self.segments
            if each.index <= last and each.answers
        )
        return heard, self._confirmed[len(heard) :]


class Conversation:
    """The dialogue of a session, as far as it was heard.

    Args:
        earlier: what was said in a session before it.
    """

    def __init__(self, earlier: Dialogue = ()) -> None:
        self._earlier = earlier
        self._said: list[Said] = []

    def forget(self) -> int:
        """Forget all that was said; how many exchanges that were."""
        count = len(self.dialogue)
        self._earlier, self._said = (), []
        return count

    def add(self, said: Said) -> None:
        """A question begins to be answered."""
        if (gone := len(self._earlier) + len(self._said) + 1 - MOST_EXCHANGES) > 0:
            gone = max(gone, MOST_EXCHANGES // 2)  # the older half at once, as `following.latest` has it
            self._earlier, self._said = self._earlier[gone:], self._said[max(0, gone - len(self._earlier)) :]
        self._said = [*self._said, said]

    def of(self, ask_id: str) -> Said | None:
        """A question's exchange; None when it is not remembered."""
        return next((each for each in self._said if each.ask_id == ask_id), None)

    @property
    def dialogue(self) -> Dialogue:
        """What later questions are understood after, oldest first."""
        said = (spoken for each in self._said if (spoken := each.left()) is not None)
        return (*self._earlier, *said)[-MOST_EXCHANGES:]

    @property
    def unheard(self) -> str:
        """The rest of the last answer, which was not heard; empty when it was."""
        dialogue = self.dialogue
        return dialogue[-1].unheard if dialogue else ""

    @property
    def last(self) -> Spoken | None:
        """The last exchange that has an answer; None: there is none."""
        answered = (each for each in reversed(self.dialogue) if each.answer or each.unheard)
        return next(answered, None)

    def gone_on(self) -> Spoken:
        """What the last exchange leaves once the rest of its answer is said: what that is about counts as heard."""
        last = self.dialogue[-1]
        said = next((each for each in reversed(self._said) if each.left() is not None), None)
        entities = last.entities if said is None or said.spoken is None else said.spoken.entities
        return replace(last, answer=last.unheard, entities=entities, unheard="")
