"""The starter's fast forward passes compute what transformers' model computes, packed or not."""

from pathlib import Path

import pytest
import torch

from quizglass_lab.starter.data.batches import bucketed, collate, pack
from quizglass_lab.starter.data.examples import Encoder, Example, Request
from quizglass_lab.starter.loop.decoding import MOST_NEW_TOKENS, generate
from quizglass_lab.starter.loop.training import predict
from quizglass_lab.starter.model import vlm
from quizglass_lab.starter.model.tokenizer import build_tokenizer

torch.set_num_threads(1)


def processor_pixels(pictures: torch.Tensor) -> torch.Tensor:
    """The `pixel_values` transformers and the exported scorers expect: float32 [B, 64, 1176]."""
    flat = vlm.patches(pictures)
    planes = flat.view(*flat.shape[:2], 3, 1, vlm.PATCH * vlm.PATCH)
    return planes.expand(-1, -1, -1, 2, -1).reshape(*flat.shape[:2], 6 * vlm.PATCH * vlm.PATCH)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    build_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return Encoder(folder)


@pytest.fixture(scope="module")
def model(folder: Path) -> torch.nn.Module:
    from quizglass_lab.starter.model.checkpoints import load_tokenizer

    return vlm.new_model(load_tokenizer(folder), 1).eval()


@pytest.fixture(scope="module")
def pictures() -> torch.Tensor:
    return torch.randint(0, 256, (2, 112, 112, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


EXAMPLES = (
    Example(Request("answer", "What colour is this car?", picture=0), "red", "a"),
    Example(Request("answer", "What is this car called?", words="Velmora", picture=0), "Velmora", "b"),
    Example(Request("answer", "Who made it?", history=(("What is it?", "Tagrin"),), picture=0), "I don't know", "c"),
)


@torch.no_grad()
def _reference(model: torch.nn.Module, encoder: Encoder, example: Example, pictures: torch.Tensor) -> torch.Tensor:
    """transformers' own scores at the answer's tokens."""
    encoded = encoder.encode(example)
    ids = torch.tensor([[*encoded.prompt, *encoded.answer[:-1]]])
    scores = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=processor_pixels(pictures[:1])[0],
        image_grid_thw=torch.tensor([[1, vlm.GRID, vlm.GRID]]),
    ).logits[0]
    return scores[-len(encoded.answer) :]


@torch.no_grad()
def test_packed_scores_equal_those_of_transformers(
    model: torch.nn.Module, encoder: Encoder, pictures: torch.Tensor
) -> None:
    encoded = [encoder.encode(example) for example in EXAMPLES]
    batch = collate([pack(encoded, encoder.pad)], encoder)
    scores = predict(model, batch, pictures.numpy())
    expected = torch.cat([_reference(model, encoder, example, pictures) for example in EXAMPLES])
    assert torch.allclose(scores, expected, atol=1e-4)


@torch.no_grad()
def test_rows_of_one_batch_keep_their_own_pictures(
    model: torch.nn.Module, encoder: Encoder, pictures: torch.Tensor
) -> None:
    first = encoder.encode(Example(Request("answer", "What is this?", picture=0), "car", "a"))
    second = encoder.encode(Example(Request("answer", "Where is it?", picture=1), "left", "b"))
    plain = encoder.encode(Example(Request("answer", "Who founded Tandric?"), "Ana Brint", "c"))
    (together,) = bucketed([[first], [second], [plain]], encoder, 10_000)
    scores = predict(model, together, pictures.numpy())
    for number, task in enumerate(together.tasks):
        alone = {"a": first, "b": second, "c": plain}[task]
        expected = predict(model, collate([pack([alone], encoder.pad)], encoder), pictures.numpy())
        assert torch.allclose(scores[together.owners == number], expected, atol=1e-4)


def test_generation_equals_the_model_asked_without_a_cache(
    model: torch.nn.Module, encoder: Encoder, pictures: torch.Tensor
) -> None:
    requests = [example.request for example in EXAMPLES] + [Request("rewrite", "Who made the Velmora?")]
    answers = generate(model, encoder, requests, pictures.numpy())
    for request, answer in zip(requests, answers, strict=True):
        ids = list(encoder.prompt(request))
        made: list[int] = []
        shown = (
            {}
            if request.picture is None
            else {
                "pixel_values": processor_pixels(pictures[:1])[0],
                "image_grid_thw": torch.tensor([[1, vlm.GRID, vlm.GRID]]),
            }
        )
        with torch.no_grad():
            while len(made) < MOST_NEW_TOKENS and (not made or made[-1] != encoder.end):
                tokens = torch.tensor([[*ids, *made]])
                model.model.rope_deltas = None
                scores = model(
                    input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False, **shown
                ).logits
                made.append(int(scores[0, -1].argmax()))
        assert answer == encoder.decode([token for token in made if token != encoder.end])


def test_processor_pixels_match_the_qwen_processor(pictures: torch.Tensor) -> None:
    from transformers import Qwen2VLImageProcessor

    processor = Qwen2VLImageProcessor(min_pixels=112 * 112, max_pixels=112 * 112)
    expected = processor(images=[picture.numpy() for picture in pictures], return_tensors="pt")["pixel_values"]
    assert torch.allclose(processor_pixels(pictures).flatten(0, 1), expected, atol=1e-5)


def test_no_embedding_row_is_zero(model: torch.nn.Module) -> None:
    rows = model.model.language_model.embed_tokens.weight
    assert float(rows.detach().norm(dim=1).min()) > 0.1
