"""Tensors of `.pth` files, read without PyTorch and without pickle: right values, and errors for everything else."""

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_export.errors import ExportError
from quizglass_export.written_graphs.pickled import read_pickled

torch = pytest.importorskip("torch")


def saved(state: Any) -> bytes:
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def read(content: bytes, folder: Path) -> dict[str, Any]:
    path = folder / "weights.pth"
    path.write_bytes(content)
    return read_pickled(path)


def rewritten(content: bytes, **changed: bytes | None) -> bytes:
    """The archive with other members; None: without it. Names have `_` for `.`."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            key = name.rpartition("/")[2].replace(".", "_")
            if key not in changed:
                new.writestr(name, old.read(name))
            elif (given := changed[key]) is not None:
                new.writestr(name, given)
    return made.getvalue()


STATE = {
    "linear.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "linear.bias": torch.tensor([0.5, -2.0]),
    "norm.num_batches_tracked": torch.tensor(7),
    "half": torch.tensor([1.5], dtype=torch.float16),
    "flags": torch.tensor([True, False]),
    "empty": torch.zeros(0, 3),
}


def test_a_state_dict_is_read_as_pytorch_reads_it(tmp_path: Path) -> None:
    found = read(saved(STATE), tmp_path)
    assert found.keys() == STATE.keys()
    for name, tensor in STATE.items():
        assert found[name].dtype == tensor.numpy().dtype
        np.testing.assert_array_equal(found[name], tensor.numpy())


def test_that_of_a_module_with_its_versions_is_read(tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    found = read(saved(module.state_dict()), tmp_path)
    for name, tensor in module.state_dict().items():
        np.testing.assert_array_equal(found[name], tensor.numpy())


def test_a_tensor_that_does_not_lie_row_by_row_is_read(tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[1:]
    np.testing.assert_array_equal(read(saved({"a": tensor}), tmp_path)["a"], tensor.numpy())


def test_tensors_that_share_a_storage_are_parts_of_it(tmp_path: Path) -> None:
    whole = torch.arange(10.0)
    found = read(saved({"whole": whole, "end": whole[6:]}), tmp_path)
    np.testing.assert_array_equal(found["end"], [6, 7, 8, 9])


class Evil:
    def __reduce__(self) -> Any:
        return print, ("run",)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ([torch.zeros(1)], "something else than a state dict"),
        ({"a": 1}, "something else than a state dict"),
        ({"a": torch.nn.Parameter(torch.zeros(1))}, "_rebuild_parameter"),
        ({"a": torch.zeros(1, dtype=torch.complex64)}, "ComplexFloatStorage"),
        (torch.nn.Linear(1, 1), "names"),
        ({"a": Evil()}, "print"),
    ],
)
def test_what_is_no_state_dict_of_plain_tensors_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], state: Any, said: str
) -> None:
    with pytest.raises(ExportError, match=said) as error:
        read(saved(state), tmp_path)
    assert str(error.value).startswith(str(tmp_path / "weights.pth"))
    assert capsys.readouterr().out == ""


def old(state: Any) -> bytes:
    """As torch.save wrote it before version 1.6."""
    file = io.BytesIO()
    torch.save(state, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def test_a_file_from_before_the_archives_is_read_as_pytorch_reads_it(tmp_path: Path) -> None:
    found = read(old(STATE), tmp_path)
    for name, tensor in STATE.items():
        np.testing.assert_array_equal(found[name], tensor.numpy())


def test_an_old_file_that_ends_early_or_has_other_numbers_is_refused(tmp_path: Path) -> None:
    content = old({"a": torch.zeros(2, 3)})
    with pytest.raises(ExportError, match="23 bytes, not 24"):
        read(content[:-1], tmp_path)
    with pytest.raises(ExportError, match="has 7 numbers, not 6"):
        read(content[:-32] + b"\x07" + content[-31:], tmp_path)
    with pytest.raises(ExportError, match="magic number"):
        read(b"\x80\x02K\x01.", tmp_path)
    with pytest.raises(ExportError, match="not read"):
        read(b"", tmp_path)


def test_a_tensor_beyond_its_storage_is_refused(tmp_path: Path) -> None:
    described = saved({"a": torch.zeros(4)})
    with zipfile.ZipFile(io.BytesIO(described)) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("data.pkl"))
        content = archive.read(name)
    # The shape (4,) follows the offset 0; the storage's own count is another number.
    larger = content.replace(b"K\x00K\x04\x85", b"K\x00K\x05\x85")
    assert larger != content
    with pytest.raises(ExportError, match="larger than its storage"):
        read(rewritten(described, data_pkl=larger), tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data_pkl": None}, "no data.pkl"),
        ({"byteorder": b"big"}, "little-endian"),
        ({"0": None}, "data/0 is missing"),
        ({"0": b"\x00" * 23}, "23 bytes, not 24"),
        ({"0": b"\x00" * 25}, "at most 24 are read"),
        ({"data_pkl": b"\x80\x02" + b"}" * (4 << 20)}, "at most 4,194,304"),
        ({"data_pkl": b"\x80\x02}"}, "damaged|no end"),
        ({"data_pkl": b"\x80\x02cos\nsystem\n."}, "names os.system"),
        ({"data_pkl": b"."}, "takes more than it gives"),
        ({"data_pkl": b"\x80\x02h\x05."}, "remembers"),
        ({"data_pkl": b"\x80\x02}Q."}, "something else than a storage"),
        ({"data_pkl": b"\x80\x02})R."}, "calls something else"),
        ({"data_pkl": b"\x80\x02)Nb."}, "fills something else"),
        ({"data_pkl": b"\x80\x02}NNs."}, "other keys than names"),
        ({"data_pkl": b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f."}, "damaged"),
    ],
)
def test_a_changed_archive_is_refused(tmp_path: Path, changes: dict[str, bytes | None], said: str) -> None:
    content = saved({"a": torch.zeros(2, 3)})
    with pytest.raises(ExportError, match=said):
        read(rewritten(content, **changes), tmp_path)


def test_a_far_place_of_the_memo_takes_no_memory(tmp_path: Path) -> None:
    content = rewritten(saved({"a": torch.zeros(1)}), data_pkl=b"\x80\x02}r\xff\xff\xff\xff.")
    assert read(content, tmp_path) == {}


def test_compressed_numbers_are_refused(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved({"a": torch.zeros(1000)}))) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name), zipfile.ZIP_DEFLATED)
    with pytest.raises(ExportError, match="compressed"):
        read(made.getvalue(), tmp_path)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_a_pickle_holds_it_is_read_or_refused(tmp_path_factory: Any, data: st.DataObject) -> None:
    content = saved({"a": torch.zeros(2, 3), "b": torch.tensor(7)})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("data.pkl"))
        pickle_bytes = bytearray(archive.read(name))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(pickle_bytes) - 1))
        pickle_bytes[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    folder = tmp_path_factory.mktemp("pickle")
    try:
        found = read(rewritten(content, data_pkl=bytes(pickle_bytes)), folder)
    except ExportError:
        return
    assert all(isinstance(each, np.ndarray) for each in found.values())


@settings(max_examples=200, deadline=None)
@given(save=st.sampled_from([saved, old]), at=st.integers(0, 2000), noise=st.binary(min_size=1, max_size=8))
def test_a_damaged_file_is_read_or_refused(tmp_path_factory: Any, save: Any, at: int, noise: bytes) -> None:
    content = bytearray(save({"a": torch.zeros(2, 3)}))
    at %= len(content)
    content[at : at + len(noise)] = noise
    with suppress(ExportError):
        read(bytes(content), tmp_path_factory.mktemp("archive"))
