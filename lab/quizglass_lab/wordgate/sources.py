"""The photographs without words, the photographs with words and the fonts: where they come from, who is held out.

Nothing is downloaded here. The files come from packages that are unpacked into one folder:

    mkdir sources && cd sources
    pip download --no-deps scikit-image==0.26.0 scikit-learn==1.9.1
    apt-get download opencv-doc gnome-backgrounds mate-backgrounds ukui-wallpapers lomiri-wallpapers-16.04 \
        lomiri-wallpapers-20.04 plasma-workspace-wallpapers tuxpaint-stamps-default fonts-...   (see `FONT_PACKAGES`)
    for each in *.deb; do dpkg -x "$each" root; done
    for each in *.whl; do python -m zipfile -e "$each" root/wheels; done

They serve to fit and to measure, and none of them is passed on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FONT_PACKAGES = """fonts-adf-baskervald
fonts-adf-universalis fonts-averia-sans-gwf fonts-averia-serif-gwf fonts-bebas-neue
fonts-beteckna fonts-cabin fonts-cabinsketch fonts-comic-neue fonts-courier-prime fonts-dancingscript fonts-dejavu-core
fonts-droid-fallback fonts-dseg fonts-ebgaramond fonts-freefont-ttf fonts-gfs-didot fonts-humor-sans fonts-inconsolata
fonts-ipafont-gothic fonts-isabella fonts-kaushanscript fonts-league-spartan fonts-liberation fonts-lobster
fonts-lobstertwo fonts-oldstandard fonts-open-sans fonts-play fonts-quicksand fonts-roadgeek fonts-roboto-slab
fonts-sil-andika""".split()  # noqa: SIM905
HELD_OUT = 4
"""One in so many files, by its name's hash, is never trained on."""

_WITHOUT_WORDS = {
    "skimage/data": "brick camera cell chelsea chessboard_GRAY coffee color grass gravel horse hubble_deep_field ihc "
    "microaneurysms moon phantom retina",
    "sklearn/datasets/images": "china flower",
    "opencv-doc/examples/data": "Blender_Suzanne1 HappyFish aero1 aero3 aloeL apple baboon blox building butterfly "
    "chessboard chicky_512 ellipses fruits gradient home left01 left04 left08 right03 right13 leuvenA leuvenB orange "
    "pic1 pic2 pic3 pic4 pic5 pic6 rubberwhale1 smarties squirrel_cls starry_night",
    "usr/share/backgrounds": "*",
    "usr/share/wallpapers": "1920x1080",
}
_WITH_WORDS = {
    "opencv-doc/examples/data": "box box_in_scene imageTextN imageTextR left right messi5",
    "opencv-doc/examples/text": "scenetext01 scenetext02 scenetext03 scenetext04 scenetext05 scenetext06 "
    "scenetext_segmented_word01 scenetext_segmented_word02 scenetext_segmented_word03 scenetext_segmented_word04 "
    "scenetext_segmented_word05 scenetext_word01 scenetext_word02 scenetext_word03 scenetext_word04",
    "skimage/data": "page text",
}
_LETTERED = ("greentock_by_Peter_Nerlich", "umang_by_Abhishek_Mudgal", "firstgeneration", "symbolic-d", "symbolic-l")
"""Of the folders that are taken whole: pictures that show words, or what could be taken for words."""
_STAMPS = ("animals", "food", "plants", "clothes", "space")
_PICTURES = (".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True, slots=True)
class Sources:
    """Files by what they are for."""

    photographs: tuple[Path, ...]
    """Without words."""
    lettered: tuple[Path, ...]
    """With words; to measure only."""
    stamps: tuple[Path, ...]
    """Photographs of single things, cut out."""
    fonts: tuple[Path, ...]

    @classmethod
    def under(cls, root: Path, more: Sequence[Path] = ()) -> Sources:
        """The files below the folder that the packages were unpacked into.

        Args:
            root: that folder.
            more: folders of further photographs with words.

        Raises:
            ValueError: there are none of one sort.
        """
        every = sorted(each for each in root.rglob("*") if each.suffix.lower() in (*_PICTURES, ".ttf", ".otf"))
        fonts = [each for each in every if each.suffix.lower() in (".ttf", ".otf")]
        stamps = [each for each in every if _is_stamp(each)]
        lettered = [each for each in every if _among(each, _WITH_WORDS)]
        lettered += sorted(each for folder in more for each in folder.rglob("*") if each.suffix.lower() in _PICTURES)
        plain = photographs(root)
        if not (plain and lettered and stamps and fonts):
            raise ValueError(f"{root}: lacks photographs, stamps or fonts; unpack the packages named in sources.py")
        return cls(tuple(plain), tuple(lettered), tuple(stamps), tuple(fonts))

    def part(self, *, held_out: bool) -> Sources:
        """What is trained on, or what is held out; photographs with words are in both."""
        photographs, stamps, fonts = (
            tuple(each for each in files if is_held_out(each) == held_out)
            for files in (self.photographs, self.stamps, self.fonts)
        )
        return Sources(photographs, self.lettered, stamps, fonts)


def photographs(root: Path, *, without: Sequence[str] = ()) -> list[Path]:
    """Photographs without words below the folder that the packages were unpacked into.

    Args:
        root: that folder.
        without: folders of packages that are left out, as "skimage/data".
    """
    folders = {folder: names for folder, names in _WITHOUT_WORDS.items() if folder not in without}
    every = sorted(each for each in root.rglob("*") if each.suffix.lower() in _PICTURES)
    return [each for each in every if _among(each, folders) and each.stem not in _LETTERED]


def is_held_out(path: Path) -> bool:
    """Decided by the name alone, without numbers at its end: views of one thing stay together."""
    name = path.stem.split("-")[0].rstrip("0123456789")
    if name in ("1920x", "left", "right", "pic"):
        name = path.as_posix()[-40:]
    return hashlib.sha256(name.encode()).digest()[0] % HELD_OUT == 0


def _among(path: Path, folders: dict[str, str]) -> bool:
    for folder, names in folders.items():
        if f"/{folder}/" in f"/{path.as_posix()}":
            return names == "*" or path.stem in names.split()
    return False


def _is_stamp(path: Path) -> bool:
    parts = path.parts
    return path.suffix == ".png" and "stamps" in parts and "cartoon" not in parts and any(s in parts for s in _STAMPS)
