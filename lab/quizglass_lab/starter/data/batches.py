"""Packs examples that begin alike into one row: the shared beginning once, then one branch per example.

A branch sees the beginning and itself only, with positions as if it stood alone, so the result is what separate rows
would give, for a fraction of the tokens: several questions about one passage or one picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from quizglass_lab.starter.data.examples import Encoded, Encoder
from quizglass_lab.starter.model.precision import sent
from quizglass_lab.starter.model.sizes import TOKENS_SIDE
from quizglass_lab.starter.model.vlm import PICTURE_TOKENS

_IGNORED = -100


@dataclass(frozen=True)
class Row:
    """One packed row: ids, positions [3, S], branch numbers (0 is the shared beginning), and targets."""

    ids: list[int]
    positions: NDArray[np.int64]
    branches: list[int]
    targets: list[int]
    picture: int | None
    tasks: list[str]


@dataclass(frozen=True)
class Batch:
    """Rows padded on the right. `rows`, `columns` say where `targets` are predicted from; `pictures` [P] are store
    rows, shown in the batch rows `shown` [P], in the tokens `slots` [2, P * 16] (rows and columns), in their order."""

    ids: Tensor
    positions: Tensor
    branches: Tensor | None
    """[B, S], -1 for padding; None where every row has one branch."""
    rows: Tensor
    columns: Tensor
    targets: Tensor
    pictures: Tensor
    shown: Tensor
    slots: Tensor
    owners: Tensor
    """[T] number of the example that a target belongs to; `tasks` holds each example's task."""
    tasks: list[str]

    @property
    def mask(self) -> Tensor | None:
        """bool [B, 1, S, S], true where a token may look: before it, in the shared beginning and in its own branch."""
        if self.branches is None:
            return None
        length = self.branches.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=self.branches.device).tril()
        same = (self.branches[:, :, None] == self.branches[:, None, :]) | (self.branches[:, None, :] == 0)
        return (causal & same)[:, None]

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device, which need not have it yet when this returns; `pictures` stays where it is."""
        if device.type == "cpu":
            return self

        return replace(
            self,
            ids=sent(self.ids, device),
            positions=sent(self.positions, device),
            branches=None if self.branches is None else sent(self.branches, device),
            rows=sent(self.rows, device),
            columns=sent(self.columns, device),
            targets=sent(self.targets, device),
            slots=sent(self.slots, device),
            owners=sent(self.owners, device),
        )


def positions_of(ids: Sequence[int], pad: int) -> NDArray[np.int64]:
    """M-RoPE positions [3, S] of a prompt with at most one picture of 4 x 4 tokens."""
    length = len(ids)
    positions = np.tile(np.arange(length), (3, 1))
    if pad in ids:
        first = list(ids).index(pad)
        place = np.arange(PICTURE_TOKENS)
        positions[0, first : first + PICTURE_TOKENS] = first
        positions[1, first : first + PICTURE_TOKENS] = first + place // TOKENS_SIDE
        positions[2, first : first + PICTURE_TOKENS] = first + place % TOKENS_SIDE
        positions[:, first + PICTURE_TOKENS :] -= PICTURE_TOKENS - TOKENS_SIDE
    return positions


def pack(group: Sequence[Encoded], pad: int) -> Row:
    """One row of examples that show the same picture or none."""
    shared = _shared([example.prompt for example in group])
    first = group[0].prompt
    ids, branches, targets = list(first[:shared]), [0] * shared, [_IGNORED] * shared
    pieces = [positions_of(first, pad)[:, :shared]]
    for number, example in enumerate(group, start=1):
        whole = (*example.prompt, *example.answer[:-1])
        rest = whole[shared:]
        ids.extend(rest)
        branches.extend([number] * len(rest))
        targets.extend([_IGNORED] * (len(rest) - len(example.answer)) + list(example.answer))
        pieces.append(positions_of(whole, pad)[:, shared:])
    return Row(ids, np.concatenate(pieces, axis=1), branches, targets, group[0].picture, [e.task for e in group])


def _shared(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the common beginning, short of any prompt's last token, which predicts its answer."""
    limit = min(map(len, prompts)) - 1
    first = prompts[0]
    for index in range(limit):
        if any(prompt[index] != first[index] for prompt in prompts):
            return index
    return limit


def collate(rows: Sequence[Row], encoder: Encoder) -> Batch:
    """Pad rows to the longest."""
    length = max(len(row.ids) for row in rows)
    ids = torch.full((len(rows), length), encoder.filler)
    positions = torch.zeros((3, len(rows), length), dtype=torch.int64)
    branches = torch.full((len(rows), length), -1)
    targets = torch.full((len(rows), length), _IGNORED)
    for index, row in enumerate(rows):
        size = len(row.ids)
        ids[index, :size] = torch.tensor(row.ids)
        positions[:, index, :size] = torch.from_numpy(row.positions)
        branches[index, :size] = torch.tensor(row.branches)
        targets[index, :size] = torch.tensor(row.targets)
    at, columns = (targets != _IGNORED).nonzero(as_tuple=True)
    shown = [index for index, row in enumerate(rows) if row.picture is not None]
    starts = torch.tensor(np.cumsum([0, *(len(row.tasks) for row in rows)])[:-1])
    return Batch(
        ids,
        positions,
        branches if int(branches.max()) > 1 else None,
        at,
        columns,
        targets[at, columns],
        torch.tensor([rows[index].picture for index in shown], dtype=torch.int64),
        torch.tensor(shown, dtype=torch.int64),
        torch.stack((ids == encoder.pad).nonzero(as_tuple=True)),
        starts[at] + branches[at, columns] - 1,
        [task for row in rows for task in row.tasks],
    )


def _alike(group: Sequence[Encoded]) -> list[list[Encoded]]:
    """The examples with the picture, and those without one."""
    parts = [[e for e in group if e.picture is not None], [e for e in group if e.picture is None]]
    return [part for part in parts if part]


def pool_size(groups: int, scale: int) -> int:
    """How many groups to make batches of at once, where it is `groups` for those of two CPU cores.

    Batches that are `scale` times larger need more to be of rows of similar length, but a pool has to be waited for.
    """
    return groups * max(1, scale // 3)


def bucketed(groups: Sequence[Sequence[Encoded]], encoder: Encoder, tokens: int) -> list[Batch]:
    """Batches of about `tokens` padded tokens each, of rows of similar length."""
    rows = sorted((pack(part, encoder.pad) for group in groups for part in _alike(group)), key=lambda row: len(row.ids))
    batches: list[Batch] = []
    pending: list[Row] = []
    for row in rows:
        if pending and (len(pending) + 1) * len(row.ids) > tokens:
            batches.append(collate(pending, encoder))
            pending = []
        pending.append(row)
    if pending:
        batches.append(collate(pending, encoder))
    return batches
