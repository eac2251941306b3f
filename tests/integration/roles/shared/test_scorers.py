"""Rerankers as they are exported and served: shared beginnings, INT8, and scores that hang on nothing but their row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from quizglass.values import Plan  # noqa: E402
from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_bundle.inputs.prompts import (  # noqa: E402
    PromptTemplate,
    PromptTokenizer,
    encode_within,
)
from quizglass_export.graphs.rotary import DOMAIN, fuse_rotary  # noqa: E402
from quizglass_export.onnx.quantise import quantise_products  # noqa: E402
from quizglass_export.onnx.scorer_file import write_text_scorer  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_server.engines.onnx.pool import EnginePool  # noqa: E402
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession  # noqa: E402
from quizglass_server.roles.load import load_role  # noqa: E402
from quizglass_server.roles.shared.fitting import PictureFitter  # noqa: E402
from quizglass_server.roles.shared.loading import Loading  # noqa: E402
from quizglass_server.roles.shared.logits import softmax  # noqa: E402
from quizglass_server.scheduling.clock import stage_clock  # noqa: E402
from tests.support.bundles.tiny_bundle import write_bundle  # noqa: E402
from tests.support.bundles.tiny_models import vocabulary  # noqa: E402

HOW = OnnxOptions(threads=1, provider="cpu")
STARTER = Path("models/starter/bundle")
PASSAGES = ["red", "a blue boat on the water", "z" * 300, "red", "the car " * 9, "m" * 33, "", "red car"]
SHAPES = {"small": (64, 2, 4, 2, 16), "larger": (256, 4, 8, 8, 32)}
"""Width, layers, heads, key heads, head size."""


def random_model(name: str) -> Any:
    width, layers, heads, groups, size = SHAPES[name]
    torch.manual_seed(5)
    config = transformers.Qwen3Config(
        vocab_size=len(vocabulary()),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=size,
        initializer_range=0.15,
        attn_implementation="eager",
    )
    return transformers.Qwen3ForCausalLM(config).eval()


def bundle_with(root: Path, model: Any, *, int8: bool = False) -> Bundle:
    """The tiny bundle with an exported reranker."""
    write_bundle(root, ("reranker",))
    tokenizer = PromptTokenizer(root / "tokenizer" / "tokenizer.json")
    path = root / "reranker" / "model.onnx"
    write_text_scorer(model, [tokenizer.label(" yes"), tokenizer.label(" no")], path)
    if int8:
        assert quantise_products(path, path) > 0
    manifest = json.loads((root / "manifest.json").read_text())
    digest = sha256(path.read_bytes()).hexdigest()
    manifest["files"]["reranker/model.onnx"] = {"sha256": digest, "bytes": path.stat().st_size}
    (root / "manifest.json").write_text(json.dumps(manifest))
    return Bundle.load(root)


def torch_scores(model: Any, bundle: Bundle, query: str, passages: list[str]) -> list[float]:
    spec: Any = bundle.roles.reranker
    tokenizer, template = PromptTokenizer(bundle.path(spec.tokenizer)), PromptTemplate.load(bundle.path(spec.prompt))
    labels = [tokenizer.label(text) for _, text in spec.labels]
    scores = []
    for passage in passages:
        ids = encode_within(tokenizer, template.render(query=query, passage=passage), [], spec.max_tokens)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1, labels].numpy()
        scores.append(float(softmax(logits)[0]))
    return scores


def loaded(bundle: Bundle, pool: EnginePool, role: str) -> Any:
    part = bundle.roles.part(role)
    assert part is not None
    return load_role(role, part, Loading(bundle, pool, PictureFitter(), HOW))


@pytest.fixture
def pool() -> Iterator[EnginePool]:
    made = EnginePool(2)
    yield made
    made.close()


Exports = Callable[[str, bool], tuple[Any, Bundle]]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    """Shape and whether INT8, to the model and its bundle."""

    @cache
    def export(name: str, int8: bool) -> tuple[Any, Bundle]:
        model = random_model(name)
        return model, bundle_with(tmp_path_factory.mktemp(name) / "bundle", model, int8=int8)

    return export


@pytest.fixture(params=["small", "larger"])
def exported(request: pytest.FixtureRequest, exports: Exports) -> tuple[Any, Bundle]:
    return exports(request.param, False)


async def test_scores_with_a_shared_beginning_are_those_of_transformers(
    exported: tuple[Any, Bundle], pool: EnginePool
) -> None:
    model, bundle = exported
    reranker = loaded(bundle, pool, "reranker")
    with stage_clock() as clock:
        found = await reranker.score("which car is red?", PASSAGES)
    assert clock.us > 0
    assert clock.tokens > len(PASSAGES)
    assert found == pytest.approx(torch_scores(model, bundle, "which car is red?", PASSAGES), abs=1e-4)


@pytest.mark.parametrize("int8", [False, True])
async def test_a_score_hangs_on_its_own_row_alone(exports: Exports, pool: EnginePool, int8: bool) -> None:
    reranker = loaded(exports("larger", int8)[1], pool, "reranker")
    alone = [(await reranker.score("what is it?", [passage]))[0] for passage in PASSAGES]
    assert len({round(score, 6) for score in alone}) > 4
    for passages in (PASSAGES, PASSAGES[::-1], PASSAGES[2:5]):
        expected = [alone[PASSAGES.index(passage)] for passage in passages]
        assert await reranker.score("what is it?", passages) == pytest.approx(expected, abs=1e-5)
    many = [reranker.score(query, PASSAGES) for query in ("what is it?", "another", "what is it?", "z" * 60)]
    together = await asyncio.gather(*many)
    for scores in (together[0], together[2]):
        assert scores == pytest.approx(alone, abs=1e-5)


async def test_rows_of_one_shape_share_a_run_in_int8_and_change_nothing(
    exports: Exports, pool: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = loaded(exports("larger", True)[1], pool, "reranker")
    passages = ["red", "car", "sea", "boat on a sea"]
    alone = [(await reranker.score("what?", [passage]))[0] for passage in passages]
    shapes: list[tuple[int, ...]] = []
    run_for = OnnxSession.run_for

    def noted(self: OnnxSession, outputs: Any, inputs: Any) -> Any:
        shapes.append(inputs["input_ids"].shape)
        return run_for(self, outputs, inputs)

    monkeypatch.setattr(OnnxSession, "run_for", noted)
    assert await reranker.score("what?", passages) == pytest.approx(alone, abs=1e-6)
    counts = [rows for rows, _ in shapes]
    assert sum(counts) == 1 + len(passages), "the shared beginning and every row, each once"
    assert max(counts) >= 2, "two short rows at least, of the half that is tokenised first"


def test_rotary_positions_become_one_operation_and_change_nothing(tmp_path: Path) -> None:
    path, fused = tmp_path / "model.onnx", tmp_path / "fused.onnx"
    write_text_scorer(random_model("small"), [1, 2], path)
    model = onnx.load(str(path))
    assert fuse_rotary(model.graph) == 2  # the last layer turns one token's queries, from other tables
    assert sum(node.op_type == "RotaryEmbedding" for node in model.graph.node) == 2
    model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))
    onnx.save(model, str(fused))
    inputs = {
        "input_ids": np.array([[5, 6, 7, 8, 9], [9, 8, 7, 6, 5]]),
        "attention_mask": np.array([[1, 1, 1, 1, 1, 1, 1], [1, 0, 1, 1, 1, 1, 0]]),
        "past": np.random.default_rng(0).standard_normal((2, 2, 2, 2, 2, 16)).astype(np.float32),
        "keep": np.array(6),
    }
    results = [session(file).run(["logits", "present"], inputs) for file in (path, fused)]
    for before, after in zip(*results, strict=True):
        assert np.allclose(before, after, atol=1e-5)


async def test_a_query_that_fills_the_prompt_shares_nothing_and_is_cut(
    exported: tuple[Any, Bundle], pool: EnginePool
) -> None:
    model, bundle = exported
    query = "q" * 400
    found = await loaded(bundle, pool, "reranker").score(query, PASSAGES[:4])
    assert found == pytest.approx(torch_scores(model, bundle, query, PASSAGES[:4]), abs=1e-4)


async def test_int8_stays_near_the_model_it_came_from(exports: Exports, pool: EnginePool) -> None:
    (_, exact), (_, bundle) = exports("larger", False), exports("larger", True)
    found = await loaded(bundle, pool, "reranker").score("which?", PASSAGES)
    wanted = await loaded(exact, pool, "reranker").score("which?", PASSAGES)
    assert found != wanted
    assert np.abs(np.array(found) - wanted).mean() < 0.05
    assert int(np.argmax(found)) == int(np.argmax(wanted))
    sizes = [each.path(each.roles.reranker.model).stat().st_size for each in (bundle, exact)]
    assert sizes[0] < 0.4 * sizes[1]


async def test_a_cancelled_reranking_leaves_its_neighbours_whole(exports: Exports, pool: EnginePool) -> None:
    reranker = loaded(exports("small", False)[1], pool, "reranker")
    expected = await reranker.score("which?", PASSAGES)
    tasks = [asyncio.create_task(reranker.score("which?", PASSAGES)) for _ in range(12)]
    for _ in range(20):
        await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for index, result in enumerate(results):
        if index % 3 == 0:
            assert isinstance(result, asyncio.CancelledError) or result == pytest.approx(expected, abs=1e-5)
        else:
            assert result == pytest.approx(expected, abs=1e-5)


@pytest.mark.skipif(not (STARTER / "manifest.json").is_file(), reason="the starter bundle is not built")
async def test_the_starters_scorers_do_not_depend_on_what_else_is_asked(pool: EnginePool) -> None:
    bundle = Bundle.load(STARTER)
    reranker, planner = loaded(bundle, pool, "reranker"), loaded(bundle, pool, "planner")
    query, passages = "Who founded Velmora?", [f"Velmora: {'It was founded. ' * n}" for n in (1, 2, 9, 30)]
    alone = [(await reranker.score(query, [passage]))[0] for passage in passages]
    questions = ["What is this? " * n for n in (1, 2, 7)]
    plans = [await planner.probabilities((), {"question": question}) for question in questions]
    *scored, together = await asyncio.gather(
        *(reranker.score(query, passages) for _ in range(3)),
        asyncio.gather(*(planner.probabilities((), {"question": question}) for question in questions * 3)),
    )
    for scores in scored:
        assert scores == pytest.approx(alone, abs=1e-5)
    for decision, expected in zip(together, plans * 3, strict=True):
        assert [p for _, p in decision] == pytest.approx([p for _, p in expected], abs=1e-5)
        assert {name for name, _ in decision} == {plan.value for plan in Plan}
