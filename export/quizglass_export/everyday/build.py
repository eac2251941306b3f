"""Builds the everyday bundle out of the fetched packages, with our own adapters where they are there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from quizglass_export.checkpoints.cross_encoder import write_checkpoint as write_reranker
from quizglass_export.code_digest import EXPORT, files_digest, modules, serving_modules
from quizglass_export.errors import ExportError
from quizglass_export.everyday.base import gguf_file, write_checkpoint
from quizglass_export.everyday.imagenet_labels import write_labels
from quizglass_export.everyday.quotes import QUOTE_ACCEPT, RERANK_ACCEPT
from quizglass_export.everyday.weights import IMAGE_ENCODER, TEXT_ENCODER, WEIGHTS, fetch_everything
from quizglass_export.gguf.merged import write_merged
from quizglass_export.written_graphs.efficientnet_lite import write_classifier, write_encoder

RECIPE = Path(__file__).with_name("bundle.toml")
PROMPTS = Path(__file__).with_name("prompts")
"""Templates for the base as it is and for the trained adapters, in `base` and `taught`."""
ADAPTERS = Path("models/everyday")
"""A folder for each of `TRAINED` with its PEFT adapter, in the repository."""
TRAINED = ("generator", "planner", "reranker")
_BUILDERS = (
    "assembly",
    "bundles",
    "checkpoints",
    "everyday",
    "gguf",
    "graphs",
    "onnx",
    "recipe",
    "roles",
    "written_graphs",
)
"""Folders of this package whose code makes a bundle: changed, they make another one, as do its own modules."""
KIND = "q8_0"
BUNDLE = "bundle"
_PLANNER = """
[roles.planner]
checkpoint = "smollm2-checkpoint"
adapters = ["planner-adapter"]
precision = "int8-weights"
max_tokens = 256
# Compared on general questions, of which it was taught none: INT8 moves a probability by 0.0204 in the mean.
accept.drift = 0.025
"""
_RERANKER = """
[roles.reranker]
checkpoint = "reranker-checkpoint"
precision = "int8-weights"
max_tokens = 128
"""
_QUOTES = f"""# Where there is a reranker, answers are the sentences of a note that it takes for answers.
thresholds.quote_accept = {QUOTE_ACCEPT}
thresholds.rerank_accept = {RERANK_ACCEPT}
evidence.answers = "quote"
"""


def adapter(name: str, adapters: Path = ADAPTERS) -> Path | None:
    """The folder of a trained part's adapter; None until it is trained."""
    folder = adapters / name
    return folder if (folder / "adapter_config.json").is_file() else None


def build_bundle(
    workdir: Path, *, adapters: Path = ADAPTERS, threads: int = 1, tell: Callable[[str], None] = lambda _: None
) -> Path:
    """Fetch, prepare and build; what is there and made of the same is not made again. Returns the bundle's folder.

    Raises:
        ExportError: a package cannot be had or is not what was pinned, or the bundle could not be built.
    """
    fetch_everything(workdir, tell=tell)
    key = _key(adapters)
    bundle, made_of = workdir / BUNDLE, workdir / "bundle.json"
    if (bundle / "manifest.json").is_file() and made_of.is_file() and json.loads(made_of.read_text()) == key:
        return bundle
    generator, planner, reranker = (adapter(name, adapters) for name in TRAINED)
    tell(f"Writing SmolLM2 as {KIND.upper()}, {'with its adapter' if generator else 'as it is: no adapter yet'}")
    # The file is Q4_1, which CPUs read prompts slowly in.
    adapted = () if generator is None else ((generator, 1.0),)
    write_merged(gguf_file(workdir), workdir / "generator.gguf", KIND, adapted, threads=threads)
    weights = workdir / IMAGE_ENCODER.folder / next(iter(IMAGE_ENCODER.files))
    write_encoder(weights, workdir / "efficientnet-lite0.onnx")
    write_classifier(weights, workdir / "efficientnet-lite0-classifier.onnx")
    write_labels(workdir, workdir / "imagenet-labels.txt")
    shutil.rmtree(workdir / "prompts", ignore_errors=True)
    shutil.copytree(PROMPTS / ("taught" if generator else "base"), workdir / "prompts")
    if planner is not None:
        write_checkpoint(workdir)
        shutil.copytree(planner, workdir / "planner-adapter", dirs_exist_ok=True)
        shutil.copy(PROMPTS / "taught" / "plan.jinja", workdir / "prompts")
    if reranker is not None:
        write_reranker(workdir / TEXT_ENCODER.folder, reranker, workdir / "reranker-checkpoint")
    recipe = workdir / RECIPE.name
    recipe.write_text(_recipe(planner=planner is not None, reranker=reranker is not None), encoding="utf-8")
    tell("Building the bundle")
    made_of.unlink(missing_ok=True)  # whoever is stopped before the new one is written must not have the old one's
    _run_build(recipe, bundle)
    made_of.write_text(json.dumps(key), encoding="utf-8")
    return bundle


def _recipe(*, planner: bool, reranker: bool) -> str:
    """The recipe, with the roles that are trained."""
    quotes = _QUOTES if reranker else ""
    roles = (_PLANNER if planner else "") + (_RERANKER if reranker else "")
    return quotes + RECIPE.read_text(encoding="utf-8") + roles


def _run_build(recipe: Path, out: Path) -> None:
    command = [*(sys.executable, "-m", "quizglass_export.cli", "build", "--recipe", str(recipe))]
    if subprocess.run([*command, "--out", str(out), "--replace"], check=False).returncode:  # noqa: S603  # our own command
        raise ExportError(f"{recipe}: the bundle could not be built; what is wrong stands above")


def _key(adapters: Path) -> dict[str, str]:
    """What a bundle is made of and by, by name and SHA-256: the same wherever this package and the adapters lie."""
    code = [*sorted(EXPORT.glob("*.py")), *modules(*(EXPORT / folder for folder in _BUILDERS)), *serving_modules()]
    key = {"code": files_digest(code)}
    for path in [RECIPE, *sorted(PROMPTS.rglob("*.jinja"))]:
        key[path.relative_to(EXPORT).as_posix()] = files_digest([path])
    for name in TRAINED:
        if folder := adapter(name, adapters):
            key[f"{name} adapter"] = files_digest(sorted(path for path in folder.iterdir() if path.is_file()))
    return key | {package.requirement: str(dict(package.files)) for package in WEIGHTS} | {"kind": KIND}
