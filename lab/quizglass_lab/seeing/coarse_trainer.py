"""The Q-Former while it learns: questions about pictures and passages as vectors, and heads that are thrown away."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertTokenizerFast, Blip2ForImageTextRetrieval

from quizglass_export.graphs.q_former import QFormerQuestion, QFormerText
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.retrieval.image_pool import ATTRIBUTE_SIZES, look_labels
from quizglass_lab.retrieval.shapes import TEXT_MAX_TOKENS

_IGNORED = -100


class CoarseTrainer(nn.Module):
    """The Q-Former with a learned temperature, and heads that name what is asked about and are thrown away."""

    def __init__(self, model: Blip2ForImageTextRetrieval, tokenizer: BertTokenizerFast) -> None:
        super().__init__()
        self.questions, self.passages = QFormerQuestion(model), QFormerText(model)
        self.log_scale = nn.Parameter(torch.tensor(2.7))
        width = model.config.qformer_config.hidden_size
        self.heads = nn.ModuleList(nn.Linear(width, size) for size in ATTRIBUTE_SIZES.values())
        self._tokenizer = tokenizer

    def words(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Ids and mask of texts, padded."""
        row = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=TEXT_MAX_TOKENS, return_tensors="pt"
        )
        return {name: row[name] for name in ("input_ids", "attention_mask")}

    def states(self, pixels: Tensor, texts: Sequence[str]) -> Tensor:
        """Query states [B, N, H] of pictures and questions."""
        return self.questions.states(pixels, **self.words(texts))

    def queries(self, states: Tensor) -> Tensor:
        """Unit vectors [B, N, D]."""
        return functional.normalize(self.questions.model.vision_projection(states), dim=-1)

    def similarity(self, queries: Tensor, passages: Tensor) -> Tensor:
        """[B, N, D] and [P, D] to [B, P]: the largest dot product."""
        return torch.einsum("bnd,pd->bnp", queries, passages).amax(1)

    def looks_loss(self, states: Tensor, questions: Sequence[Question]) -> Tensor:
        """How well the mean query state names kind, colours, pattern and shape of the subject."""
        labels = torch.tensor([_look(question) for question in questions])
        if bool((labels == _IGNORED).all()):
            return states.sum() * 0
        mean = states.mean(1)
        losses = [
            functional.cross_entropy(head(mean), labels[:, i], ignore_index=_IGNORED)
            for i, head in enumerate(self.heads)
        ]
        return torch.stack(losses).mean()


def _look(question: Question) -> tuple[int, ...]:
    looks = (placed.thing.look for placed in question.scene.things if placed.thing.id == question.target)
    return next((look_labels(look) for look in looks), (_IGNORED,) * len(ATTRIBUTE_SIZES))
