"""Which patches answer for which thing, and what their answers cost."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
# ruff: noqa: E402

from quizglass_lab.seeing.matching import Answers, Pairs, Targets, assign, box_loss, covering, detection_loss, match

COSTS = st.integers(1, 3).flatmap(
    lambda things: st.lists(
        st.lists(st.floats(-10, 10), min_size=things, max_size=things), min_size=2 * things, max_size=6
    )
)


@settings(max_examples=200, deadline=None)
@given(COSTS)
def test_every_thing_gets_patches_of_its_own_and_no_assignment_is_cheaper(rows: list[list[float]]) -> None:
    cost = np.array(rows)
    things = cost.shape[1]
    patches, numbers = assign(cost, 2)
    assert len(set(patches.tolist())) == len(patches) == 2 * things
    assert sorted(numbers.tolist()) == sorted(2 * list(range(things)))
    wanted = np.tile(np.arange(things), 2)
    cheapest = min(cost[list(order), wanted].sum() for order in permutations(range(len(cost)), 2 * things))
    assert cost[patches, numbers].sum() == pytest.approx(cheapest)


BOXES = st.lists(st.tuples(*(st.floats(0.1, 0.9),) * 2, *(st.floats(0.05, 0.9),) * 2), min_size=1, max_size=5)


@settings(max_examples=100, deadline=None)
@given(BOXES, st.sampled_from((7, 14)))
def test_a_patch_tells_of_the_smallest_thing_over_its_middle(rows: list[tuple[float, ...]], side: int) -> None:
    boxes = torch.tensor(rows)
    patches, things = covering(boxes, side)
    found = dict(zip(patches.tolist(), things.tolist(), strict=True))
    for patch in range(side * side):
        x, y = (patch % side + 0.5) / side, (patch // side + 0.5) / side
        over = [
            (float(w * h), i) for i, (cx, cy, w, h) in enumerate(boxes) if abs(x - cx) < w / 2 and abs(y - cy) < h / 2
        ]
        assert (found.get(patch) is None) == (not over)
        if over:
            smallest = boxes[found[patch]]
            assert float(smallest[2] * smallest[3]) == pytest.approx(min(over)[0])


def batch() -> Targets:
    """A picture with two things, and three phrases: one for each, and one for none."""
    boxes = torch.tensor([[0.25, 0.5, 0.3, 0.4], [0.75, 0.5, 0.2, 0.6]])
    named = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return Targets(torch.zeros(2, dtype=torch.int64), boxes, named, torch.zeros(2, 5, dtype=torch.int64))


def test_things_of_several_pictures_are_matched_with_patches_of_their_own() -> None:
    pictures = torch.tensor([0, 2, 2])
    boxes = torch.tensor([[0.25, 0.5, 0.3, 0.4], [0.75, 0.5, 0.2, 0.6], [0.3, 0.3, 0.2, 0.2]])
    targets = Targets(pictures, boxes, torch.eye(3), torch.zeros(3, 5, dtype=torch.int64))
    answered = torch.full((3, 12, 4), 0.9)
    right = {0: (0, range(4)), 1: (2, range(2, 6)), 2: (2, range(7, 11))}
    for thing, (picture, patches) in right.items():
        answered[picture, list(patches)] = boxes[thing]
    pairs = match(Answers(torch.zeros(3, 12, 3), answered, torch.zeros(3, 12)), targets)
    found = {thing: set(pairs.patches[pairs.things == thing].tolist()) for thing in right}
    assert found == {thing: set(patches) for thing, (_, patches) in right.items()}


def test_right_boxes_cost_nothing_and_others_do() -> None:
    targets = batch()
    pairs = Pairs(torch.tensor([3, 1]), torch.tensor([0, 1]))
    boxes = torch.rand(1, 5, 4) * 0.5 + 0.2
    boxes[0, [3, 1]] = targets.boxes
    answers = Answers(torch.zeros(1, 5, 3), boxes, torch.zeros(1, 5))
    loss, overlap = box_loss(answers, targets, pairs)
    assert (loss.item(), overlap) == (pytest.approx(0.0, abs=1e-5), pytest.approx(1.0))
    moved, less = box_loss(Answers(answers.logits, boxes + 0.1, answers.objectness), targets, pairs)
    assert moved.item() > 0.1
    assert less < 1


def test_the_loss_falls_on_one_picture_until_phrases_find_their_things() -> None:
    torch.manual_seed(0)
    targets = batch()
    logits, sides, anything = (torch.zeros(1, 20, size, requires_grad=True) for size in (3, 4, 1))
    torch.nn.init.normal_(sides)
    optimizer = torch.optim.Adam((logits, sides, anything), lr=0.1)
    losses = []
    for _ in range(150):
        loss, _ = detection_loss(Answers(logits, sides.sigmoid(), anything[..., 0]), targets)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.1 * losses[0]
    for phrase, box in enumerate(targets.boxes):
        best = logits[0, :, phrase].argmax()
        assert torch.allclose(sides.sigmoid()[0, best], box, atol=0.05)
    assert logits[0, :, 2].max() < 0
