"""The generator: a bundle's prompts, filled and completed by the generator process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib.util import find_spec

from quizglass_server.bundle import Bundle
from quizglass_server.domain import GenerationEnd, Picture, Token
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.llama.client import PromptRefused
from quizglass_server.engines.llama.process import ProcessOptions
from quizglass_server.engines.llama.prompt import Part, PicturePart, Piece, TextPart
from quizglass_server.engines.llama.supervisor import GeneratorProcess
from quizglass_server.errors import BundleError, EngineFailed, InvalidInput
from quizglass_server.models.faces import GenerationRequest
from quizglass_server.models.fitting import CACHE_BYTES, PictureFitter, content_hash
from quizglass_server.models.prompts import PromptError, PromptTemplate, SegmentKind
from quizglass_server.scheduling.clock import record_engine

VALUES = {
    "plan": ("question", "history", "words"),
    "rewrite": ("question", "history", "words", "seen"),
    "answer": ("question", "history", "words", "seen", "found", "query"),
}
"""What the prompt of each task may name besides `image`."""


class LlamaGenerator:
    """Writes text about pictures and evidence, through a llama.cpp process of its own."""

    def __init__(self, bundle: Bundle, fitter: PictureFitter, threads: int) -> None:
        """Read the prompts; `start` loads the model.

        Raises:
            BundleError: a prompt cannot be read, or names a value that its task does not have.
            EngineFailed: llama-cpp-python is not installed.
        """
        if find_spec("llama_cpp") is None:
            raise EngineFailed("llama-cpp-python is not installed: pip install 'quizglass[server]'")
        spec = bundle.generator
        self._spec = spec
        self._fitter = fitter
        self._pictures = BoundedCache[bytes, PicturePart](CACHE_BYTES, lambda part: len(part.rgb))
        try:
            named = {task: name for task, name in spec.prompts if name is not None}
            self._templates = {task: PromptTemplate.load(bundle.path(name)) for task, name in named.items()}
            for task, template in self._templates.items():
                template.render(picture=True, **dict.fromkeys(VALUES[task], ""))
        except PromptError as error:
            raise BundleError(f"roles.generator.prompts: {error}") from error
        self.process = GeneratorProcess(
            ProcessOptions(
                model=bundle.path(spec.model),
                projector=bundle.path(spec.projector),
                width=spec.picture.width,
                height=spec.picture.height,
                context=spec.context,
                stop=spec.stop,
                threads=threads,
            )
        )

    @property
    def ready(self) -> bool:
        """Whether the process is serving right now."""
        return self.process.ready

    @property
    def executor(self) -> str:
        """What runs the model: cpu or gpu."""
        return self.process.executor

    async def start(self) -> None:
        """Start the process and load the model; errors as `GeneratorProcess.start`."""
        await self.process.start()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Token | GenerationEnd, None]:
        """Stream tokens, then one end. White space before the first word is left out.

        Raises:
            InvalidInput: the prompt does not fit the model's context.
            EngineLost: the process died.
            EngineFailed: llama.cpp failed, or the bundle has no prompt for the task.
        """
        limit = self._spec.max_new_tokens
        tokens = min(request.max_tokens, limit) if request.max_tokens > 0 else limit
        stream = self.process.generate(await self._prompt(request), tokens)
        begun = False
        try:
            async with aclosing(stream):
                async for item in stream:
                    if not isinstance(item, Piece):
                        usage = item.usage
                        record_engine(usage.engine_us)
                        yield GenerationEnd(item.reason, usage.prompt_tokens, usage.generated_tokens, usage.engine_us)
                        continue
                    text = item.text if begun else item.text.lstrip()
                    begun = begun or bool(text)
                    yield Token(text, item.probability)
        except PromptRefused as error:
            raise _too_long(error) from None

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        """Probability of each label as the next token, normalised over the labels; errors as `generate`."""
        try:
            probabilities, usage = await self.process.choose(await self._prompt(request), labels)
        except PromptRefused as error:
            raise _too_long(error) from None
        record_engine(usage.engine_us)
        return probabilities

    async def close(self) -> None:
        """End the process."""
        await self.process.close()

    async def _prompt(self, request: GenerationRequest) -> list[Part]:
        template = self._templates.get(request.task)
        if template is None:
            raise EngineFailed(f"the bundle's generator has no prompt {request.task!r}; use another policy or bundle")
        picture = None if request.picture is None else await self._picture(request.picture)
        parts: list[Part] = []
        for segment in template.render(picture=picture is not None, **request.values):
            if segment.kind is not SegmentKind.IMAGE:
                parts.append(TextPart(segment.text, trusted=segment.kind is SegmentKind.TEXT))
            elif picture is not None:
                parts.append(picture)
        return parts

    async def _picture(self, picture: Picture) -> PicturePart:
        """The picture as the process takes it: made once, and off the event loop, which a large one would hold up."""
        part = self._pictures.get(picture.sha256)
        if part is None:
            part = await asyncio.to_thread(self._fitted, picture)
            self._pictures.put(picture.sha256, part)
        return part

    def _fitted(self, picture: Picture) -> PicturePart:
        size = self._spec.picture
        pixels = self._fitter.fit(picture, size)
        return PicturePart(content_hash(pixels), size.width, size.height, pixels.tobytes())


def _too_long(error: PromptRefused) -> InvalidInput:
    return InvalidInput("question", f"cannot be put to the generator with its history and evidence: {error.message}")
