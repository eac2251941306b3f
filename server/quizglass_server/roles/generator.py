"""The generator: a bundle's prompts, filled and completed by the generator process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from hashlib import sha256
from importlib.util import find_spec

from quizglass_server.bundle.files import Bundle
from quizglass_server.bundle.manifest import Size
from quizglass_server.config.options import BatchOptions, GeneratorOptions
from quizglass_server.domain.turns import GenerationEnd, Picture, Token
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.llama.link.prompt import Part, PicturePart, Piece, Terms, TextPart
from quizglass_server.engines.llama.process.breaker import BreakerOptions
from quizglass_server.engines.llama.process.client import PromptRefused
from quizglass_server.engines.llama.process.heartbeat import HeartbeatOptions
from quizglass_server.engines.llama.process.launcher import ProcessOptions
from quizglass_server.engines.llama.process.state import StateDirectory
from quizglass_server.engines.llama.process.supervisor import GeneratorProcess
from quizglass_server.errors import EngineFailed, InvalidInput, QuizglassError
from quizglass_server.models.fitting import CACHE_BYTES, PictureFitter, content_hash
from quizglass_server.models.prompts import SegmentKind
from quizglass_server.roles.interfaces import GenerationRequest
from quizglass_server.roles.role_checks import GENERATOR_VALUES, generator_prompts
from quizglass_server.scheduling.clock import record_engine
from quizglass_server.scheduling.deadline import deadline

_BACKGROUND = Terms(priority=2)
logger = logging.getLogger(__name__)


class LlamaGenerator:
    """Writes text about pictures and evidence, through a llama.cpp process of its own."""

    def __init__(
        self, bundle: Bundle, fitter: PictureFitter, threads: int, options: GeneratorOptions | None = None
    ) -> None:
        """Read the prompts; `start` loads the model.

        Raises:
            BundleError: a prompt cannot be read, or names a value that its task does not have.
            EngineFailed: llama-cpp-python is not installed.
            SettingsError: the state directory cannot be used.
        """
        if find_spec("llama_cpp") is None:
            raise EngineFailed("llama-cpp-python is not installed: pip install 'quizglass[server]'")
        options = options or GeneratorOptions()
        self._spec = bundle.generator
        self._fitter = fitter
        self._pictures = BoundedCache[bytes, PicturePart](CACHE_BYTES, lambda part: len(part.rgb))
        named = {task: bundle.path(name) for task, name in self._spec.prompts if name is not None}
        self._templates = generator_prompts(named, sees=self.sees_pictures)
        root = options.state_directory
        state = None if root is None else StateDirectory(root, _state_key(bundle))
        self._process = GeneratorProcess(_process_options(bundle, threads, options), state)

    @property
    def ready(self) -> bool:
        """Whether the process is serving right now."""
        return self._process.ready

    @property
    def sees_pictures(self) -> bool:
        """Whether pictures reach the model; without it pictures are only looked up and read."""
        return self._spec.picture is not None

    @property
    def executor(self) -> str:
        """What runs the model: cpu or gpu."""
        return self._process.executor

    @property
    def notice(self) -> str:
        """Why it is slower than it could be, and what to do; empty when it is not."""
        return self._process.notice

    @property
    def process(self) -> GeneratorProcess:
        """The process behind it."""
        return self._process

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever `ready` may have changed."""
        self._process.on_change = told

    async def start(self) -> None:
        """Start the process and load the model; errors as `GeneratorProcess.start`."""
        await self._process.start()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Token | GenerationEnd, None]:
        """Stream tokens, then one end. White space before the first word is left out.

        Raises:
            InvalidInput: the prompt does not fit the model's context.
            Overloaded: the engine's queue is full, or what is ahead leaves the work no time before it is due.
            BudgetExceeded: the work would not be done before it is due even if nothing else were.
            EngineLost: the process died or hangs, or is being restarted for too long.
            EngineFailed: llama.cpp failed, or the bundle has no prompt for the task.
        """
        limit = self._spec.max_new_tokens
        tokens = min(request.max_tokens, limit) if request.max_tokens > 0 else limit
        stream = self._process.generate(await self._prompt(request), tokens, _terms())
        begun = False
        with _refusals():
            async with aclosing(stream):
                async for item in stream:
                    if not isinstance(item, Piece):
                        usage = item.usage
                        record_engine(usage.engine_us)
                        yield GenerationEnd(
                            item.reason,
                            usage.prompt_tokens,
                            usage.generated_tokens,
                            usage.engine_us,
                            item.min_probability,
                            item.mean_probability,
                        )
                        continue
                    text = item.text if begun else item.text.lstrip()
                    begun = begun or bool(text)
                    yield Token(text, item.probability)

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        """Probability of each label as the continuation, normalised over the labels; errors as `generate`."""
        prompt = await self._prompt(request)
        with _refusals():
            probabilities, usage = await self._process.choose(prompt, labels, _terms())
        record_engine(usage.engine_us)
        return probabilities

    async def score(self, request: GenerationRequest, answer: str) -> list[float]:
        """Log-probability of each token of an answer, given the prompt; errors as `generate`."""
        prompt = await self._prompt(request)
        with _refusals():
            scored = await self._process.score(prompt, answer, _terms())
        record_engine(scored.usage.engine_us)
        return list(scored.log_probabilities)

    async def prepare(self, picture: Picture) -> None:
        """Bring the beginning of the answer's prompt, up to its picture, into the engine; cancelling drops it.

        Work for a guess: it never fails, and whatever else there is to do goes first.
        """
        try:
            prompt = await self._prompt(
                GenerationRequest("answer", dict.fromkeys(GENERATOR_VALUES["answer"], ""), picture)
            )
            places = [place for place, part in enumerate(prompt) if isinstance(part, PicturePart)]
            if places:
                await self._process.prefill(prompt[: places[-1] + 1], _BACKGROUND)
        except QuizglassError as error:
            logger.debug("a picture could not be prepared: %s", error.message)

    async def close(self) -> None:
        """End the process."""
        await self._process.close()

    async def _prompt(self, request: GenerationRequest) -> list[Part]:
        """The filled template; without the picture for a model of text alone, as for a question without one."""
        template = self._templates.get(request.task)
        if template is None:
            raise EngineFailed(f"the bundle's generator has no prompt {request.task!r}; use another policy or bundle")
        size = self._spec.picture
        picture = None if request.picture is None or size is None else await self._picture(request.picture, size)
        parts: list[Part] = []
        for segment in template.render(picture=picture is not None, **request.values):
            if segment.kind is not SegmentKind.IMAGE:
                parts.append(TextPart(segment.text, trusted=segment.kind is SegmentKind.TEXT))
            elif picture is not None:
                parts.append(picture)
        return parts

    async def _picture(self, picture: Picture, size: Size) -> PicturePart:
        """The picture as the process takes it: made once, and off the event loop, which a large one would hold up."""
        part = self._pictures.get(picture.sha256)
        if part is None:
            part = await asyncio.to_thread(self._fitted, picture, size)
            self._pictures.put(picture.sha256, part)
        return part

    def _fitted(self, picture: Picture, size: Size) -> PicturePart:
        pixels = self._fitter.fit(picture, size)
        return PicturePart(content_hash(pixels), size.width, size.height, pixels.tobytes())


def _process_options(bundle: Bundle, threads: int, options: GeneratorOptions) -> ProcessOptions:
    spec = bundle.generator
    return ProcessOptions(
        model=bundle.path(spec.model),
        projector=None if spec.projector is None else bundle.path(spec.projector),
        width=0 if spec.picture is None else spec.picture.width,
        height=0 if spec.picture is None else spec.picture.height,
        context=spec.context,
        stop=spec.stop,
        threads=threads,
        **asdict(BatchOptions.of(options)),
        heartbeat=HeartbeatOptions.of(options),
        breaker=BreakerOptions.of(options),
    )


def _state_key(bundle: Bundle) -> str:
    """What decides whether a saved state fits: the models' content and the picture's size."""
    spec, files = bundle.generator, bundle.manifest.files
    digests = [files[name].sha256 for name in (spec.model, spec.projector) if name is not None]
    if spec.picture is not None:
        digests.append(f"{spec.picture.width}x{spec.picture.height}")
    return sha256(" ".join(digests).encode()).hexdigest()[:16]


def _terms() -> Terms:
    return Terms(deadline=deadline())


@contextmanager
def _refusals() -> Iterator[None]:
    """A prompt that the engine refuses is too long, as far as the question is concerned."""
    try:
        yield
    except PromptRefused as error:
        raise InvalidInput(
            "question", f"cannot be put to the generator with its history and evidence: {error.message}"
        ) from None
