"""The generator: writes text about pictures and evidence, by a bundle's prompts and a process of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.prompts import (
    CONVERSATION,
    EXAMPLE,
    PromptError,
    PromptTemplate,
    SegmentKind,
    Values,
    filled,
    load_template,
    read_format,
)
from quizglass_bundle.parts import ANSWER, LARGEST, GeneratorPart
from quizglass_server.config.settings import BatchOptions, GeneratorOptions
from quizglass_server.containment import Containment
from quizglass_server.domain.turns import GenerationEnd, Picture, Token, owned
from quizglass_server.engines.generator.checks.gguf_file import files_of
from quizglass_server.engines.generator.process.breaker import BreakerOptions
from quizglass_server.engines.generator.process.card import CardRoom
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.engines.generator.process.state import StateDirectory
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.engines.generator.process.watch import WatchOptions
from quizglass_server.engines.generator.prompt import (
    BACKGROUND,
    Constraint,
    ConstraintUnusable,
    Finished,
    Part,
    PicturePart,
    Piece,
    PromptRefused,
    TextPart,
    Urgency,
    Usage,
)
from quizglass_server.errors import BundleError, EngineFailed, InvalidInput, QuizglassError
from quizglass_server.observe import metrics
from quizglass_server.roles.shared.fitting import FittedPicture, PictureFitter, within
from quizglass_server.roles.shared.loading import ModelFiles, RoleKey
from quizglass_server.scheduling.clock import record_engine
from quizglass_server.scheduling.cores import usable_cores
from quizglass_server.scheduling.deadline import deadline
from quizglass_server.scheduling.priority import Priority, current_priority

_SIDES = (768, 576, 432, 320, 224, 160, 112)
"""Sides of squares with as many pixels as a picture may have, from the largest on."""
_QUESTION_TOKENS = 64
"""Of a prompt beside its picture, at least."""
_TINY = 100 << 20
"""Bytes of a model below which one thread computes: more would wait for each other longer than they compute."""
_ASKED: Values = {name: value for name, value in EXAMPLE.items() if name != "history"}
"""What a first question may bring to a prompt."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What the generator is to complete."""

    task: str
    """Name of a prompt of the bundle's generator: answer, rewrite, plan, any other."""
    values: Values
    """What the prompt is filled from; what it names and is not here is empty."""
    pictures: tuple[Picture, ...] = ()
    """Pictures in the order in which the prompt shows them, the wearer's own first."""
    max_tokens: int = 0
    """0: the bundle's own limit."""
    constraint: Constraint | None = None
    """What the text must look like; None: anything."""


def lines(most: int) -> Constraint:
    """A constraint to at least one and at most `most` lines, none of them empty."""
    further = f'("\\n" line){{0,{most - 1}}}' if most > 1 else ""
    return Constraint(f"root ::= line {further}\nline ::= [ ]? [^ \\t\\r\\n] [^\\r\\n]*", most)


def following(grammar: str) -> Constraint:
    """A constraint to what a grammar (GBNF) allows."""
    return Constraint(grammar)


class Generator(Protocol):
    """Writes text about pictures and evidence."""

    @property
    def sees_pictures(self) -> bool:
        """Whether pictures reach the model; without it pictures are only looked up and read."""
        ...

    def names(self, task: str) -> frozenset[str]:
        """Names of the values that the prompt of that name shows; none where there is no such prompt."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """Names of the values that any of its prompts shows."""
        ...

    def shows_entries(self, task: str) -> bool:
        """Whether the prompt of that name shows pictures of entries besides the wearer's own."""
        ...

    def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        """Stream tokens, then one end. Closing the iterator cancels; at most one more decode step is spent."""
        ...

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        """Probability of each label as the continuation, normalised over the labels."""
        ...

    async def prepare(self, picture: Picture, known: Values | None = None) -> None:
        """Read a picture before the question's prompt is known, behind all other work; cancelling drops it.

        Args:
            picture: what a question may be about.
            known: values that the prompt will have, whatever is asked; None: none is known.
        """
        ...

    async def read_ahead(self, request: GenerationRequest) -> None:
        """Read a prompt that is likely to be completed soon, behind all other work; cancelling drops it."""
        ...

    async def forget(self) -> None:
        """Keep nothing of the prompts and pictures so far, whoever's they were, in memory or in files."""
        ...


GENERATOR = RoleKey[Generator]("generator")


class Completing(Protocol):
    """Completes prompts; errors as those of `GeneratorClient`."""

    def generate(
        self, prompt: Sequence[Part], max_tokens: int, urgency: Urgency, constraint: Constraint | None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Stream pieces, then the end."""
        ...

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency
    ) -> tuple[list[float], Usage]:
        """Probability of each label as the continuation."""
        ...

    async def prefill(self, prompt: Sequence[Part], urgency: Urgency) -> Usage:
        """Read the beginning of later prompts."""
        ...

    async def templated(self, messages: Sequence[Mapping[str, str]]) -> str | None:
        """What the model's chat template makes of a conversation; None: it is filled where the model is."""
        ...

    async def picture_tokens(self, width: int, height: int) -> int | None:
        """How many tokens a picture of this size takes; None where that is not known."""
        ...


class GeneratorBackend(Protocol):
    """What runs a generator's model: a process of this server's own, or servers elsewhere."""

    on_change: Callable[[], None]

    @property
    def ready(self) -> bool:
        """Whether it can be asked right now."""
        ...

    @property
    def executor(self) -> str:
        """What the model runs on: cpu, gpu or elsewhere."""
        ...

    @property
    def notice(self) -> str:
        """Why it is slower, or can do less, than it could; empty when it is not."""
        ...

    async def start(self) -> None:
        """Have it serve."""
        ...

    async def client(self, deadline: float | None = None) -> Completing:
        """What completes prompts, for one call."""
        ...

    async def forget(self) -> None:
        """Keep nothing of prompts and pictures so far."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class LlamaGenerator:
    """Writes text about pictures and evidence, through a process of its own or a server elsewhere."""

    def __init__(
        self,
        spec: GeneratorPart,
        files: ModelFiles,
        fitter: PictureFitter,
        threads: int,
        options: GeneratorOptions | None = None,
        backend: GeneratorBackend | None = None,
        room: CardRoom | None = None,
    ) -> None:
        """Read the prompts; `start` loads the model.

        Args:
            spec: what the manifest says of it.
            files: of the bundle.
            fitter: makes pictures smaller.
            threads: of a process of its own; 0: as many as suit the machine and the model.
            options: of that process.
            backend: what runs the model; None: a process of its own.
            room: what that process may take of a card; None: there is none.

        Raises:
            BundleError: a prompt cannot be read, or names a value that there is none of.
            SettingsError: the state directory cannot be used, or the llama-server that is named.
        """
        options = options or GeneratorOptions()
        self._spec = spec
        self._fitter = fitter
        prompts = {task: files.path(name) for task, name in spec.prompts.items()}
        self._templates = generator_prompts(prompts, sees=self.sees_pictures)
        self.needs = frozenset[str]().union(*(template.names for template in self._templates.values()))
        """Names of the values that any of its prompts shows."""
        self._largest = LARGEST
        self._process: GeneratorBackend = backend or _own_process(spec, files, threads, options, room)

    @property
    def ready(self) -> bool:
        """Whether the process is serving right now."""
        return self._process.ready

    @property
    def sees_pictures(self) -> bool:
        """Whether pictures reach the model; without it pictures are only looked up and read."""
        return self._spec.sees_pictures

    def names(self, task: str) -> frozenset[str]:
        """Names of the values that the prompt of that name shows; none where there is no such prompt."""
        template = self._templates.get(task)
        return frozenset() if template is None else template.names

    def shows_entries(self, task: str) -> bool:
        """Whether the prompt of that name names `images`, and the model sees any."""
        template = self._templates.get(task)
        return self.sees_pictures and template is not None and template.shows_several

    @property
    def executor(self) -> str:
        """What runs the model: cpu or gpu."""
        return self._process.executor

    @property
    def notice(self) -> str:
        """Why it is slower than it could be, and what to do; empty when it is not."""
        return self._process.notice

    @property
    def program(self) -> str:
        """The llama-server of this machine that runs the model, and where it comes from; empty without one."""
        program = self._process.program if isinstance(self._process, GeneratorProcess) else None
        return "" if program is None else program.named

    @property
    def on_card(self) -> str:
        """What of the model is on a card of this machine, in words; empty without one."""
        return self._process.on_card if isinstance(self._process, GeneratorProcess) else ""

    @property
    def contained(self) -> Containment | None:
        """What holds the process of this machine that runs the model; None without one, or while none serves."""
        return self._process.contained if isinstance(self._process, GeneratorProcess) else None

    @property
    def process(self) -> GeneratorBackend:
        """What runs the model."""
        return self._process

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever `ready` may have changed."""
        self._process.on_change = told

    async def start(self) -> None:
        """Start the process and load the model; errors as `GeneratorProcess.start`."""
        await self._process.start()
        if self._spec.general:
            await self._take_format()
        if self.sees_pictures:
            await self._fit_pictures()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Token | GenerationEnd, None]:
        """Stream tokens, then one end. White space before the first word is left out.

        Raises:
            InvalidInput: the prompt does not fit the model's context, or a grammar cannot be used.
            Overloaded: the engine's queue is full, or what is ahead leaves the work no time before it is due.
            BudgetExceeded: the work would not be done before it is due even if nothing else were.
            EngineLost: the process died or hangs, or is being restarted for too long.
            EngineFailed: llama.cpp failed, or the bundle has no prompt for the task.
        """
        limit = self._spec.max_new_tokens
        tokens = min(request.max_tokens, limit) if request.max_tokens > 0 else limit
        prompt, urgency = await self._prompt(request), _urgency()
        client = await self._process.client(urgency.deadline)
        stream = client.generate(prompt, tokens, urgency, request.constraint)
        begun = False
        with _refusals(of_client=request.constraint is not None and not request.constraint.lines):
            async with aclosing(stream):
                async for item in stream:
                    if not isinstance(item, Piece):
                        usage = item.usage
                        _record(usage)
                        yield GenerationEnd(item.reason, usage.prompt_tokens, usage.generated_tokens)
                        continue
                    text = item.text if begun else item.text.lstrip()
                    begun = begun or bool(text)
                    yield Token(text, item.probability)

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        """Probability of each label as the continuation, normalised over the labels; errors as `generate`."""
        prompt, urgency = await self._prompt(request), _urgency()
        client = await self._process.client(urgency.deadline)
        with _refusals(of_client=False):
            probabilities, usage = await client.choose(prompt, labels, urgency)
        _record(usage)
        return probabilities

    async def prepare(self, picture: Picture, known: Values | None = None) -> None:
        """Bring the beginning of the answer's prompt into the engine; cancelling drops it.

        It reaches up to the picture, and beyond as far as it is the same whatever is asked first and found then.
        Work for a guess: it never fails, and whatever else there is to do goes first.
        """
        try:
            prompt = await self._prompt(GenerationRequest(ANSWER, known or {}, (picture,)))
            places = [place for place, part in enumerate(prompt) if isinstance(part, PicturePart)]
            if places:
                other = await self._prompt(GenerationRequest(ANSWER, {**_ASKED, **(known or {})}, (picture,)))
                common = takewhile(lambda pair: pair[0] == pair[1], zip(prompt, other, strict=False))
                length = max(places[-1] + 1, sum(1 for _ in common))
                client = await self._process.client()
                await client.prefill(prompt[:length], _guess())
        except (QuizglassError, PromptError) as error:
            logger.debug("a picture could not be prepared: %s", error)

    async def read_ahead(self, request: GenerationRequest) -> None:
        """Bring a whole prompt into the engine; cancelling drops it. Work for a guess, as `prepare`."""
        try:
            prompt = await self._prompt(request)
            client = await self._process.client()
            await client.prefill(prompt, _guess())
        except (QuizglassError, PromptError) as error:
            logger.debug("a prompt could not be read ahead: %s", error)

    async def forget(self) -> None:
        """Keep nothing of the prompts and pictures so far, in memory or in files. Raises EngineFailed."""
        await self._process.forget()

    async def close(self) -> None:
        """End the process."""
        await self._process.close()

    async def _take_format(self) -> None:
        """Put the prompts into the model's own chat format, as the server that runs it says."""
        client = await self._process.client()
        alone = await client.templated(CONVERSATION[1:])
        if alone is None:
            return
        try:
            both = await client.templated(CONVERSATION)
        except EngineFailed:  # it takes no system's turn
            both = None
        try:
            form = read_format(alone, both)
            self._templates = {
                task: PromptTemplate(form.rewrite(template.source), template.name)
                for task, template in self._templates.items()
            }
        except PromptError as error:
            raise BundleError(f"the model's chat template cannot be used: {error}; take another model file") from error

    async def _fit_pictures(self) -> None:
        """See that a picture leaves room for a question and its answer in the model's context.

        Raises:
            BundleError: the manifest's size does not, or no size does.
        """
        context = self._spec.context
        room = max(0, context - _QUESTION_TOKENS)
        if self._spec.picture is not None:
            size = self._spec.picture
            if (tokens := await self._picture_tokens([size])) > room:
                raise BundleError(
                    f"roles.generator.picture: {size.width} x {size.height} pixels take {tokens} tokens, and "
                    f"roles.generator.context ({context}) has room for {room} beside a question; choose a smaller "
                    "picture or a longer context"
                )
            return
        for side in _SIDES:
            tokens = await self._picture_tokens(_shapes(side))
            if tokens <= room - min(self._spec.max_new_tokens, room // 2):
                break
        if tokens > room:
            raise BundleError(
                f"the generator takes {tokens} tokens for a picture, and its context of {context} has room for {room} "
                "beside a question; take a model with a longer context"
            )
        self._largest = Size(width=side, height=side)
        if self._largest != LARGEST:
            logger.warning("pictures are made as small as %d x %d pixels: the context has room for no more", side, side)

    async def _picture_tokens(self, sizes: Sequence[Size]) -> int:
        """Tokens of the costliest of these pictures; 0 where that is not known."""
        client = await self._process.client()
        return max([await client.picture_tokens(size.width, size.height) or 0 for size in sizes])

    async def _prompt(self, request: GenerationRequest) -> list[Part]:
        """The filled template; without pictures for a model of text alone, as for a question without any."""
        template = self._templates.get(request.task)
        if template is None:
            raise EngineFailed(f"the bundle's generator has no prompt {request.task!r}; use another policy or bundle")
        pictures = [await self._picture(picture) for picture in request.pictures] if self.sees_pictures else []
        parts: list[Part] = []
        for segment in template.render(pictures=len(pictures), **filled(request.values)):
            if segment.kind is SegmentKind.IMAGE:
                parts.append(pictures[segment.picture])
            else:
                parts.append(TextPart(segment.text, trusted=segment.kind is SegmentKind.TEXT))
        return parts

    async def _picture(self, picture: Picture) -> PicturePart:
        """The picture as the process takes it: made off the event loop, which a large one would hold up."""
        size = self._spec.picture or within(picture.pixels, self._largest)
        fitted = self._fitter.kept(picture, size)
        if fitted is None or not fitted.is_hashed:
            fitted = await asyncio.to_thread(self._hashed, picture, size)
        name = owned(fitted.hash(), picture.owner)
        return PicturePart(name, size.width, size.height, fitted.rgb)

    def _hashed(self, picture: Picture, size: Size) -> FittedPicture:
        fitted = self._fitter.fitted(picture, size)
        fitted.hash()
        return fitted


def _shapes(side: int) -> list[Size]:
    """Pictures of so many pixels in every shape in which a model may cut them into tiles: square, wide and tall."""
    return [Size(width=int(side * share), height=int(side / share)) for share in (1.0, 1.4, 0.71, 2.0, 0.5)]


def generator_prompts(prompts: Mapping[str, Path], *, sees: bool) -> dict[str, PromptTemplate]:
    """Load the generator's prompts by task.

    Raises:
        BundleError: a prompt cannot be read, or names a value that there is none of; names both.
    """
    templates: dict[str, PromptTemplate] = {}
    for task, path in prompts.items():
        try:
            templates[task] = load_template(path, sees=sees)
        except PromptError as error:
            raise BundleError(f"roles.generator.prompts.{task}: {error}") from error
    return templates


def _own_process(
    spec: GeneratorPart, files: ModelFiles, threads: int, options: GeneratorOptions, room: CardRoom | None
) -> GeneratorProcess:
    root = options.state_directory
    state = None if root is None else StateDirectory(root, _state_key(spec, files))
    return GeneratorProcess(replace(_process_options(spec, files, threads, options), room=room), state)


def _process_options(spec: GeneratorPart, files: ModelFiles, threads: int, options: GeneratorOptions) -> ProcessOptions:
    return ProcessOptions(
        model=files.path(spec.model),
        projector=None if spec.projector is None else files.path(spec.projector),
        context=spec.context,
        stop=spec.stop,
        threads=threads if _weigh(files.path(spec.model)) >= _TINY else 1,
        cores=usable_cores(),
        program=None if options.llama_server is None else find_program(options.llama_server),
        gpu_layers=options.gpu_layers,
        **asdict(BatchOptions.of(options)),
        watch=WatchOptions(silent_s=options.generator_hang_s),
        breaker=BreakerOptions(deaths=options.generator_crashes, pause_s=options.generator_pause_s),
    )


def _weigh(model: Path) -> int:
    """Bytes of a model, which may be split into several files."""
    return sum(file.stat().st_size for file in files_of(model) if file.is_file())


def _state_key(spec: GeneratorPart, files: ModelFiles) -> str:
    """What decides whether a saved state fits: the models' content and the picture's size."""
    digests = [files.sha256(name) for name in (spec.model, spec.projector) if name is not None]
    if spec.picture is not None:
        digests.append(f"{spec.picture.width}x{spec.picture.height}")
    return sha256(" ".join(digests).encode()).hexdigest()[:16]


def _urgency() -> Urgency:
    return Urgency(ahead=current_priority() is Priority.AHEAD, deadline=deadline())


def _guess() -> Urgency:
    return replace(BACKGROUND, ahead=current_priority() is Priority.AHEAD)


def _record(usage: Usage) -> None:
    """Add what a request cost to its stage and to the metrics."""
    record_engine(usage.engine_us, usage.prompt_tokens, usage.generated_tokens)
    metrics.PROMPT_TOKENS.add("reused", by=usage.reused_tokens)
    metrics.PROMPT_TOKENS.add("read", by=max(0, usage.prompt_tokens - usage.reused_tokens))
    metrics.WRITTEN_TOKENS.add(by=usage.generated_tokens)


@contextmanager
def _refusals(*, of_client: bool) -> Iterator[None]:
    """A prompt that the engine refuses is too long, as far as the question is concerned; the only grammar that clients
    have a say in is that of the answer.

    Args:
        of_client: whether the constraint is such a grammar. Another is this server's own, and no fault of the request.
    """
    try:
        yield
    except ConstraintUnusable as error:
        if of_client:
            raise InvalidInput("answer_grammar", error.message) from None
        raise EngineFailed(error.message) from None
    except PromptRefused as error:
        raise InvalidInput(
            "question", f"cannot be put to the generator with its history and evidence: {error.message}"
        ) from None
