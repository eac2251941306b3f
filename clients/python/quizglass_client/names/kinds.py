"""What the files of a folder are by their names: documents, pictures, what systems leave there, and all others."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

FORMATS = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkdn", ".mkd", ".mdwn", ".mdtext"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xht", ".shtml"), "html"),
    **dict.fromkeys((".txt", ".text", ".rst"), ""),
}
"""Endings of documents, and what their text is written in."""
_PICTURES = ".jpg .jpeg .jpe .jfif .png .webp .gif .bmp .dib .tif .tiff .avif .heic .heif .hif"
PICTURES = frozenset(_PICTURES.split())
"""Endings of pictures."""

_SYSTEMS = re.compile(
    r"\..*|@eadir|@tmp|@recycle|@__thumb|#recycle|#snapshot|\$recycle\.bin|recycler|system volume information|__macosx|"
    r"lost\+found|thumbs\.db(:.*)?|zbthumbnail\.info|ehthumbs(_vista)?\.db|desktop\.ini|picasa\.ini|icon\r|.+\.(aae|xmp|thm|lrv)|~\$.*|.*~",
    re.IGNORECASE | re.DOTALL,
)
"""What is hidden, what systems, network storage and editors leave behind, and settings beside a photograph."""
_SAVED_PAGE = re.compile(
    r"(?P<page>.+)(?:[_.]files|-dateien|_fichiers|_bestanden|_archivos|-filer|_tiedostot|_pliki|_soubory|_file|"
    r"_ficheiros|_arquivos|_elemei|_dosyalar|_datoteke|_failid|_fails|_bylos|_fajlovi|_fitxers|_fitxategiak)",
    re.IGNORECASE,
)
"""A folder with what belongs to a page, as browsers save it in the language of their user."""

_TO_CONVERT = {
    "PDFs": ("convert it to text (pdftotext) or Markdown", ".pdf"),
    "documents of word processors": (
        "convert it to Markdown (pandoc)",
        ".docx .doc .odt .rtf .pages .epub .tex .org .adoc .asciidoc .wpd .fb2 .mobi .docm .dotx .wiki .textile .ipynb",
    ),
    "spreadsheets": ("save it as CSV and import that by itself", ".xlsx .xls .ods .numbers .xlsm .xlsb"),
    "presentations": ("convert it to text, or its slides to pictures", ".pptx .ppt .odp .key .ppsx"),
    "tables and dumps in a folder": (
        "import it by itself: quizglass knowledge import FILE",
        ".csv .tsv .tab .parquet .jsonl .ndjson .xml .bz2",
    ),
    "archives": ("unpack it", ".zip .tar .gz .tgz .7z .rar .xz .zst .cbz .cbr .dmg .iso"),
    "pages saved with all that belongs to them, and mails,": (
        "save the page as HTML",
        ".mhtml .mht .webarchive .maff .eml .msg",
    ),
    "drawings": ("export it as PNG", ".svg .svgz .ai .eps .ps .psd .xcf .kra .drawio .dwg .dxf .wmf .emf .afphoto"),
    "raw photographs": (
        "export it as JPEG",
        ".dng .cr2 .cr3 .nef .arw .raf .orf .rw2 .pef .srw .x3f .3fr .iiq .raw .nrw .sr2 .erf",
    ),
    "pictures of this format": (
        "convert it to JPEG or PNG",
        ".jxl .jp2 .j2k .jpx .ico .tga .qoi .ppm .pgm .pnm .icns .dcm .exr .hdr",
    ),
    "videos": ("export a frame as JPEG", ".mp4 .mov .avi .mkv .webm .m4v .3gp .mpg .mpeg .wmv .mts .m2ts .flv"),
    "recordings": ("write down what it says", ".mp3 .wav .m4a .ogg .opus .flac .aac .amr .wma"),
}
_WHY = {
    ending: f"{what} are not read; {advice}"
    for what, (advice, endings) in _TO_CONVERT.items()
    for ending in endings.split()
}


def is_document(path: Path) -> bool:
    """Whether its name says that a file is a document."""
    return path.suffix.lower() in FORMATS


def is_picture(path: Path) -> bool:
    """Whether its name says that a file is a picture."""
    return path.suffix.lower() in PICTURES


def is_of_a_system(name: str) -> bool:
    """Whether a file or folder is hidden, or left there by a system, and not meant to be read."""
    return _SYSTEMS.fullmatch(name) is not None


def page_of(folder: str) -> str | None:
    """Name, without its ending, of the page that a browser saved with a folder of this name; None: it is no such."""
    match = _SAVED_PAGE.fullmatch(folder)
    return match["page"] if match is not None else None


def why_not_read(path: Path) -> str:
    """Why a file that is neither document nor picture is passed over, and what can be done."""
    ending = path.suffix.lower()
    if not ending:
        return "it has no ending; if it is a text, call it .md or .txt"
    return _WHY.get(ending, f"{ending} is not read; texts are .md, .html, .txt, pictures .jpg, .png, .webp")


def same_name(name: str) -> str:
    """A name as it is compared: composed, since some systems take accents apart, and in no case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def bare_name(path: Path) -> str:
    """A file's name without its ending, and without that of a picture before it: "koala" of "koala.jpg.md"."""
    name = path.stem
    while Path(name).suffix.lower() in PICTURES and Path(name).stem:
        name = Path(name).stem
    return name
