"""Which names of pictures are given by cameras and programs, and so say nothing of what a picture shows."""

from __future__ import annotations

import re
import unicodedata

_WORDS_THAT_SAY_NOTHING = """
    afbeelding artwork attachment bild bilde bildschirmfoto billede bitmap captura capture clipboard download
    downloads foto fotó fullsizeoutput fullsizerender gambar giphy hình image imagejpeg imagem imagen images img
    immagine kuva kép maxresdefault mpv obraz obrazek obrázek pasted photo photos pic picture pictures qq图片 resim
    scan scanned schermata screen screencap screengrab screenshot skjermbilde skärmavbild skärmbild slika snapshot
    tempimage thumb thumbnail unbenannt unknown unnamed untitled vlcsnap zdjęcie
    изображение скриншот снимок фото 사진 스크린샷 이미지 スクリーンショット 写真 名称未設定 無題 画像 图像
    图片 屏幕快照 屏幕截图 微信图片 截图 截屏 无标题 未命名 照片 φωτογραφία εικόνα صورة תמונה
"""
_SAY_NOTHING = frozenset(_WORDS_THAT_SAY_NOTHING.split())
"""Words that programs begin names with, which by themselves name no thing."""
_WORDS_OF_CAMERAS = """
    adobestock camphoto cci cimg crw csc dcim dcp dji dsc dscf dsch dsci dscn dscpdc dscs dscx dsf epson file frame
    gettyimages gh gopr gp gx hni hpim igp imag imga imgp inbound istockphoto kakaotalk kif leica mg mmexport mov
    mvc mvi mvimg pana pano pict pxl received rimg rpreplay sam sany sdc shutterstock sti vid wa win wp ydxj
"""
_CAMERAS = frozenset(_WORDS_OF_CAMERAS.split())
"""Words that cameras and programs put before a number of three digits or more."""
_WORDS_BESIDE_THEM = """
    adobe after album am an and animation apr april arw asset at aug august auto back bearbeitet beauty beautyplus
    bokeh booth bracketed burst by camera camscanner canon chatgpt clip collage com copia copie copy cover cr
    creation crop cropped cropper da dall de dec december del depth der design dezember di do doc document du dxo
    edit editada editado edited effect effects ekranu enhanced eos exported exposure ezgif facetune fb feb februar
    february file film final fly from front fuji full gallery gemini generated google graphic hd hdr hero hevc high
    in inline insta instagram ios ipad iphone jan januar january jul juli july jun june juni kopia kopie large lens
    lightroom line live long mai main mar march may medium messenger midjourney mimo mobile modificato modifié mp
    märz nef new night nightsight nikon notes nov november nr oct october of oktober olympus on optimized orig
    original panorama pantalla picker picsart pm portrait preview pro raw removebg resized retouched rotated rt
    samsung save scaled scannable selfie sep september shot shots signal slow small smartselect snap snapchat sony
    story super tela telegram timeburst tn to top trim tumblr twitter uhr ultra um unsplash upscaled version viber
    video vom von webcam wechat weixin whatsapp wide wm zoom zrzut à écran
    экрана 복사본 화면 캡처 コピー のコピー 副本 拷贝
"""
_BESIDE = frozenset(_WORDS_BESIDE_THEM.split())
"""Words that stand beside those, as in "Screenshot 2024-05-01 at 10.22.33"."""
_WITHOUT_NUMBERS = frozenset(("asset", "copy", "design", "inline", "edited", "final", "from", "graphic", "ios", "of"))
"""Those that may stand there without a number: "Image from iOS", but not "photo album"."""
_ANY_PICTURE = frozenset(("bild", "foto", "image", "photo", "picture"))

_WORD, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_PICTURE_ENDINGS = re.compile(
    r"(?:\.(?:jpe?g|jpe|jfif|png|webp|gif|bmp|tiff?|avif|hei[cf]|dng|jpg_large))+$", re.IGNORECASE
)
_UUID = re.compile(r"\{?[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\}?")
_DIGEST = re.compile(r"(?<![^\W_])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{10,}(?![^\W_])")
_DCF = re.compile(r"(?=[A-Z0-9_]*[A-Z])[A-Z0-9_]{4}(?P<number>\d{4})(?!\d)")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_TIME = re.compile(r"(?<!\d)1[4-9]\d{8}(?:\d{3})?(?!\d)|(?:19|20)\d{6}\D{0,3}\d{4}|(?:19|20)?\d\d(?:\D{1,3}\d\d){4}")
"""A time of day on a date, or in seconds or milliseconds since 1970."""
_FEWEST_DIGITS, _FEWEST_ALONE = 3, 6
"""Digits behind a camera's word, and behind one that names other things too: "IMG_204", "Signal 20240501"."""


def is_of_no_thing(stem: str) -> bool:
    """Whether this is a word of a language for any picture, "photo" say: for a single picture it may be meant."""
    return stem.strip().casefold() in _ANY_PICTURE


def is_of_a_camera(stem: str) -> bool:
    """Whether a camera or a program has given this name, without its ending: "IMG_2041", "Screenshot (3)".

    A name that has one more word beside such words and numbers was given by a person: "IMG_2041 koala", "koala 2".
    """
    name = unicodedata.normalize("NFKC", stem).strip()
    name = _PICTURE_ENDINGS.sub("", name)
    if _is_of_the_standard(name):
        return True
    spoken = _DIGEST.sub("0", _UUID.sub("0", name.casefold()))
    words, digits = _WORD.findall(spoken), "".join(_NUMBER.findall(spoken))
    unknown = [word for word in words if not _is_known(word)]
    if len(unknown) == 1 and _TIME.search(spoken):
        return True  # by an unknown program: people do not write the time of day into a name
    if unknown or not (words or digits):
        return False
    if not words or spoken != name.casefold():
        return True
    if any(_says_nothing(word) for word in words):
        return bool(digits) or all(_says_nothing(word) or word in _WITHOUT_NUMBERS for word in words)
    named = any(word in _CAMERAS for word in words)
    return len(digits) >= (_FEWEST_DIGITS if named else _FEWEST_ALONE)


def _is_known(word: str) -> bool:
    return len(word) == 1 or word in _CAMERAS or word in _BESIDE or _says_nothing(word)


def _is_of_the_standard(name: str) -> bool:
    """Whether a name is as JEITA CP-3461 has cameras write it: "_MG_1234", not "BMW_2002"."""
    match = _DCF.match(name)
    if match is None or not all(_is_known(word) for word in _WORD.findall(name[match.end() :].casefold())):
        return False
    letters = name[:4].strip("_")
    return _is_known(letters.casefold()) or not (letters.isalpha() and _YEAR.fullmatch(match["number"]))


def _says_nothing(word: str) -> bool:
    return word in _SAY_NOTHING or word.startswith("tempimage")
