"""A GGUF file that is asked with llama.cpp, in a process of its own for each batch; pictures need its projector."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.inputs.prompts import Prompt, PromptTokenizer, SegmentKind
from quizglass_bundle.inputs.resizing import RGB
from quizglass_export.errors import ExportError
from quizglass_export.gguf.jobs import GenerationJob, Generations, generate
from quizglass_export.roles.shared.entry import IMAGE_TOKEN
from quizglass_lab.finetuning.asking.interface import MOST_TOKENS, Ask, Chosen, Written
from quizglass_lab.finetuning.models.chat import END, Prompts
from quizglass_lab.finetuning.models.inputs import read_picture
from quizglass_server.roles.shared.logits import softmax
from quizglass_server.steps.calculator import worked_out

_CONTEXT = 4096


class GgufModel:
    """Completes prompts greedily with llama.cpp.

    Args:
        model: the file; `tokenizer.json` of the model lies beside it, and `mmproj.gguf` where it sees pictures.
        prompts: folder of templates in the model's own format; None: those for general models, in ChatML.
        picture: width and height of pictures.
    """

    parallel = 1

    def __init__(self, model: Path, prompts: Path | None = None, picture: tuple[int, int] = (448, 448)) -> None:
        tokenizer, projector = model.with_name("tokenizer.json"), model.with_name("mmproj.gguf")
        for path in (model, tokenizer):
            if not path.is_file():
                raise ExportError(f"{path}: missing; a GGUF file to ask needs tokenizer.json beside it")
        self.name = model.stem
        self._model, self._projector = model, projector if projector.is_file() else None
        self._tokenizer = PromptTokenizer(tokenizer)
        self._prompts = Prompts(prompts, sees=self._projector is not None)
        self._size = Size(width=picture[0], height=picture[1])

    def shows_entries(self, task: str) -> bool:
        """Never: a file is asked about one picture."""
        return False

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        """Complete every prompt."""
        began = time.perf_counter()
        done = self._run(asks, most_tokens, [])
        seconds = (time.perf_counter() - began) / max(len(asks), 1)
        return [
            Written(worked_out(self._tokenizer.decode(answer).strip()), tuple(sure), len(prompt), len(answer), seconds)
            for prompt, answer, sure in zip(done.prompts, done.answers, done.probabilities, strict=True)
        ]

    def choose(self, asks: Sequence[Ask], labels: Sequence[str]) -> list[Chosen]:
        """Probability of each label, which must be one token."""
        began = time.perf_counter()
        done = self._run(asks, 1, [self._tokenizer.label(label) for label in labels])
        seconds = (time.perf_counter() - began) / max(len(asks), 1)
        shares = [tuple(map(float, softmax(row.astype(np.float64)))) for row in done.first]
        return [Chosen(share, len(prompt), seconds) for share, prompt in zip(shares, done.prompts, strict=True)]

    def _run(self, asks: Sequence[Ask], most_tokens: int, kept: list[int]) -> Generations:
        sees = self._projector is not None
        return generate(
            GenerationJob(
                model=self._model,
                projector=self._projector,
                prompts=[self._filled(ask) for ask in asks],
                stop=[self._tokenizer.token_id(END)],
                image_token=self._tokenizer.token_id(IMAGE_TOKEN) if sees else None,
                context=_CONTEXT,
                max_new_tokens=most_tokens,
                first_of=kept,
            )
        )

    def _filled(self, ask: Ask) -> tuple[Prompt, RGB | None]:
        prompt = self._prompts.fill(ask.task, ask.values, len(ask.pictures))
        shown = [segment.picture for segment in prompt if segment.kind is SegmentKind.IMAGE]
        if len(shown) > 1:
            raise ExportError(f"{ask.task}: shows {len(shown)} pictures, a GGUF file takes one; ask a checkpoint")
        picture = vision_inputs.fit(read_picture(ask.pictures[shown[0]]), self._size) if shown else None
        return prompt, picture
