"""Which pictures of a folder go with which document."""

from pathlib import Path

import pytest

from quizglass_client.cli.imports.albums import MOST_PICTURES, albums, is_named, title_of


def laid_out(folder: Path, *names: str) -> list[tuple[str, list[str]]]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")

    def of(path: Path) -> str:
        return path.relative_to(folder).as_posix()

    return [(of(album.path), [of(picture) for picture in album.pictures]) for album in albums(folder)]


def test_pictures_of_the_same_name_go_with_a_document(tmp_path: Path) -> None:
    names = ("koala.md", "koala.jpg", "koala 10.jpg", "koala-2.HEIC", "Koala_(3).png", "panda.txt", "panda.webp")
    assert laid_out(tmp_path, *names) == [
        ("koala.md", ["koala.jpg", "koala-2.HEIC", "koala 10.jpg", "Koala_(3).png"]),
        ("panda.txt", ["panda.webp"]),
    ]


def test_a_folder_of_pictures_goes_with_the_document_of_its_name(tmp_path: Path) -> None:
    assert laid_out(tmp_path, "koala.md", "koala/IMG_0001.jpg", "koala/IMG_0002.jpg", "bear/a bear.jpg") == [
        ("bear/a bear.jpg", ["bear/a bear.jpg"]),
        ("koala.md", ["koala/IMG_0001.jpg", "koala/IMG_0002.jpg"]),
    ]


def test_what_is_hidden_is_passed_over(tmp_path: Path) -> None:
    assert laid_out(tmp_path, "koala.md", ".koala.jpg", ".thumbnails/IMG_0001.jpg", "zoo/.trash/panda.md") == [
        ("koala.md", [])
    ]


def test_pictures_that_a_camera_named_go_with_the_only_document_of_their_folder(tmp_path: Path) -> None:
    assert laid_out(tmp_path, "zoo/koala.md", "zoo/IMG_2041.jpg", "zoo/panda.jpg") == [
        ("zoo/koala.md", ["zoo/IMG_2041.jpg"]),
        ("zoo/panda.jpg", ["zoo/panda.jpg"]),
    ]
    assert laid_out(tmp_path, "zoo/lion.md")[0] == ("zoo/IMG_2041.jpg", ["zoo/IMG_2041.jpg"])


def test_an_entry_has_no_more_pictures_than_it_may(tmp_path: Path) -> None:
    ((_, pictures),) = laid_out(tmp_path, "a.md", *(f"a {number}.jpg" for number in range(30)))
    assert len(pictures) == MOST_PICTURES


@pytest.mark.parametrize(
    "name",
    ["IMG_2041", "IMG-20240101-WA0003", "DSC01234", "PXL_20240312_101112345", "20240312_101112", "P1000123", "0042"],
)
def test_names_that_cameras_give(name: str) -> None:
    assert not is_named(Path(f"{name}.jpg"))


@pytest.mark.parametrize("name", ["koala", "cat", "Boeing 747", "koala 2", "my_image", "Photo of a koala", "a1"])
def test_names_that_people_give(name: str) -> None:
    assert is_named(Path(f"{name}.jpg"))


def test_a_title_is_the_name_with_spaces() -> None:
    assert title_of(Path("zoo/a_grey__koala.jpg")) == "a grey koala"
