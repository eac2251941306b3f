"""What a Wyoming server says of itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ValidationError
from wyoming.event import Event
from wyoming.info import Describe

from quizglass_server.engines.wyoming.link import Link
from quizglass_server.errors import EngineFailed

Service = Literal["asr", "tts"]
"""What the protocol calls recognisers and voices."""
_WORDS = {"asr": "recognises no speech", "tts": "speaks no text"}
_ANSWER_S = 10.0
_MOST_OTHERS = 16
"""Events of other kinds that may come first."""


class _Model(BaseModel):
    name: str = ""
    languages: list[str] = []
    installed: bool = True


class SpeechProgram(BaseModel):
    """A recogniser or a voice, as far as it matters here."""

    name: str = ""
    installed: bool = True
    models: list[_Model] = []
    voices: list[_Model] = []
    supports_transcript_streaming: bool = False
    supports_synthesize_streaming: bool = False

    @property
    def languages(self) -> frozenset[str]:
        """Of all its models or voices, as it writes them."""
        return frozenset(each for model in (*self.models, *self.voices) for each in model.languages)

    @property
    def voice_names(self) -> frozenset[str]:
        """Of its voices."""
        return frozenset(voice.name for voice in self.voices if voice.installed)


class _Info(BaseModel):
    asr: list[SpeechProgram] = []
    tts: list[SpeechProgram] = []


async def described(link: Link, service: Service, name: str) -> SpeechProgram:
    """What a server can do.

    Raises:
        EngineLost: it does not answer.
        EngineFailed: it answers with something else, or does other things.
    """
    await link.send(Describe().event(), _ANSWER_S)
    event: Event | None = None
    for _ in range(_MOST_OTHERS):
        event = await link.receive(_ANSWER_S)
        if event.type == "info":
            break
    else:
        raise EngineFailed(f"{name} does not say what it can do; is it a server of the Wyoming protocol?")
    try:
        info = _Info.model_validate(event.data)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise EngineFailed(f"{name} describes itself in another version of the Wyoming protocol ({place})") from None
    programs = [each for each in (info.asr if service == "asr" else info.tts) if each.installed]
    if not programs:
        raise EngineFailed(f"{name} {_WORDS[service]}; name another server")
    return programs[0]
