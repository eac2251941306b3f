import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_bundle.fields import graphs
from quizglass_bundle.files import Bundle
from quizglass_server.errors import BundleError

PICTURE = {"width": 112, "height": 112, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}
FILES = {
    "planner/model.onnx": b"planner",
    "tokenizer/tokenizer.json": b"{}",
    "prompts/plan.jinja": b"{{ question }}",
    "parity.json": b"{}",
}


def document() -> dict[str, Any]:
    return {
        "format": 1,
        "name": "test",
        "version": "0",
        "roles": {
            "planner": {
                "engine": "onnx",
                "kind": "vl-scorer",
                "model": "planner/model.onnx",
                "tokenizer": "tokenizer/tokenizer.json",
                "prompt": "prompts/plan.jinja",
                "labels": [["none", " A"], ["both", " B"]],
                "picture": {**PICTURE, "patch": 14, "merge": 2, "temporal": 2},
                "image_token": "<|image_pad|>",
                "max_tokens": 64,
            }
        },
        "abstain": "I don't know",
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in FILES.items()
        },
        "parity": "parity.json",
        "provenance": {},
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    write(tmp_path, document())
    return tmp_path


def write(root: Path, content: Any) -> None:
    (root / "manifest.json").write_text(json.dumps(content), encoding="utf-8")


def test_an_intact_bundle_loads_and_hands_out_paths(root: Path) -> None:
    bundle = Bundle.load(root)
    assert bundle.roles.names() == ("planner",)
    planner = bundle.roles.planner
    assert planner is not None
    assert bundle.path(planner.model).read_bytes() == b"planner"
    assert bundle.sha256(planner.model) == hashlib.sha256(b"planner").hexdigest()
    assert planner.labels[1] == ("both", " B")
    assert bundle.manifest.thresholds.image_accept == 0.0


@pytest.mark.parametrize(("value", "loads"), [(0.0, True), (2.0, False)], ids=["changed nothing", "counted"])
def test_a_bundle_of_before_loads_unless_it_used_a_threshold_that_is_gone(
    root: Path, value: float, loads: bool
) -> None:
    write(root, document() | {"thresholds": {"image_accept": 0.5, "quote_likeness": value}})
    if loads:
        assert Bundle.load(root).manifest.thresholds.image_accept == 0.5
        return
    with pytest.raises(BundleError, match=r"thresholds\.quote_likeness: .*; build the bundle again"):
        Bundle.load(root)


def test_weights_beside_a_model_are_part_of_its_hash(root: Path) -> None:
    alone = Bundle.load(root).sha256("planner/model.onnx")
    content = document()
    hashes = set[str]()
    for weights in (b"one", b"two"):
        (root / "planner" / "model.onnx.data").write_bytes(weights)
        listed = {"sha256": hashlib.sha256(weights).hexdigest(), "bytes": len(weights)}
        content["files"]["planner/model.onnx.data"] = listed
        write(root, content)
        hashes.add(Bundle.load(root).sha256("planner/model.onnx"))
    assert len(hashes - {alone}) == 2


def test_the_digest_changes_with_any_file(root: Path) -> None:
    before = Bundle.load(root).digest
    changed = document()
    changed["files"]["parity.json"]["sha256"] = hashlib.sha256(b"[]").hexdigest()
    (root / "parity.json").write_bytes(b"[]")
    write(root, changed)
    assert Bundle.load(root).digest != before


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_flipped_bit_is_found_and_the_file_named(root: Path, name: str) -> None:
    path = root / name
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(BundleError, match=f"^{name}: SHA-256 differs from manifest.json: .*; copy it again$"):
        Bundle.load(root)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_file_is_named(root: Path, name: str) -> None:
    (root / name).unlink()
    with pytest.raises(BundleError, match=f"^{name}: listed in manifest.json but missing"):
        Bundle.load(root)


def test_a_directory_that_holds_no_manifest_is_told_where_to_look(root: Path) -> None:
    (root / "manifest.json").unlink()
    with pytest.raises(BundleError, match=r"manifest\.json is missing; give the directory that holds it, or copy"):
        Bundle.load(root)


def test_a_manifest_that_was_half_copied_is_to_be_copied_again(root: Path) -> None:
    path = root / "manifest.json"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BundleError, match=r"^manifest\.json: not valid JSON: .*; copy it again$"):
        Bundle.load(root)


def test_a_shortened_file_is_found_without_hashing(root: Path) -> None:
    (root / "planner/model.onnx").write_bytes(b"plan")
    with pytest.raises(BundleError, match=r"4 bytes, manifest.json says 7"):
        Bundle.load(root, hashes=False)


def test_a_bundle_that_may_not_be_read_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BundleError, match=r"x{300}: cannot be read"):
        Bundle.load(root / ("x" * 300))

    def forbidden(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(BundleError, match=r"manifest\.json: cannot be read: Permission denied; check the path"):
        Bundle.load(root)


def test_a_file_that_is_not_listed_is_refused(root: Path) -> None:
    (root / "planner/weights.bin").write_bytes(b"external data")
    with pytest.raises(BundleError, match=r"^planner/weights\.bin: not in manifest"):
        Bundle.load(root)


def test_links_are_refused_even_to_the_right_content(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "model"
    elsewhere.write_bytes(b"planner")
    (root / "planner/model.onnx").unlink()
    (root / "planner/model.onnx").symlink_to(elsewhere)
    with pytest.raises(BundleError, match=r"^planner/model\.onnx: a link"):
        Bundle.load(root)


def test_linked_directories_and_manifests_are_refused(root: Path) -> None:
    (root / "prompts").rename(root.parent / "away")
    (root / "prompts").symlink_to(root.parent / "away")
    with pytest.raises(BundleError, match=r"^prompts: a link"):
        Bundle.load(root)
    (root / "manifest.json").rename(root / "real.json")
    (root / "manifest.json").symlink_to(root / "real.json")
    with pytest.raises(BundleError, match=r"manifest\.json: not a plain file"):
        Bundle.load(root)


def test_a_pipe_in_place_of_a_file_is_refused_without_reading_it(root: Path) -> None:
    (root / "parity.json").unlink()
    os.mkfifo(root / "parity.json")
    with pytest.raises(BundleError, match="not a plain file"):
        Bundle.load(root)


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "planner/../../x", "./parity.json", "a\\b", "c:/x", "", "manifest.json"]
)
def test_names_that_leave_the_bundle_are_refused(root: Path, name: str) -> None:
    content = document()
    content["files"][name] = {"sha256": "0" * 64, "bytes": 1}
    write(root, content)
    with pytest.raises(BundleError, match=r"manifest\.json: files"):
        Bundle.load(root)


@pytest.mark.parametrize(
    ("key", "twice"),
    [
        ("abstain", '"abstain": "I don\'t know", "abstain": "Yes"'),
        ("max_tokens", '"max_tokens": 64, "max_tokens": 8'),
        ("bytes", '"bytes": 7, "bytes": 7'),
    ],
)
def test_a_key_that_is_there_twice_is_refused(root: Path, key: str, twice: str) -> None:
    content = json.dumps(document())
    once = twice.partition(", ")[0]
    assert once in content
    (root / "manifest.json").write_text(content.replace(once, twice, 1))
    with pytest.raises(BundleError, match=rf"^manifest\.json: not valid JSON: the key '{key}' is there twice"):
        Bundle.load(root)


@pytest.mark.parametrize("name", ["model.onnx.data", "model.onnx_data", "weights.bin"])
def test_weights_beside_a_graph_are_part_of_its_hash_whatever_they_are_called(root: Path, name: str) -> None:
    hashes, content = set(), document()
    for weights in (b"before", b"after", None):
        path = root / "planner" / name
        if weights is None:
            path.unlink()
            del content["files"][f"planner/{name}"]
        else:
            path.write_bytes(weights)
            entry = {"sha256": hashlib.sha256(weights).hexdigest(), "bytes": len(weights)}
            content["files"][f"planner/{name}"] = entry
        write(root, content)
        hashes.add(Bundle.load(root).sha256("planner/model.onnx"))
    assert len(hashes) == 3
    assert content["files"]["planner/model.onnx"]["sha256"] in hashes


def test_weights_of_another_graph_in_the_folder_are_no_part_of_a_hash(root: Path) -> None:
    content = document()
    for name in ("planner/other.onnx", "planner/other.onnx.data", "planner/notes.txt"):
        (root / name).write_bytes(b"x")
        content["files"][name] = {"sha256": hashlib.sha256(b"x").hexdigest(), "bytes": 1}
    write(root, content)
    assert Bundle.load(root).sha256("planner/model.onnx") == content["files"]["planner/model.onnx"]["sha256"]


def test_a_role_may_not_name_a_file_that_is_not_listed(root: Path) -> None:
    content = document()
    content["roles"]["planner"]["model"] = "planner/other.onnx"
    write(root, content)
    with pytest.raises(BundleError, match=r"roles\.planner\.model names 'planner/other\.onnx'"):
        Bundle.load(root)


def break_format(content: dict[str, Any]) -> None:
    content["format"] = 2


def break_spelling(content: dict[str, Any]) -> None:
    content["roles"]["planner"]["max_token"] = 3


def break_picture(content: dict[str, Any]) -> None:
    content["roles"]["planner"]["picture"]["width"] = 100


def break_deviation(content: dict[str, Any]) -> None:
    content["roles"]["planner"]["picture"]["std"] = [1, 0, 1]


def break_mean(content: dict[str, Any]) -> None:
    content["roles"]["planner"]["picture"]["mean"] = [0.5, float("nan"), 0.5]


def break_answers(content: dict[str, Any]) -> None:
    content["evidence"] = {"answers": "shorter"}


def break_threshold(content: dict[str, Any]) -> None:
    content["thresholds"] = {"image_accept": float("-inf")}


def break_kind(content: dict[str, Any]) -> None:
    content["roles"]["planner"]["kind"] = "cross-encoder"


def break_form(content: dict[str, Any]) -> None:
    content["roles"]["planner"]["kind"] = "text-scorer"  # which sees no pictures


def break_decider(content: dict[str, Any]) -> None:
    content["roles"]["deciders"] = {"linear": {**content["roles"]["planner"], "max_token": 1}}


def break_pairs(content: dict[str, Any]) -> None:
    files = {"model": "planner/model.onnx", "tokenizer": "planner/model.onnx"}
    content["roles"]["reranker"] = {"engine": "onnx", "kind": "cross-encoder", **files, "max_tokens": 0, "logits": 1}


def break_hash(content: dict[str, Any]) -> None:
    content["files"]["parity.json"]["sha256"] = "zz"


def break_language(content: dict[str, Any]) -> None:
    content["languages"] = ["en-GB"]


def break_languages(content: dict[str, Any]) -> None:
    content["languages"] = []


@pytest.mark.parametrize(("said", "languages"), [({}, ("en",)), ({"languages": ["de", "*"]}, ("de", "*"))])
def test_a_bundle_says_which_languages_it_answers_in(root: Path, said: Any, languages: tuple[str, ...]) -> None:
    write(root, document() | said)
    assert Bundle.load(root).manifest.languages == languages


@pytest.mark.parametrize(
    ("damage", "key"),
    [
        (break_format, "format"),
        (break_language, r"languages\.0"),
        (break_languages, "languages"),
        (break_spelling, r"roles\.planner\.max_token: this version knows no such key"),
        (break_picture, r"roles\.planner\.picture: .*multiples of 28"),
        (break_deviation, r"roles\.planner\.picture\.std"),
        (break_mean, r"roles\.planner\.picture\.mean\.1"),
        (break_threshold, r"thresholds\.image_accept"),
        (break_answers, r'top level: Value error, evidence\.answers: "shorter" needs thresholds\.quote_accept'),
        (break_kind, r"roles\.planner: .*cross-encoder"),
        (break_form, r"roles\.planner\.picture: this version knows no such key"),
        (break_decider, r"roles\.deciders\.linear\.max_token: this version knows no such key"),
        (break_pairs, r"roles\.reranker\.max_tokens: Input"),
        (break_hash, r"files\.parity\.json\.sha256"),
    ],
)
def test_a_wrong_manifest_names_the_key(root: Path, damage: Any, key: str) -> None:
    content = document()
    damage(content)
    write(root, content)
    with pytest.raises(BundleError, match=rf"manifest\.json: {key}"):
        Bundle.load(root)


@pytest.mark.parametrize("key", ["name", "abstain", "files"])
def test_half_a_character_is_one_clear_error(root: Path, key: str) -> None:
    content = document()
    content[key] = content["files"] | {"\ud800": content["files"]["parity.json"]} if key == "files" else "\ud800"
    write(root, content)
    with pytest.raises(BundleError, match=r"manifest\.json: not valid JSON"):
        Bundle.load(root)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"[" * 100_000, b'{"format": 1}'])
def test_a_damaged_manifest_is_one_clear_error(root: Path, content: bytes) -> None:
    (root / "manifest.json").write_bytes(content)
    with pytest.raises(BundleError, match=r"manifest\.json"):
        Bundle.load(root)


def test_a_directory_without_a_manifest_and_a_missing_one_are_distinguished(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"manifest.json is missing"):
        Bundle.load(tmp_path)
    with pytest.raises(BundleError, match="not a directory"):
        Bundle.load(tmp_path / "nowhere")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_a_bundle_or_a_bundle_error(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    root = tmp_path_factory.mktemp("any")
    write(root, content)
    with pytest.raises(BundleError):
        Bundle.load(root)


def grids(*given: dict[str, Any]) -> dict[str, Any]:
    """The document with further picture sizes for the planner."""
    content = document()
    content["roles"]["planner"]["grids"] = list(given)
    return content


def test_further_picture_sizes_have_a_graph_each_and_share_all_else(root: Path) -> None:
    write(root, grids({"width": 168, "height": 84, "model": "planner/model.onnx"}))
    planner = Bundle.load(root).roles.planner
    assert planner is not None
    sizes = [(picture.width, picture.height, picture.mean, name) for picture, name in graphs(planner)]
    mean = (0.5, 0.5, 0.5)
    assert sizes == [(112, 112, mean, "planner/model.onnx"), (168, 84, mean, "planner/model.onnx")]


@pytest.mark.parametrize(
    ("grid", "reason"),
    [
        ({"width": 112, "height": 112, "model": "planner/model.onnx"}, r"grids\.0: the size 112 x 112 is there"),
        ({"width": 100, "height": 84, "model": "planner/model.onnx"}, r"grids\.0: .*must be multiples of 28"),
        ({"width": 168, "height": 84, "model": "planner/wide.onnx"}, r"roles\.planner\.grids\.0\.model"),
        ({"width": 168, "height": 84}, r"roles\.planner\.grids\.0\.model: Field required"),
    ],
)
def test_a_picture_size_that_cannot_be_served_is_named(root: Path, grid: dict[str, Any], reason: str) -> None:
    write(root, grids(grid))
    with pytest.raises(BundleError, match=reason):
        Bundle.load(root)


GENERATOR = {
    "engine": "llama",
    "kind": "generator",
    "model": "planner/model.onnx",
    "prompts": {"answer": "prompts/plan.jinja", "rewrite": "prompts/plan.jinja"},
    "stop": ["."],
    "context": 64,
    "max_new_tokens": 8,
}


def test_a_generator_of_text_alone_has_neither_projector_nor_picture(root: Path) -> None:
    content = document()
    content["roles"]["generator"] = GENERATOR
    write(root, content)
    assert Bundle.load(root).roles.generator.projector is None
    content["roles"]["generator"] = GENERATOR | {"picture": {"width": 28, "height": 28}}
    write(root, content)
    with pytest.raises(BundleError, match=r"roles\.generator: .*picture: a model without projector reads text alone"):
        Bundle.load(root)
