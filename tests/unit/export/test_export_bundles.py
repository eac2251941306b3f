import json
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import gguf
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, external_data_helper, helper, numpy_helper

pytest.importorskip("torch")

from quizglass_bundle.files import Bundle
from quizglass_export import cli
from quizglass_export.bundles.change import add_roles, repack
from quizglass_export.bundles.difference import compare
from quizglass_export.bundles.inspect import describe
from quizglass_export.bundles.onnx_graph import read_onnx, summarise
from quizglass_export.bundles.verify import verification
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.bundles.tiny_models import write_generator


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle.load(write_bundle(tmp_path_factory.mktemp("bundles") / "tiny"))


def test_inspect_says_what_is_inside_and_what_would_run_it(bundle: Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    found = describe(bundle)
    assert list(found["roles"]) == ["planner", "reranker", "image_encoder", "text_encoder", "generator"]
    planner = found["roles"]["planner"]
    assert (planner["precision"], planner["runs_on"][-1]) == ("fp32", "cpu")
    assert planner["files"] == ["planner/model.onnx", "prompts/plan.jinja", "tokenizer/tokenizer.json"]
    assert planner["model"]["inputs"]["input_ids"] == ["b", "s"]
    generator = found["roles"]["generator"]
    assert (generator["model"]["architecture"], generator["model"]["context"]) == ("qwen2vl", 512)
    assert generator["model"]["parameters"] > 10_000
    assert cli.main(["inspect", str(bundle.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == bundle.digest
    assert cli.main(["inspect", str(bundle.root)]) == 0
    assert "text-encoder" in capsys.readouterr().out


def test_names_are_printed_as_they_are(bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("guide [beta]", "guide [/]"):
        made = repack(bundle, tmp_path / name.replace("/", ""), settings={"name": name})
        assert cli.main(["inspect", str(made.root)]) == 0
        assert f"{name} {bundle.manifest.version}, format 1" in capsys.readouterr().out


def test_a_stopped_command_says_so_in_one_line(
    bundle: Bundle, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(found: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quizglass_export.bundles.inspect.describe", stop)
    assert cli.main(["inspect", str(bundle.root)]) == 130
    assert capsys.readouterr().err == "quizglass-export inspect: stopped; nothing was written\n"


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("inspect {bundle}", "torch transformers"),
        ("verify {bundle}", "torch transformers"),
        ("diff {bundle} {bundle}", "torch transformers onnx onnxruntime"),
        ("repack {bundle} --drop reranker --out {out}", "torch transformers onnxruntime"),
    ],
)
def test_commands_load_nothing_heavy_that_they_do_not_need(
    bundle: Bundle, tmp_path: Path, command: str, unneeded: str
) -> None:
    arguments = command.format(bundle=bundle.root, out=tmp_path / "out").split()
    code = f"import sys; from quizglass_export.cli import main; assert main({arguments}) == 0; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(unneeded.split()).isdisjoint(done.stdout.splitlines()[-1].split())


def test_verify_looks_into_models_and_names_the_first_thing_that_is_wrong(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verification(bundle.root, None)["models"] == [
        n for n in bundle.manifest.files if n.endswith(("onnx", "gguf"))
    ]
    root = write_bundle(tmp_path / "copy", ("reranker",))
    (root / "reranker" / "model.onnx").write_bytes(b"x" * bundle.manifest.files["reranker/model.onnx"].bytes)
    assert cli.main(["verify", str(root)]) == 2
    assert "reranker/model.onnx: SHA-256 differs" in capsys.readouterr().err


def test_diff_names_settings_files_and_lines(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diff", str(bundle.root), str(bundle.root)]) == 0
    made = repack(bundle, tmp_path / "b", settings={"version": "2", "thresholds.image_accept": 0.5})
    found = compare(bundle, made)
    assert [(each["key"], each["second"]) for each in found["settings"]] == [
        ("thresholds.image_accept", 0.5),
        ("version", "2"),
    ]
    root = write_bundle(tmp_path / "c")
    (root / "prompts" / "plan.jinja").write_text("another {{ question }}")
    changed = json.loads((root / "manifest.json").read_text())
    from hashlib import sha256

    content = (root / "prompts" / "plan.jinja").read_bytes()
    changed["files"]["prompts/plan.jinja"] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (root / "manifest.json").write_text(json.dumps(changed))
    assert cli.main(["diff", str(bundle.root), str(root)]) == 1
    assert "+another {{ question }}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["inspect {bundle}", "repack {bundle} --out {out}"])
@pytest.mark.parametrize(
    ("parity", "key"),
    [
        ('{"checks": 5}', "checks: "),
        ('{"checks": [5]}', "checks.0: "),
        ('{"checks": [{"role": "planner"}]}', "checks.0.measure: "),
        ('{"samples": ["a"]}', "samples: "),
        ('{"compared": {"planner/model.onnx": 1}}', "compared.planner/model.onnx: "),
        ("[" * 100_000, "not readable JSON"),
    ],
)
def test_a_report_that_another_program_wrote_otherwise_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, parity: str, key: str
) -> None:
    root = write_bundle(tmp_path / "tiny", ("planner",))
    (root / "parity.json").write_text(parity)
    _seal(root)
    assert cli.main(command.format(bundle=root, out=tmp_path / "out").split()) == 2
    told = capsys.readouterr().err.replace("\n", "")
    assert ("parity.json: " in told, key in told) == (True, True)
    assert not (tmp_path / "out").exists()


def test_repack_leaves_out_what_only_the_dropped_role_needs(bundle: Bundle, tmp_path: Path) -> None:
    made = repack(bundle, tmp_path / "small", drop=["generator", "text_encoder"])
    assert made.roles.names() == ("planner", "reranker", "image_encoder")
    assert not [name for name in made.manifest.files if name.startswith(("generator", "text_encoder"))]
    assert "prompts/answer.jinja" not in made.manifest.files
    assert "tokenizer/tokenizer.json" in made.manifest.files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--drop", "reader"], "--drop reader: the bundle has planner"),
        (["--set", "version"], "--set version: must be KEY=VALUE"),
        (["--set", "files.x=1"], r"--set files.x: no such setting"),
        (["--set", "provenance={}"], "--set provenance: no such setting"),
        (["--set", "parity=mine.json"], "--set parity: no such setting"),
        (["--set", "thresholds.image_acept=1"], "thresholds.image_acept: Extra inputs"),
        (["--set", "evidence.seen=0"], "evidence.seen: Input should be greater"),
    ],
)
def test_a_wrong_repack_names_what_is_wrong_and_leaves_nothing(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.main(["repack", str(bundle.root), "--out", str(tmp_path / "o" / "b"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "o").glob("*"))


def test_a_setting_of_a_role_that_a_server_would_refuse_is_not_written(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    change = ["--set", "roles.text_encoder.dimension=7"]
    assert cli.main(["repack", str(bundle.root), "--out", str(out), *change]) == 2
    assert "text_encoder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_roles_of_one_bundle_join_another(bundle: Bundle, tmp_path: Path) -> None:
    base = repack(bundle, tmp_path / "base", drop=["reranker", "text_encoder"])
    other = write_bundle(tmp_path / "other", ("reranker",))
    tokenizer = other / "tokenizer" / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    _seal(other)
    made = add_roles(base, Bundle.load(other), tmp_path / "made")
    assert made.roles.names() == ("planner", "reranker", "image_encoder", "generator")
    assert made.roles.reranker.tokenizer == "reranker/tokenizer.json"  # the shared name was taken by another file
    assert made.path(made.roles.reranker.tokenizer).read_text() == tokenizer.read_text()
    assert "reranker" in made.manifest.provenance["added"]
    with pytest.raises(ExportError, match=r"roles\.reranker: already in .*--replace-role"):
        add_roles(made, Bundle.load(other), tmp_path / "again")
    assert add_roles(made, Bundle.load(other), tmp_path / "again", replace_roles=True).roles == made.roles


def test_an_added_role_never_gets_the_tokenizer_of_one_that_stays(bundle: Bundle, tmp_path: Path) -> None:
    """`reranker/tokenizer.json` is the planner's too, and stays with it when the reranker is replaced."""
    base = _with_tokenizers(bundle, tmp_path / "base")
    other = write_bundle(tmp_path / "other", ("reranker",))
    tokenizer = other / "tokenizer" / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    _seal(other)
    made = add_roles(base, Bundle.load(other), tmp_path / "made", replace_roles=True)
    assert made.path(made.roles.reranker.tokenizer).read_text() == tokenizer.read_text()
    for role in ("planner", "text_encoder"):
        name = getattr(base.roles, role).tokenizer
        assert getattr(made.roles, role).tokenizer == name
        assert made.path(name).read_bytes() == base.path(name).read_bytes()


def test_a_graph_that_a_role_that_stays_shares_is_not_replaced(bundle: Bundle, tmp_path: Path) -> None:
    base, other = repack(bundle, tmp_path / "base").root, write_bundle(tmp_path / "other", ("planner",))
    manifest = json.loads((base / "manifest.json").read_text())
    manifest["roles"]["deciders"] = {"act": manifest["roles"]["planner"]}
    (base / "manifest.json").write_text(json.dumps(manifest))
    model = onnx.load(str(other / "planner" / "model.onnx"))
    model.doc_string = "trained further"
    onnx.save(model, str(other / "planner" / "model.onnx"))
    _seal(other)
    with pytest.raises(ExportError, match=r"planner/model\.onnx: differs in .*, and roles\.deciders\.act, which stays"):
        add_roles(Bundle.load(base), Bundle.load(other), tmp_path / "made", replace_roles=True)


def _with_tokenizers(bundle: Bundle, root: Path) -> Bundle:
    """The bundle with the text encoder's tokenizer under the name that its planner and reranker had for theirs."""
    repack(bundle, root)
    manifest = json.loads((root / "manifest.json").read_text())
    roles = manifest["roles"]
    (root / "reranker").mkdir(exist_ok=True)
    (root / roles["planner"]["tokenizer"]).rename(root / "reranker" / "tokenizer.json")
    (root / roles["text_encoder"]["tokenizer"]).rename(root / roles["planner"]["tokenizer"])
    del manifest["files"][roles["text_encoder"]["tokenizer"]]
    roles["text_encoder"]["tokenizer"] = roles["planner"]["tokenizer"]
    for role in ("planner", "reranker"):
        roles[role]["tokenizer"] = "reranker/tokenizer.json"
    manifest["files"]["reranker/tokenizer.json"] = {}
    (root / "manifest.json").write_text(json.dumps(manifest))
    _seal(root)
    return Bundle.load(root)


def test_added_roles_may_share_files_that_the_kept_ones_do_not_have(bundle: Bundle, tmp_path: Path) -> None:
    shared = {"roles.generator.prompts.plan": bundle.roles.planner.prompt}
    base = repack(bundle, tmp_path / "base", settings=shared)
    encoders = repack(base, tmp_path / "encoders", drop=["planner", "reranker", "generator"])
    others = repack(base, tmp_path / "others", drop=["reranker", "image_encoder", "text_encoder"])
    for name in ("tokenizer/tokenizer.json", bundle.roles.planner.prompt):
        text = others.path(name).read_text()
        others.path(name).unlink()  # it is a link to the file in `base`
        others.path(name).write_text(text + "\n")
    _seal(others.root)
    others = Bundle.load(others.root)
    for where, kept in (("added", encoders), ("replaced", repack(base, tmp_path / "less", drop=["reranker"]))):
        made = add_roles(kept, others, tmp_path / where, replace_roles=True)
        assert made.roles.planner.tokenizer == "tokenizer/tokenizer.json"
        assert made.roles.generator.prompts["plan"] == made.roles.planner.prompt
        assert made.path(made.roles.planner.prompt).read_bytes() == others.path(made.roles.planner.prompt).read_bytes()
    planner = repack(base, tmp_path / "planner", drop=["reranker", "image_encoder", "text_encoder", "generator"])
    with pytest.raises(ExportError, match=r"prompts/plan\.jinja: differs in .*generator and .*planner; give it"):
        add_roles(repack(others, tmp_path / "generator", drop=["planner"]), planner, tmp_path / "no")


def _seal(root: Path) -> None:
    from hashlib import sha256

    manifest = json.loads((root / "manifest.json").read_text())
    for name in manifest["files"]:
        content = (root / name).read_bytes()
        manifest["files"][name] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (root / "manifest.json").write_text(json.dumps(manifest))


def external_model(folder: Path) -> Path:
    weight = numpy_helper.from_array(np.arange(64, dtype=np.float32).reshape(8, 8), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["b", 8]) for name in ("x", "y")]
    model = helper.make_model(helper.make_graph([node], "g", sides[:1], sides[1:], [weight]))
    external_data_helper.convert_model_to_external_data(model, location="model.data", size_threshold=0)
    onnx.save(model, str(folder / "model.onnx"))
    return folder / "model.onnx"


def test_external_weights_beside_the_model_are_seen(tmp_path: Path) -> None:
    found = summarise(external_model(tmp_path))
    assert (found.external, found.weights, found.precision) == (("model.data",), {"float": 256}, "fp32")


@pytest.mark.parametrize(
    ("kind", "size"),
    [("DOUBLE", 56), ("INT4", 4), ("UINT4", 4), ("INT2", 2), ("UINT16", 14), ("BOOL", 7), ("FLOAT8E4M3FN", 7)],
)
def test_weights_of_every_type_are_counted_in_bytes(tmp_path: Path, kind: str, size: int) -> None:
    model = onnx.load(str(external_model(tmp_path)))
    model.graph.initializer.add(name="more", data_type=getattr(TensorProto, kind), dims=[7], raw_data=bytes(size))
    onnx.save(model, str(tmp_path / "model.onnx"))
    assert summarise(tmp_path / "model.onnx").weights == {"float": 256, kind.lower(): size}


@pytest.mark.parametrize("kind", [0, 99])
def test_weights_of_no_known_type_are_named(tmp_path: Path, kind: int) -> None:
    model = onnx.load(str(external_model(tmp_path)))
    model.graph.initializer.add(name="more", data_type=kind, dims=[7])
    onnx.save(model, str(tmp_path / "model.onnx"))
    with pytest.raises(ExportError, match=rf"model\.onnx: more: data_type is {kind}, which is not known"):
        summarise(tmp_path / "model.onnx")


def test_words_in_a_model_count_their_letters(tmp_path: Path) -> None:
    model = onnx.load(str(external_model(tmp_path)))
    model.graph.initializer.add(name="words", data_type=TensorProto.STRING, dims=[2], string_data=[b"one", b"three"])
    onnx.save(model, str(tmp_path / "model.onnx"))
    assert summarise(tmp_path / "model.onnx").weights == {"float": 256, "string": 8}


@pytest.mark.parametrize(
    ("location", "length", "message"),
    [
        ("../secret", "256", r"w: external data at '\.\./secret'; it must lie beside the model"),
        ("/etc/passwd", "256", "must lie beside the model"),
        ("gone.data", "256", "'gone.data' is missing or a link"),
        ("link.data", "256", "'link.data' is missing or a link"),
        ("model.data", "999", "999 bytes at 0 is outside model.data, which has 256"),
        ("model.data", "-3", "is outside"),
        ("model.data", "many", "has no numbers"),
    ],
)
def test_external_weights_elsewhere_are_refused(tmp_path: Path, location: str, length: str, message: str) -> None:
    path = external_model(tmp_path)
    (tmp_path / "link.data").symlink_to(tmp_path / "model.data")
    model = onnx.load(str(path), load_external_data=False)
    tensor = model.graph.initializer[0]
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", "0"), ("length", length)):
        tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ExportError, match=message):
        read_onnx(path)


@pytest.mark.parametrize("place", ["subgraph", "function", "attribute", "sparse", "sparse attribute"])
def test_external_weights_are_found_wherever_a_model_has_them(tmp_path: Path, place: str) -> None:
    path = external_model(tmp_path)
    model = onnx.load(str(path), load_external_data=False)
    tensor = TensorProto(name="hidden", data_type=TensorProto.FLOAT, dims=[8], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "../secret"), ("length", "32")):
        tensor.external_data.add(key=key, value=value)
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    if place == "subgraph":
        inner = helper.make_graph([constant], "inner", [], [])
        model.graph.node.append(helper.make_node("If", ["x"], ["z"], then_branch=inner, else_branch=inner))
    elif place == "function":
        opset = helper.make_opsetid("", 18)
        model.functions.append(helper.make_function("own", "Hidden", [], ["c"], [constant], [opset]))
    elif place == "attribute":
        model.graph.node.append(constant)
    elif place == "sparse":
        model.graph.sparse_initializer.add(values=tensor)
    else:
        model.graph.node.add(op_type="Constant").attribute.add(name="sparse_value").sparse_tensor.values.CopyFrom(
            tensor
        )
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ExportError, match=r"hidden: external data at '\.\./secret'; it must lie beside the model"):
        read_onnx(path)


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\x00garbage")
    with pytest.raises(ExportError, match=r"m\.onnx: not a readable ONNX file"):
        read_onnx(tmp_path / "m.onnx")


@pytest.fixture(scope="module")
def gguf_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_generator(tmp_path_factory.mktemp("gguf")).model.read_bytes()


def test_a_header_agrees_with_the_gguf_packages_own_reader(tmp_path: Path, gguf_bytes: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes)
    found, known = read_gguf(path), gguf.GGUFReader(path)
    assert {name: list(each.shape) for name, each in found.tensors.items()} == {
        each.name: each.shape.tolist() for each in known.tensors
    }
    assert {name: each.bytes for name, each in found.tensors.items()} == {e.name: int(e.n_bytes) for e in known.tensors}
    for name in ("qwen2vl.rope.freq_base", "tokenizer.ggml.tokens", "qwen2vl.rope.dimension_sections"):
        assert found.metadata[name] == known.fields[name].contents()


def header(tensors: int = 1, keys: int = 0, shape: tuple[int, ...] = (4,), kind: int = 0, offset: int = 0) -> bytes:
    name = b"w"
    content = b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + struct.pack("<Q", len(name)) + name
    content += struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", size) for size in shape)
    content += struct.pack("<IQ", kind, offset)
    return content + bytes(-len(content) % 32) + bytes(16)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "beyond byte 0"),
        (b"GGML" + bytes(40), "does not begin with GGUF"),
        (b"GGUF" + struct.pack("<I", 9) + bytes(40), "version 9"),
        (header(tensors=1 << 40), "1099511627776 tensors; at most"),
        (header(tensors=2**64 - 1), "tensors; at most"),  # -1, read as what it is
        (header(keys=1 << 33), "keys; at most"),
        (header(shape=(2**64 - 4,)), "has the shape"),
        (header(shape=(1 << 33, 1 << 33)), "has the shape"),
        (header(shape=(0,)), "has the shape"),
        (header(shape=(1, 1, 1, 1, 1)), "has 5 axes"),
        (header(kind=8), r"has the shape \[4\]"),  # q8_0 counts in blocks of 32
        (header(kind=4000), "unknown type 4000"),
        (header(shape=(64,)), "ends at 320, the file at 80; copy it again"),
        (header(offset=7), "inside another or unaligned"),
        (header(offset=2**63), "the file at 80"),
    ],
)
def test_absurd_headers_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(ExportError, match=rf"m\.gguf: not a usable GGUF file: .*{message}"):
        read_gguf(path)


def test_arrays_are_bounded_together(tmp_path: Path) -> None:
    count = 5 << 20
    keys = b"".join(
        struct.pack("<Q", 1) + name + struct.pack("<IIQ", 9, 0, count) + bytes(count) for name in (b"a", b"b")
    )
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + keys)
    with pytest.raises(ExportError, match=rf"{count} items of b; at most {(1 << 23) - count} are read"):
        read_gguf(path)


@settings(max_examples=150, deadline=None)
@given(places=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=4), cut=st.integers(0, 40_000))
def test_damaged_headers_are_read_or_refused(
    gguf_bytes: bytes, places: list[tuple[int, int]], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(gguf_bytes[: len(gguf_bytes) - cut])
    for place, value in places:
        content[place] = value
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(content)
    with suppress(ExportError):
        read_gguf(path)
