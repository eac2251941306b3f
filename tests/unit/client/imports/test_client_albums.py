"""Which pictures of a folder go with which document."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from quizglass_client.cli.imports.albums import album_of, albums
from quizglass_client.cli.imports.entries import MOST_PICTURES
from quizglass_client.cli.imports.report import ImportReport, Outcome
from quizglass_client.names.titles import title_of


def laid_out(folder: Path, *names: str) -> list[tuple[str, list[str]]]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()

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


def test_a_folder_in_which_programs_for_notes_keep_pictures_is_no_thing(tmp_path: Path) -> None:
    folders = ("attachments", "_resources", "Assets", "media", "uploads", "Anhänge")
    pictures = [f"notes/{folder}/IMG_204{number}.jpg" for folder in folders for number in (1, 2)]
    assert laid_out(tmp_path, *pictures) == [(picture, [picture]) for picture in sorted(pictures)]
    assert laid_out(tmp_path / "other", "pan/IMG_2041.jpg", "pan/IMG_2042.jpg") == [
        ("pan", ["pan/IMG_2041.jpg", "pan/IMG_2042.jpg"])
    ]


def test_an_entry_has_no_more_pictures_than_it_may(tmp_path: Path) -> None:
    ((_, pictures),) = laid_out(tmp_path, "a.md", *(f"a {number}.jpg" for number in range(30)))
    assert len(pictures) == MOST_PICTURES
    report = ImportReport()
    albums(tmp_path, report)
    (note,) = report.notes
    assert (note.kind, note.name, "30 pictures" in note.message, "a 29.jpg" in note.message) == (
        "cut",
        "a.md",
        True,
        True,
    )


def test_a_title_is_the_name_with_spaces() -> None:
    assert title_of(Path("zoo/a_grey__koala.jpg")) == "A grey koala"
    assert title_of(Path("zoo/koala.jpg.webp")) == "Koala"
    assert title_of(Path("Cafe\u0301.md")) == "Café"
    assert title_of(Path("zoo/koala/index.md")) == "Koala"
    assert [
        title_of(Path(name)) for name in ("red_kettle.jpg", "red-kettle.jpg", "iPhone.jpg", "F-16.jpg", "x-ray.png")
    ] == [
        *("Red kettle", "Red kettle", "iPhone", "F-16", "X-ray"),
    ]


def test_names_belong_together_however_their_accents_are_written(tmp_path: Path) -> None:
    names = (
        "Café Zu\u0308rich.md",
        "Cafe\u0301 Zürich.jpg",
        "\u1112\u1161\u11ab.jpg",
        "한.md",
        "が/1.jpg",
        "か\u3099.txt",
    )
    assert [pictures for _, pictures in laid_out(tmp_path, *names)] == [
        ["Cafe\u0301 Zürich.jpg"],
        ["が/1.jpg"],
        ["\u1112\u1161\u11ab.jpg"],
    ]


def test_what_systems_and_network_storage_leave_is_counted(tmp_path: Path) -> None:
    names = ["koala.md", "Thumbs.db", "._koala.jpg", "@eaDir/koala.jpg/SYNOPHOTO_THUMB_M.jpg", "#recycle/old.md"]
    assert laid_out(tmp_path, *names) == [("koala.md", [])]
    report = ImportReport()
    albums(tmp_path, report)
    assert (report.complete, sum(report.left_out.values())) == (True, 4)


def test_what_is_neither_text_nor_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    (tmp_path / "gone.jpg").symlink_to("nothing")
    assert laid_out(tmp_path, "koala.md", "a/Mu.pdf", "Nu.docx", "Xi") == [("koala.md", [])]
    report = ImportReport()
    albums(tmp_path, report)
    assert sorted(note.name for note in report.notes) == ["Nu.docx", "Xi", "a/Mu.pdf", "gone.jpg", "linked"]
    assert {note.kind for note in report.notes} == {"passed over"}


def test_pictures_of_a_saved_page_go_with_it_but_for_its_buttons(tmp_path: Path) -> None:
    (tmp_path / "Koala_files" / "deep").mkdir(parents=True)
    (tmp_path / "Koala.html").write_text("<h1>Koala</h1>")
    for name, side in (("small.png", 16), ("one.png", 120), ("deep/two.jpg", 640)):
        Image.new("RGB", (side, side), "grey").save(tmp_path / "Koala_files" / name)
    (tmp_path / "Koala_files" / "main.css").write_text("p {}")
    (tmp_path / "Koala_files" / "frame.html").write_text("<p>Advertisement")
    report = ImportReport()
    (album,) = albums(tmp_path, report)
    assert [picture.name for picture in album.pictures] == ["two.jpg", "one.png"]
    assert (report.complete, report.left_out["files that belong to saved pages"]) == (True, 3)
    assert album_of(tmp_path / "Koala.html", ImportReport()) == album


def test_a_folder_of_that_name_without_a_page_is_one_like_others(tmp_path: Path) -> None:
    assert laid_out(tmp_path, "my_files/koala.jpg") == [("my_files/koala.jpg", ["my_files/koala.jpg"])]


def test_pictures_of_one_thing_without_a_text_belong_together(tmp_path: Path) -> None:
    names = (
        "kettle.jpg",
        "kettle-2.jpg",
        "Kettle (3).png",
        "kettle.webp",
        "kettle/IMG_1.jpg",
        "kettle/lid.jpg",
        "pan 2.jpg",
    )
    assert laid_out(tmp_path, *names) == [
        (
            "kettle.jpg",
            ["kettle.jpg", "kettle.webp", "kettle/lid.jpg", "kettle/IMG_1.jpg", "kettle-2.jpg", "Kettle (3).png"],
        ),
        ("pan 2.jpg", ["pan 2.jpg"]),
    ]


def test_numbers_that_are_part_of_a_name_are_left_in_it(tmp_path: Path) -> None:
    names = ["Apollo 11.jpg", "Apollo 13.jpg", "Boeing 747.jpg", "Boeing.jpg", "Room 1.jpg", "Room 2.jpg"]
    assert laid_out(tmp_path, *names) == [(name, [name]) for name in names]


def doubts(folder: Path, *names: str) -> list[str]:
    laid_out(folder, *names)
    return [album.doubt for album in albums(folder) if album.doubt]


def test_it_is_doubtful_what_pictures_show_that_only_a_camera_named(tmp_path: Path) -> None:
    (told,) = doubts(tmp_path / "a", "kettle.md", "IMG_2041.jpg", "IMG_2042.jpg")
    assert told.startswith("kettle.md takes IMG_2041.jpg and IMG_2042.jpg, which a camera ")
    (told,) = doubts(tmp_path / "b", "kettle.md", "IMG_2041.jpg", "dog.jpg")
    assert told.startswith("kettle.md takes IMG_2041.jpg, ")
    (told,) = doubts(tmp_path / "c", "kettle/IMG_1.jpg", "kettle/IMG_2.jpg", "DCIM/IMG_3.jpg", "2024-05/IMG_4.jpg")
    assert told.startswith("kettle/ is one thing, shown by IMG_1.jpg and IMG_2.jpg, ")


def test_it_is_plain_where_nothing_else_can_be_meant(tmp_path: Path) -> None:
    assert doubts(tmp_path / "a", "kettle.md", "IMG_2041.jpg") == []
    assert doubts(tmp_path / "b", "kettle/kettle.md", "kettle/IMG_1.jpg", "kettle/IMG_2.jpg") == []
    assert doubts(tmp_path / "c", "kettle/index.md", "kettle/IMG_1.jpg", "kettle/IMG_2.jpg") == []
    assert doubts(tmp_path / "d", "kettle.md", "kettle.jpg", "kettle/IMG_1.jpg", "pan.jpg", "pan/IMG_2.jpg") == []


def test_doubtful_pictures_are_left_out_where_none_is_to_be_guessed(tmp_path: Path) -> None:
    laid_out(tmp_path, "kettle.md", "IMG_2041.jpg", "IMG_2042.jpg", "pan/IMG_1.jpg")
    report = ImportReport()
    found = albums(tmp_path, report, guess=False)
    assert [(album.path.name, len(album.pictures)) for album in found] == [
        *(("IMG_2041.jpg", 1), ("IMG_2042.jpg", 1), ("kettle.md", 0), ("IMG_1.jpg", 1)),
    ]
    assert report.notes == []


def test_a_folder_of_hundreds_of_pictures_is_not_one_thing(tmp_path: Path) -> None:
    laid_out(tmp_path, *(f"Holiday/IMG_{number:04}.jpg" for number in range(MOST_PICTURES + 1)))
    assert len(albums(tmp_path)) == MOST_PICTURES + 1


def test_which_pictures_a_text_took_is_said(tmp_path: Path) -> None:
    laid_out(tmp_path, "kettle.md", "kettle.jpg", "IMG_2041.jpg", "IMG_2042.jpg")
    report = ImportReport()
    albums(tmp_path, report)
    (line,) = report.lines()
    assert line.startswith("kettle.md took IMG_2041.jpg and IMG_2042.jpg, ")
    assert report.complete


def test_a_document_by_itself_has_the_pictures_that_it_has_in_its_folder(tmp_path: Path) -> None:
    laid_out(tmp_path, "koala.md", "koala 2.jpg", "koala/IMG_1.jpg", "panda.md", "panda.jpg", "bear/a.md")
    report = ImportReport()
    album = album_of(tmp_path / "koala.md", report)
    assert album in albums(tmp_path)
    assert len(album.pictures) == 2
    assert report.notes == []


STEMS = ("kettle", "Kettle 2", "kettle-3", "kettle 17", "pan", "IMG_2041", "IMG_2042", "index", "kettle kettle")
ENDINGS = (".jpg", ".png", ".md", ".txt", ".html")
FOLDERS = ("", "kettle/", "kettle/kettle/", "DCIM/", "pan_files/", "kettle 2/")
NAMES = st.builds(
    lambda folder, stem, ending: f"{folder}{stem}{ending}", *map(st.sampled_from, (FOLDERS, STEMS, ENDINGS))
)


@given(st.sets(NAMES, max_size=25), st.booleans())
def test_every_picture_is_in_one_album_and_every_text_has_one(names: set[str], guess: bool) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"")
        report = ImportReport()
        found = albums(folder, report, guess=guess)
        shown = [picture for album in found for picture in album.pictures]
        there = {path for path in folder.rglob("*") if path.suffix in (".jpg", ".png")}
        texts = {path for path in folder.rglob("*") if path.suffix in (".md", ".txt", ".html")}
        assert len(shown) == len(set(shown))
        if not report.counts[Outcome.CUT] and not report.left_out:
            assert set(shown) == there
            assert {album.document for album in found} - {None} == texts
        assert len({album.path for album in found}) == len(found)
        assert guess or not any(album.doubt for album in found)


def written(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_picture_goes_with_the_note_that_shows_it(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "Home/Kettle.md": "# Kettle\n\n![[IMG_2041.jpg|300]]\n",
            "Home/Violin.md": "![on the sofa](../attachments/IMG%202043.jpg)",
            "Home/Pan.md": "![](<attachments/pan from above.jpg>) `![[IMG_2045.jpg]]`",
            "Home/Bin.html": '<p>the bin</p><img src="../attachments/IMG_2044.jpg">',
        },
    )
    pictures = [f"attachments/{name}.jpg" for name in ("IMG_2041", "IMG 2043", "pan from above", "IMG_2044")]
    assert laid_out(tmp_path, *pictures) == [
        ("Home/Bin.html", ["attachments/IMG_2044.jpg"]),
        ("Home/Kettle.md", ["attachments/IMG_2041.jpg"]),
        ("Home/Pan.md", ["attachments/pan from above.jpg"]),
        ("Home/Violin.md", ["attachments/IMG 2043.jpg"]),
    ]


def test_of_several_notes_that_show_a_picture_it_goes_with_the_one_about_it(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "2025-11-24.md": "Cleaned it. ![[IMG_2041.jpg]]",
            "All things.md": "![[IMG_2041.jpg]] ![[IMG_2042.jpg]]",
            "Kettle.md": "![[IMG_2041.jpg]]\n\n![[gone.jpg]]",
        },
    )
    assert laid_out(tmp_path, "a/IMG_2041.jpg", "a/IMG_2042.jpg") == [
        ("2025-11-24.md", []),
        ("All things.md", ["a/IMG_2042.jpg"]),
        ("Kettle.md", ["a/IMG_2041.jpg"]),
    ]
    report = ImportReport()
    albums(tmp_path, report)
    assert [(note.name, note.message) for note in report.notes] == [
        ("Kettle.md", "has IMG_2041.jpg, which All things.md and 2025-11-24.md show too"),
        ("Kettle.md", "shows gone.jpg, which is not in the folder"),
    ]
    assert report.complete


def test_a_name_is_enough_and_the_nearest_of_the_same_name_is_meant(tmp_path: Path) -> None:
    written(tmp_path, {"a/Kettle.md": "![[front.jpg]]", "b/Pan.md": "![[front.jpg]]", "Lid.md": "![[deep/Front.jpg]]"})
    assert laid_out(tmp_path, "a/front.jpg", "b/front.jpg", "c/deep/front.jpg") == [
        ("Lid.md", ["c/deep/front.jpg"]),
        ("a/Kettle.md", ["a/front.jpg"]),
        ("b/Pan.md", ["b/front.jpg"]),
    ]


def test_the_name_of_a_picture_counts_before_a_note_that_shows_it(tmp_path: Path) -> None:
    written(tmp_path, {"zoo.md": "![[koala.jpg]] ![[panda.jpg]]", "koala.md": "Grey."})
    assert laid_out(tmp_path, "koala.jpg", "panda.jpg") == [("koala.md", ["koala.jpg"]), ("zoo.md", ["panda.jpg"])]


def test_a_note_by_itself_has_the_pictures_that_it_shows_from_its_folder(tmp_path: Path) -> None:
    written(tmp_path / "Home", {"Kettle.md": "![[IMG_2041.jpg]] ![](../IMG_2042.jpg)", "Pan.md": "A pan."})
    laid_out(tmp_path, "Home/attachments/IMG_2041.jpg", "IMG_2042.jpg")
    report = ImportReport()
    album = album_of(tmp_path / "Home/Kettle.md", report)
    assert album.pictures == (tmp_path / "Home/attachments/IMG_2041.jpg",)
    assert [note.message for note in report.notes] == ["shows ../IMG_2042.jpg, which is not in the folder"]
