import io
import json
import shutil
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

pytest.importorskip("torch")

from quizglass_export.assembly import command, estimate
from quizglass_export.assembly.estimate import Estimate, check_room
from quizglass_export.assembly.work import digest_of, open_work
from quizglass_export.checkpoints.files import read_json, tensor_sizes
from quizglass_export.directory import check_free, place
from quizglass_export.errors import ExportError
from quizglass_export.recipe.read import read_recipe

HEAD = 'format = 1\nname = "n"\nversion = "1"\n'


def recipe(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bundle.toml"
    path.write_text(text)
    return path


def test_a_recipe_has_defaults_for_all_but_checkpoints(tmp_path: Path) -> None:
    text = HEAD + '[roles.planner]\ncheckpoint = "base"\nadapters = ["a", {path = "b", weight = 0.5}]\n'
    file = read_recipe(recipe(tmp_path, text))
    planner = file.recipe.roles.planner
    assert planner is not None
    assert [(str(each.path), each.weight) for each in planner.adapters] == [("a", 1.0), ("b", 0.5)]
    assert [name for name, _ in planner.labels] == ["none", "image", "text", "both"]
    assert file.path(planner.checkpoint) == tmp_path / "base"


def test_a_recipe_names_speech_servers_by_their_addresses(tmp_path: Path) -> None:
    text = HEAD + '[roles.hearing]\naddress = "unix:///run/whisper.sock"\n'
    roles = read_recipe(recipe(tmp_path, text)).recipe.roles
    assert roles.named() == ("hearing",)
    assert roles.spec("hearing").address == "unix:///run/whisper.sock"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = 1\nname = x y\n", r"bundle\.toml: not valid TOML: .*line 2"),
        (HEAD, r"bundle\.toml: roles: Field required"),
        (HEAD + "[roles]\n", "roles: name at least one of planner, tool_router"),
        (HEAD + "prompts = 3\n[roles.reader]\n", r"bundle\.toml: prompts: Input is not a valid path"),
        (HEAD + '[roles.deciders.Act]\ncheckpoint = "x"\n', r"roles\.deciders\.Act\.labels: Field required"),
        (HEAD + '[roles.reader]\nengine = "rapidocr"\nlanguage = "en"\n', r"roles\.reader\.language: unknown key"),
        (
            HEAD + "[roles.reader]\n[samples]\ncount = 1\n",
            r"samples\.count: Input should be greater than or equal to 2",
        ),
        (HEAD.replace("1\n", "2\n", 1) + "[roles.reader]\n", "format: Input should be 1"),
        (HEAD + '[roles.image_encoder]\ncheckpoint = "x"\nprecision = "fp8"\n', r"roles\.image_encoder\.precision: "),
        (
            HEAD + '[roles.tagger]\ncheckpoint = "x"\nprecision = "quickest"\n',
            r"roles\.tagger\.precision: Input should be 'fp32'",
        ),
        (
            HEAD
            + '[roles.text_encoder]\nmodel = "x"\ntokenizer = "t"\ndimension = 4\nmax_tokens = 8\n'
            + 'precision = "quickest"\n',
            r"roles\.text_encoder\.precision: ",
        ),
        (HEAD + "[roles.reader]\n[quickest]\nseconds = 0\n", r"quickest\.seconds: Input should be greater than 0"),
        (
            HEAD + '[roles.planner]\ncheckpoint = "x"\nadapters = [{path = "a", weight = 0}]\n',
            r"roles\.planner\.adapters\.0\.weight: must be a number other than 0",
        ),
        (
            HEAD + '[roles.voice]\naddress = "tcp://voice.example.org:1"\n',
            r"roles\.voice\.address: .*a server of its own machine",
        ),
        (HEAD + "[roles.generator]\n", r"roles\.generator: give either checkpoint, or model with its projector"),
        (HEAD + '[roles.generator]\nprojector = "v.gguf"\n', r"roles\.generator: projector: goes with model"),
        (HEAD + '[roles.planner]\ncheckpoint = "x"\nlabels = [["a", "b"]]\n', r"roles\.planner\.labels: .*at least 2"),
        (
            HEAD + '[roles.planner]\ncheckpoint = "x"\nprompt = "../../plan"\n',
            r"roles\.planner\.prompt: '\.\./\.\./plan' must be the name of a template",
        ),
        (
            HEAD + '[roles.generator]\ncheckpoint = "x"\nprompts = { answer = "/tmp/answer" }\n',
            r"roles\.generator\.prompts\.answer: '/tmp/answer' must be the name of a template",
        ),
    ],
)
def test_a_wrong_recipe_names_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        read_recipe(recipe(tmp_path, text))


def test_a_recipe_that_is_not_there_or_not_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"bundle\.toml: cannot be read: No such file"):
        read_recipe(tmp_path / "bundle.toml")
    (tmp_path / "bundle.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ExportError, match="not valid TOML"):
        read_recipe(tmp_path / "bundle.toml")


def test_a_finished_step_is_reused_and_a_changed_or_damaged_one_is_made_again(tmp_path: Path) -> None:
    made = []

    def make(folder: Path) -> dict[str, int]:
        made.append(len(made))
        (folder / "model").write_text("weights")
        return {"count": len(made)}

    with open_work(tmp_path / "work") as work:
        first = work.step("planner", {"a": 1}, make)
        assert (first.result, first.reused) == ({"count": 1}, False)
    with open_work(tmp_path / "work") as work:
        again = work.step("planner", {"a": 1}, make)
        assert (again.result, again.reused) == ({"count": 1}, True)
        assert [path.name for path in again.files()] == ["model"]
        assert work.step("planner", {"a": 2}, make).result == {"count": 2}
        (again.folder / "model").write_text("weig")
        assert work.step("planner", {"a": 2}, make).result == {"count": 3}
        (again.folder / "model").write_text("WEIGHTS")  # of the same size, as by a bundle that links the file
        assert work.step("planner", {"a": 2}, make).result == {"count": 4}
        (again.folder / "stray").touch()
        assert work.step("planner", {"a": 2}, make).result == {"count": 5}
        last = work.step("planner", {"a": 2}, make)
        assert (last.reused, last.digests) == (True, {"model": sha256(b"weights").hexdigest()})


def test_a_new_bundle_has_models_as_links_and_texts_of_its_own(tmp_path: Path) -> None:
    for name in ("model.onnx", "plan.jinja"):
        (tmp_path / name).write_text(name)
        place(tmp_path / name, tmp_path / "new" / name)
    (tmp_path / "new" / "plan.jinja").write_text("another")
    assert (tmp_path / "plan.jinja").read_text() == "plan.jinja"
    assert (tmp_path / "new" / "model.onnx").samefile(tmp_path / "model.onnx")


def test_an_interrupted_step_leaves_nothing_and_the_others_stay(tmp_path: Path) -> None:
    def stop(folder: Path) -> dict[str, int]:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    with open_work(tmp_path / "work") as work:
        work.step("first", {}, lambda folder: {})
        with pytest.raises(KeyboardInterrupt):
            work.step("second", {}, stop)
    (tmp_path / "work" / ".third.new").mkdir()  # as `kill -9` leaves it
    with open_work(tmp_path / "work") as work:
        assert {path.name for path in work.folder.iterdir() if path.is_dir()} == {"first"}
        assert work.step("first", {}, stop).reused


def test_a_work_directory_is_for_one_build_at_a_time_and_for_nothing_else(tmp_path: Path) -> None:
    with (
        open_work(tmp_path / "work"),
        pytest.raises(ExportError, match="in use by another build"),
        open_work(tmp_path / "work"),
    ):
        pass
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(ExportError, match="not a work directory"), open_work(tmp_path / "photos"):
        pass


def test_digests_are_remembered_until_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_text("a")
    with open_work(tmp_path / "work") as work:
        first = work.digest(file)
    (tmp_path / "work" / "digests.json").write_text('{"x": 1}')  # damaged: forgotten, not trusted
    with open_work(tmp_path / "work") as work:
        assert work.digest(file) == first
        file.write_text("bb")
        assert work.digest(file) != first
        with pytest.raises(ExportError, match="gone: cannot be read"):
            work.digest(tmp_path / "gone")


@given(st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.none(), st.lists(st.floats(allow_nan=False)))))
def test_fingerprints_do_not_depend_on_the_order_of_keys(value: dict[str, object]) -> None:
    assert digest_of(value) == digest_of(dict(reversed(value.items())))


@given(st.binary(max_size=64))
def test_a_header_of_any_bytes_is_read_or_refused(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        with pytest.raises(ExportError, match=r"model\.safetensors: not a readable safetensors file"):
            tensor_sizes(path)


def test_files_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    deep = b'{"w": ' + b"[" * 100_000
    (tmp_path / "m.safetensors").write_bytes(len(deep).to_bytes(8, "little") + deep)
    (tmp_path / "config.json").write_bytes(deep)
    with pytest.raises(ExportError, match=r"m\.safetensors: not a readable safetensors file"):
        tensor_sizes(tmp_path / "m.safetensors")
    with pytest.raises(ExportError, match=r"config\.json: not readable JSON"):
        read_json(tmp_path / "config.json")


def test_tensor_sizes_come_from_the_header_alone(tmp_path: Path) -> None:
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "F32", "shape": [3, 5], "data_offsets": [0, 60]}}).encode()
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert tensor_sizes(tmp_path / "m.safetensors") == [15]


@pytest.mark.parametrize("missing", [0, 1])
def test_room_is_counted_to_the_byte_before_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    needs = [Estimate("planner", 1, 1, 3000, 500, 1), Estimate("reranker", 1, 1, 2000, 900, 1)]
    room = 3000 + 2000 + 900 - missing  # every result, and the largest scratch once
    asked = []

    def usage(place: Path) -> SimpleNamespace:
        asked.append(place)
        return SimpleNamespace(free=room)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(ExportError, match="GB free, the build needs about") if missing else nullcontext():
        check_room(needs, tmp_path / "not" / "there", tmp_path / "bundle")
    assert asked == [tmp_path]


def test_what_finished_steps_hold_needs_no_room_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = [Estimate("planner", 1, 1, 3000, 500, 1)]

    def make(folder: Path) -> dict[str, int]:
        (folder / "model").write_bytes(bytes(3000))
        return {}

    with open_work(tmp_path / "work") as work:
        work.step("planner", {}, make)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=500))
    check_room(needs, tmp_path / "work", tmp_path / "bundle")
    with pytest.raises(ExportError, match="the build needs about"):
        check_room(needs, tmp_path / "another", tmp_path / "bundle")


def test_only_what_the_command_wrote_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "photographs"
    check_free(out, replace=True)
    out.mkdir()
    check_free(out, replace=True)
    (out / "cat.jpg").touch()
    with pytest.raises(ExportError, match=r"photographs: holds no manifest\.json, so --replace would remove something"):
        check_free(out, replace=True)
    (out / "manifest.json").touch()
    check_free(out, replace=True)
    with pytest.raises(ExportError, match="already exists; choose another directory, or pass --replace"):
        check_free(out, replace=False)


@pytest.mark.parametrize("missing", [0, 1])
def test_a_bundle_on_another_file_system_than_its_work_needs_room_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    needs = [Estimate("planner", 1, 1, 3000, 500, 1), Estimate("reranker", 1, 1, 2000, 900, 1)]
    work, out = tmp_path / "work", tmp_path / "out"
    out.mkdir()
    work.mkdir()
    free = {work: 5900, out: 5000 - missing}
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=free[place]))
    monkeypatch.setattr(estimate, "_device", [work, out].index)
    with pytest.raises(ExportError, match=rf"^{out}: .* the build needs about") if missing else nullcontext():
        check_room(needs, work / "planner", out / "bundle")


def test_estimates_of_large_models_fit_a_terminal_uncut() -> None:
    roles = ("image_encoder", "coarse_reranker", "deciders.select_by_text")
    sizes = (7_545_500_000, 3_754_000_000, 1_797_000_000, 15_552_000_000, 12_066_000_000)
    printed = io.StringIO()
    Console(file=printed, width=80).print(command.estimates_table([Estimate(role, *sizes) for role in roles]))
    lines = [line.split(maxsplit=1) for line in printed.getvalue().splitlines()[2:]]
    assert lines == [[role, "3.75 G     7.55 GB  1.80 GB  15.6 GB  12.1 GB"] for role in roles]
