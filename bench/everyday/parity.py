"""What the bundle computes beside the original models in PyTorch, and on this CPU beside one without AVX-512."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.everyday.efficientnet_lite import Classifier, EfficientNetLite0, load
from bench.everyday.fetched.debian import PackageMissing
from bench.everyday.fetched.things import read_picture
from bench.everyday.setup import Setup
from bench.everyday.without_avx512 import Way, way_without
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_bundle.fields import Normalised
from quizglass_bundle.files import Bundle
from quizglass_bundle.inputs.prompts import PromptTemplate, PromptTokenizer, filled
from quizglass_bundle.inputs.vision_inputs import channels
from quizglass_export.everyday.base import gguf_file, write_checkpoint
from quizglass_export.everyday.build import PROMPTS
from quizglass_export.everyday.weights import IMAGE_ENCODER
from quizglass_export.gguf.merged import write_merged
from quizglass_export.written_graphs.efficientnet_lite import MEAN, SIDE, STD
from quizglass_lab.everyday.facts import Fact, all_facts
from quizglass_lab.everyday.knowledge import EIGHT, asked_path, told, write_knowledge
from quizglass_lab.everyday.wording import pointing, questions
from quizglass_lab.finetuning.asking.choice import ModelOptions, asked_model
from quizglass_lab.finetuning.asking.gguf import GgufModel
from quizglass_lab.finetuning.asking.interface import Ask
from quizglass_server.roles.shared.fitting import PictureFitter

_FACTS, _QUICK = 30, 3
_TOKENS, _ANSWER = 64, 48
_COSINE = 0.9999
Said = Mapping[str, Any]


def parity(setup: Setup) -> Part:
    """Both comparisons, on questions in held-out wordings and the demo's photographs."""
    write_knowledge(setup.workdir)
    facts = evenly(all_facts(setup.workdir), setup.count(_FACTS, _QUICK))
    asked = _asked(setup, facts)
    setup.say("computing on this CPU")
    here = _computed(setup, asked, Way("this CPU"))
    rows = [*_built(setup), *_pictures(setup, here), _greedy(setup, facts)]
    try:
        way = way_without(setup.folder)
    except PackageMissing as error:
        return Part([*rows, Row("the same without AVX-512", None, "", str(error))])
    setup.say(f"computing as without AVX-512: {way.name}")
    there = _computed(setup, asked, way)
    if there["avx512"]:
        raise RuntimeError(f"{way.name}: numpy still finds AVX-512 there")
    found = {
        name: {key: said[key] for key in ("variant", "avx512")} for name, said in (("here", here), ("there", there))
    }
    return Part([*rows, *beside(here, there)], {"without AVX-512": way.name, **found})


def evenly(facts: Sequence[Fact], count: int) -> list[Fact]:
    """So many of all kinds: facts lie one kind after the other."""
    return [facts[at * len(facts) // count] for at in range(min(count, len(facts)))]


def beside(here: Said, there: Said) -> list[Row]:
    """What was computed here and there, by the same models of the same questions."""
    name = f"without AVX-512 (llama.cpp {there['variant']} beside {here['variant']})"
    rows = [
        at_least(f"{name}: {what}, smallest cosine", _cosine(here[key], there[key]), "", _COSINE)
        for key, what in (("texts", "vectors of texts"), ("pictures", "vectors of pictures"))
    ]
    for key, what in (("tags", "tags"), ("plans", "plans"), ("written", "answers")):
        if here[key]:
            same = [one == other for one, other in zip(here[key], there[key], strict=True)]
            rows.append(at_least(f"{name}: equal {what}, of {len(same)}", 100 * sum(same) / len(same), "%", 100))
    return rows


def _asked(setup: Setup, facts: Sequence[Fact]) -> dict[str, Any]:
    """Questions and photographs, as `bench.everyday.computed` takes them."""
    bundle = Bundle.load(setup.bundle, hashes=False)
    generator = bundle.roles.generator
    if generator is None:
        raise SystemExit(f"{setup.bundle}: it has no generator; run `quizglass-export everyday bundle`")
    template = PromptTemplate.load(bundle.path(generator.prompts["answer"]))
    prompts = [template.render(pictures=0, **filled(_noted(fact))) for fact in facts]
    tokenizer = PromptTokenizer(write_checkpoint(setup.workdir) / "tokenizer.json")
    named = [questions(fact, held_out=True)[0] for fact in facts]
    every = [*named, *(pointing(fact, each) for fact, each in zip(facts, named, strict=True))]
    return {
        "texts": named,
        "plans": [filled({"question": each}) for each in every],
        "pictures": [str(asked_path(setup.workdir, each)) for each in EIGHT[: setup.count(len(EIGHT), 1)]],
        "prompts": [[[segment.kind.value, segment.text] for segment in prompt] for prompt in prompts],
        "generator": str(bundle.path(generator.model)),
        "stop": [tokenizer.token_id(each) for each in generator.stop],
        "tokens": _ANSWER,
    }


def _noted(fact: Fact) -> dict[str, Any]:
    """A question that points, and the note that its picture brings."""
    (named,) = questions(fact, held_out=True)
    (entry,) = told([fact])
    return {"question": pointing(fact, named), "seen": [f"{fact.thing}: {entry['text']}"]}


def _computed(setup: Setup, asked: Mapping[str, Any], way: Way) -> Said:
    """What a process says that is run in that way."""
    file = setup.folder / "parity-asked.json"
    file.write_text(json.dumps(asked))
    command = [
        *way.under,
        str(Path(sys.executable).resolve()),
        "-m",
        "bench.everyday.computed",
        str(setup.bundle),
        str(file),
    ]
    # The emulator is given Python itself, which does not find its virtual environment from there.
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths, **way.environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    said: Said = json.loads(done.stdout.splitlines()[-1])
    return said


def _built(setup: Setup) -> list[Row]:
    """What the build measured of text encoder and planner beside PyTorch."""
    checks = json.loads((setup.bundle / "parity.json").read_text())["checks"]
    named = {(each["role"], each["measure"]): each for each in checks}
    rows = []
    for role, measure, bar in (("text_encoder", "smallest cosine", _COSINE), ("planner", "equal labels", 0.99)):
        if (check := named.get((role, measure))) is not None:
            rows.append(at_least(f"exported beside PyTorch: {role}, {measure}", check["value"], "", bar))
    return rows


def _pictures(setup: Setup, here: Said) -> list[Row]:
    """Vectors and likeliest labels of the demo's photographs, by the published network in PyTorch."""
    size = Normalised(width=SIDE, height=SIDE, mean=(MEAN,) * 3, std=(STD,) * 3)
    paths = [asked_path(setup.workdir, each) for each in EIGHT[: len(here["pictures"])]]
    fitter = PictureFitter()
    given = torch.from_numpy(np.stack([channels(fitter.fit(read_picture(path), size), size) for path in paths]))
    weights = setup.workdir / IMAGE_ENCODER.folder / next(iter(IMAGE_ENCODER.files))
    labels = (setup.workdir / "imagenet-labels.txt").read_text().splitlines()
    with torch.no_grad():
        vectors = load(weights, EfficientNetLite0).eval()(given).numpy().tolist()
        first = [labels[int(row.argmax())] for row in load(weights, Classifier).eval()(given)]
    told_ = [(tags[0], name) for tags, name in zip(here["tags"], first, strict=True) if tags]
    rows = [
        at_least(
            "exported beside PyTorch: image_encoder, smallest cosine", _cosine(here["pictures"], vectors), "", _COSINE
        )
    ]
    if told_:
        same = 100 * sum(one == other for one, other in told_) / len(told_)
        rows.append(at_least(f"exported beside PyTorch: first label, of {len(told_)} told", same, "%", 100))
    return rows


def _greedy(setup: Setup, facts: Sequence[Fact]) -> Row:
    """The base's sentences, by transformers and by llama.cpp in float16."""
    checkpoint = write_checkpoint(setup.workdir)
    model = setup.folder / "generators" / "base-f16" / "generator.gguf"
    if not model.is_file():
        model.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkpoint / "tokenizer.json", model.parent)
        write_merged(gguf_file(setup.workdir), model, "f16")
    asks = [Ask("answer", _noted(fact)) for fact in facts]
    setup.say(f"{len(asks)} greedy texts of the base, by transformers and llama.cpp")
    options = ModelOptions.model_validate({"prompts": PROMPTS / "base", "device": "cpu"})
    reference = asked_model(str(checkpoint), options, {}).write(asks, _TOKENS)
    ours = GgufModel(model, PROMPTS / "base").write(asks, _TOKENS)
    same = [one.text == other.text for one, other in zip(ours, reference, strict=True)]
    name = f"exported beside PyTorch: equal greedy texts of up to {_TOKENS} tokens, of {len(same)}"
    return Row(name, 100 * sum(same) / len(same), "%", bar=">= 100", ok=all(same))


def _cosine(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    """The smallest of vectors in the same order."""
    one, other = (np.asarray(each, np.float64) for each in (ours, theirs))
    products = (one * other).sum(1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))
    return float(products.min())
