"""Multinomial logistic regression, and the part that it is measured on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def held_back(count: int, share: float, seed: int) -> tuple[Places, Places]:
    """Places to fit on and to measure on; of each at least one where there are two."""
    order = np.random.default_rng(seed).permutation(count)
    cut = min(max(1, round(count * share)), max(count - 1, 1))
    return order[cut:] if count > 1 else order, order[:cut]


def commonest_right(fitted: Places, tested: Places) -> float:
    """Share of the labels `tested` that the commonest of `fitted` is: what a rule gets that always gives that one."""
    return float((tested == np.bincount(fitted).argmax()).mean())


def regression(values: Floats, wanted: Places, labels: int, decay: float) -> tuple[Floats, Floats]:
    """Weights [labels, features] and bias [labels] of the least cross-entropy plus `decay` x the squared weights.

    Args:
        values: features [N, F].
        wanted: label of each row, [N].
        labels: how many there are.
        decay: 0 or more.
    """
    import torch  # the commands that offer it are listed without
    from torch.nn import functional

    inputs, targets = torch.tensor(values, dtype=torch.float64), torch.tensor(wanted)
    weights = torch.zeros(labels, inputs.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(labels, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        total = functional.cross_entropy(inputs @ weights.T + bias, targets) + decay * (weights**2).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach().numpy(), bias.detach().numpy()
