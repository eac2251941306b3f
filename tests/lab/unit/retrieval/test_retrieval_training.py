"""Time budgets, resuming, architectures and saved forms of the retrieval models."""

import json
import random
import shutil
from dataclasses import astuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
# ruff: noqa: E402

from transformers import BertTokenizerFast, CLIPVisionModelWithProjection

from quizglass_lab.pocketworld.layout import intersection_over_union
from quizglass_lab.pocketworld.world import make_world
from quizglass_lab.retrieval import evaluate, image_encoder, image_pool, reranker, text_encoder
from quizglass_lab.retrieval.image_encoder import (
    ImageTrainer,
    embed_images,
    normalise_pixels,
    train_image_encoder,
)
from quizglass_lab.retrieval.image_pool import look_labels, render_chunk, search_view
from quizglass_lab.retrieval.pairs import PassageLibrary, training_libraries
from quizglass_lab.retrieval.picture_search import EVIDENCE, evaluate_images
from quizglass_lab.retrieval.random_checkpoints import write_random_checkpoints
from quizglass_lab.retrieval.shapes import mean_pool
from quizglass_lab.retrieval.text_encoder import (
    contrastive_loss,
    embed_texts,
    load_text_encoder,
    train_text_encoder,
)
from quizglass_lab.retrieval.thresholds import best_threshold, keeping_threshold, recalls
from quizglass_lab.retrieval.training import TimedRun, learning_rate


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("checkpoints")
    write_random_checkpoints(out)
    return out


def test_rate_warms_up_and_falls_to_its_final_share():
    rates = [learning_rate(1e-3, passed) for passed in (0.0, 0.02, 0.04, 0.5, 1.0)]
    assert rates[0] < rates[1] < rates[2] == pytest.approx(1e-3)
    assert rates[2] > rates[3] > rates[4] == pytest.approx(2e-5)


def test_a_run_resumes_where_it_stopped_and_ends_with_its_time(tmp_path):
    model = torch.nn.Linear(2, 1)
    run = TimedRun("stage", tmp_path, model, 1, 1e-2)
    run.update(model(torch.ones(1, 2)).sum())
    run.step, run.elapsed = 7, 45.0
    run.update(model(torch.ones(1, 2)).sum(), hit=0.5)
    run.save()
    again = TimedRun("stage", tmp_path, torch.nn.Linear(2, 1), 1, 1e-2)
    assert (again.step, again.passed) == (7, 0.75)
    assert again.measured == run.measured
    assert again.measured["hit"] == 0.5
    assert torch.equal(again.model.weight, model.weight)
    again.elapsed = 60.0
    assert list(again.steps()) == []


def test_checkpoints_load_in_the_forms_the_export_reads(checkpoints):
    CLIPVisionModelWithProjection.from_pretrained(checkpoints / "image_encoder")
    preprocessing = json.loads((checkpoints / "image_encoder" / "preprocessor_config.json").read_text())
    assert preprocessing["size"] == {"height": 112, "width": 112}
    assert json.loads((checkpoints / "text_encoder" / "pooling.json").read_text())["pooling"] == "mean"
    assert (checkpoints / "reranker" / "adapter_model.safetensors").is_file()
    assert (checkpoints / "reranker_base" / "model.safetensors").is_file()


def test_names_fall_into_syllables_and_digits(checkpoints):
    tokenizer = BertTokenizerFast.from_pretrained(checkpoints / "text_encoder")
    assert tokenizer.tokenize("Balbingor 1974") == ["bal", "##bin", "##gor", "1", "9", "7", "4"]
    assert tokenizer.unk_token_id not in tokenizer("zqxwy?")["input_ids"]


def test_text_vectors_are_unit_length_and_ignore_padding(checkpoints):
    model, tokenizer = load_text_encoder(checkpoints / "text_encoder")
    alone = embed_texts(model, tokenizer, ["Balbin: it costs 12 crowns."])
    beside = embed_texts(model, tokenizer, ["Balbin: it costs 12 crowns.", "Who made it? " * 20])[:1]
    assert torch.allclose(alone, beside, atol=1e-5)
    assert torch.allclose(alone.norm(dim=1), torch.ones(1), atol=1e-5)


def test_mean_pool_counts_unmasked_positions_only():
    hidden = torch.tensor([[[3.0, 4.0], [100.0, 0.0]]])
    assert torch.allclose(mean_pool(hidden, torch.tensor([[1, 0]])), torch.tensor([[0.6, 0.8]]))


def test_contrastive_loss_counts_every_right_passage():
    scores = torch.tensor([[10.0, 10.0, -10.0]])
    both = contrastive_loss(scores, torch.tensor([[True, True, False]]))
    one = contrastive_loss(scores, torch.tensor([[True, False, False]]))
    assert both < 1e-3
    assert one == pytest.approx(0.693, abs=1e-2)


def test_chunks_hold_every_view_and_label(monkeypatch):
    monkeypatch.setattr(image_pool, "VIEWS", 2)
    things = make_world(4242, 9).things
    chunk = render_chunk(things, 1)
    assert chunk.reference.shape == (9, 112, 112, 3)
    assert chunk.views.shape == (9, 2, 112, 112, 3)
    assert (chunk.views.reshape(18, -1).max(1) > 0).all()
    assert [tuple(row) for row in chunk.labels] == [look_labels(thing.look) for thing in things]


def record(folder):
    return json.loads((folder / "done.json").read_text())


def write_pool(folder):
    folder.mkdir()
    reference = np.zeros((2, 112, 112, 3), np.uint8)
    for number in range(2):
        labels = np.zeros((2, 5), np.int64)
        np.savez(folder / f"chunk-{number:03d}.npz", reference=reference, views=reference[:, None], labels=labels)


def test_boxes_are_a_little_off_and_stay_in_the_picture():
    rng = random.Random(5)
    for _ in range(200):
        loose = image_pool.loosened((0.0, 0.3, 0.4, 1.0), rng)
        assert 0 <= loose.left < loose.right <= 1
        assert 0 <= loose.top < loose.bottom <= 1
        assert intersection_over_union(astuple(loose), (0.0, 0.3, 0.4, 1.0)) > 0.4


def test_every_thing_of_a_scene_has_a_box_that_looks_like_it():
    things = make_world(4242, 3, format=2).things
    parts = list(image_pool.in_boxes(things, random.Random(2)))
    assert {placed.thing.id for placed, _ in parts} == {thing.id for thing in things}
    assert all(part.shape == (112, 112, 3) and part.std() > 5 for _, part in parts)


def test_an_image_encoder_goes_on_from_the_weights_that_are_there_until_it_is_done(checkpoints, tmp_path, monkeypatch):
    shutil.copytree(checkpoints / "image_encoder", tmp_path / "image_encoder")
    write_pool(tmp_path / "image_pool")
    before = CLIPVisionModelWithProjection.from_pretrained(tmp_path / "image_encoder").state_dict()
    train_image_encoder(tmp_path, 0.0, pool_things=2 * image_pool.CHUNK_THINGS)
    assert record(tmp_path / "image_encoder").keys() == {"steps", "minutes", "peak_memory_mb"}
    monkeypatch.setattr(image_encoder, "start_rendering", lambda *_: pytest.fail("trained again"))
    train_image_encoder(tmp_path, 1.0)
    after = CLIPVisionModelWithProjection.from_pretrained(tmp_path / "image_encoder").state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_text_encoder_goes_on_from_the_weights_and_words_that_are_there(checkpoints, tmp_path):
    shutil.copytree(checkpoints / "text_encoder", tmp_path / "text_encoder")
    words = (tmp_path / "text_encoder" / "tokenizer.json").read_bytes()
    before = load_text_encoder(tmp_path / "text_encoder")[0].state_dict()
    train_text_encoder(tmp_path, 0.0)
    after = load_text_encoder(tmp_path / "text_encoder")[0].state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert (tmp_path / "text_encoder" / "tokenizer.json").read_bytes() == words


def test_a_text_encoder_that_is_done_has_a_record_and_is_not_trained_again(checkpoints, tmp_path, monkeypatch):
    shutil.copytree(checkpoints / "text_encoder", tmp_path / "text_encoder")
    monkeypatch.setattr(text_encoder, "_QUERIES", 4)
    monkeypatch.setattr(text_encoder, "_WORLDS", 1)
    train_text_encoder(tmp_path, 1e-6)
    done = record(tmp_path / "text_encoder")
    assert done.keys() == {"loss", "hit", "steps", "minutes", "peak_memory_mb"}
    assert done["steps"] == 1
    monkeypatch.setattr(text_encoder, "training_libraries", lambda *_: pytest.fail("trained again"))
    train_text_encoder(tmp_path, 1.0)
    assert record(tmp_path / "text_encoder") == done


@pytest.mark.parametrize(
    ("trained_here", "minutes", "steps", "took"), [(True, (8.0, 2.0), 15, 3.0), (False, (10.0,), 7, 1.5)]
)
def test_only_a_base_that_was_trained_elsewhere_leaves_its_time_to_the_adapter(
    tmp_path, monkeypatch, trained_here, minutes, steps, took
):
    (tmp_path / "reranker_base").mkdir()
    (tmp_path / "reranker_base" / "model.safetensors").touch()
    if trained_here:  # and interrupted while the adapter was trained
        (tmp_path / "reranker_base" / "training").mkdir()
    given = []

    def run(name, step, elapsed):
        folder, linear = tmp_path / "reranker" / "training", torch.nn.Linear(2, 1)
        return TimedRun(name, folder, linear, 1, 1e-2, step, elapsed, {"right": 0.75})

    def base(workdir, minutes, *rest):
        given.append(minutes)
        return run("reranker_copy", 3, 60.0), run("reranker_judge", 5, 30.0)

    def lora(workdir, minutes, *rest):
        given.append(minutes)
        return run("reranker_lora", 7, 90.0)

    monkeypatch.setattr(reranker, "train_reranker_base", base)
    monkeypatch.setattr(reranker, "train_reranker_lora", lora)
    reranker.train_reranker(tmp_path, 10.0)
    assert tuple(given) == pytest.approx(minutes)
    done = record(tmp_path / "reranker")
    assert (done["steps"], done["minutes"]) == (steps, took)
    assert done["reranker_lora"] == {"right": 0.75}
    assert ("reranker_judge" in done) == trained_here
    reranker.train_reranker(tmp_path, 10.0)
    assert len(given) == len(minutes), "a reranker that is done was trained again"


def test_text_models_learn_of_towns():
    library = training_libraries(2, 40, 0)[1]
    rng = random.Random(3)
    pair = next(pair for pair in iter(lambda: library.draw(rng), None) if pair.family == "town")
    assert all(library.passages[number].kind == "town" for number in pair.gold)
    assert library.passages[pair.gold[0]].title in pair.query


def write_looks(folder, labels):
    reference = np.arange(len(labels), dtype=np.uint8)[:, None, None, None]
    views = np.stack([reference] * image_pool.VIEWS, 1)
    np.savez(folder / "chunk-000.npz", reference=reference, views=views, labels=np.array(labels))


@pytest.mark.parametrize(("alike", "columns"), [("kind", [0]), ("colours", [1, 2]), ("looks", [0, 1]), ("nothing", [])])
def test_batches_hold_distinct_things_that_are_alike_as_asked(tmp_path, alike, columns):
    labels = [
        (kind, colour, colour, pattern, shape)
        for kind in range(3)
        for colour in range(2)
        for pattern in range(4)
        for shape in range(5)
    ]
    write_looks(tmp_path, labels)
    pool = image_pool.ImagePool(tmp_path)
    assert pool.refresh() == 1
    reference, views, drawn = pool.sample(20, np.random.default_rng(0), alike)
    rows = [tuple(row) for row in drawn.tolist()]
    assert len(views) == len(set(rows)) == 20
    assert rows == [labels[i] for i in reference.flatten()]
    assert all(len({row[column] for row in rows}) == 1 for column in columns)


def test_two_things_that_look_the_same_are_not_in_one_batch(tmp_path):
    write_looks(tmp_path, [(0, 0, 0, 0, i // 5) for i in range(30)])
    pool = image_pool.ImagePool(tmp_path)
    pool.refresh()
    _, views, drawn = pool.sample(10, np.random.default_rng(0))
    assert sorted(drawn[:, 4].tolist()) == list(range(6))
    assert len(views) == 6


def test_a_position_searches_with_its_half():
    picture = image_pool.Image.new("RGB", (200, 100), (0, 0, 0))
    picture.paste((255, 255, 255), (100, 0, 200, 100))
    assert np.asarray(search_view(picture, "left")).mean() < 10
    assert np.asarray(search_view(picture, "right")).mean() > 245
    assert 100 < np.asarray(search_view(picture, "middle")).mean() < 155


def test_image_losses_train_every_parameter():
    trainer = ImageTrainer()
    pixels = normalise_pixels(np.random.default_rng(0).integers(0, 255, (4, 112, 112, 3), dtype=np.uint8))
    contrast, named, measures = trainer.losses(pixels, pixels, torch.zeros(4, 5, dtype=torch.long))
    (contrast + named).backward()
    assert all(p.grad is not None for p in trainer.parameters())
    assert 0 <= measures["hit"] <= 1


def test_image_vectors_are_unit_length(checkpoints):
    encoder = CLIPVisionModelWithProjection.from_pretrained(checkpoints / "image_encoder")
    vectors = embed_images(encoder, np.zeros((3, 112, 112, 3), np.uint8))
    assert vectors.shape == (3, 128)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(3), atol=1e-5)


def test_recalls_and_thresholds():
    assert recalls([0, 2, 9]) == {"count": 3, "recall@1": 0.3333, "recall@5": 0.6667}
    split = best_threshold([0.9, 0.8, 0.7], [0.1, 0.2])
    assert split["threshold"] == 0.7
    assert split["kept"] == split["rejected"] == 1.0
    kept = keeping_threshold([0.5, 0.6, 0.7, 0.8, 0.9], [0.1, 0.95], 1.0)
    assert kept == {"threshold": 0.5, "kept": 1.0, "rejected": 0.5}


def test_the_image_search_is_measured_as_it_is_served(checkpoints):
    (checkpoints / "settings.json").write_text(json.dumps({"evidence": EVIDENCE}))
    report = evaluate_images(checkpoints, 7001, 20, 12)
    assert report["all"]["count"] == sum(v["count"] for k, v in report.items() if k.startswith("things")) == 12
    assert report["format 1"]["count"] == report["format 2"]["count"] == 6
    assert report["all"]["recall@5"] >= report["accepted"]["recall@5"]
    assert -1 <= report["accept"]["threshold"] <= 1


class _Unread:
    """A library of passages, and models that are not asked."""

    def __init__(self, *_: object) -> None:
        self.library = PassageLibrary(make_world(7001, 40))

    def eval(self) -> "_Unread":
        return self


def test_passages_are_shown_from_where_nearly_all_of_the_right_ones_stay(tmp_path, monkeypatch):
    gold = [min(pair.gold) for pair in _Unread().library.pairs(200, 7001)[:100]]
    fine = torch.linspace(0.01, 1.0, len(gold)).unsqueeze(1)

    def candidates(search, model, reader, queries):
        if len(queries) == len(gold):
            return torch.ones_like(fine), fine, torch.tensor(gold).unsqueeze(1)
        return torch.ones(len(queries), 1), torch.full((len(queries), 1), 0.95), torch.zeros(len(queries), 1)

    for name in ("TextSearch", "PromptReader", "load_reranker", "ensure_tokenizer"):
        monkeypatch.setattr(evaluate, name, _Unread)
    monkeypatch.setattr(evaluate, "_candidates", candidates)
    accept = evaluate.evaluate_reranking(tmp_path, 7001, 40, len(gold))["accept"]
    assert accept["threshold"] == pytest.approx(0.011, abs=1e-3)  # of a hundred right ones it is near the lowest
    assert (accept["kept"], accept["rejected"]) == (0.999, 0.0)
