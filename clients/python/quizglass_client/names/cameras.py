"""Which names of pictures come from cameras and programs, and so do not describe the picture."""

from __future__ import annotations

import re
import unicodedata

_WORDS_THAT_SAY_NOTHING = """
    afbeelding allegato anhang artwork attachment bijlage bild bilde bildschirmfoto billede bitmap captura capture
    clipboard download downloads ekran escanear foto fotó fullsizeoutput fullsizerender gambar giphy gptempdownload hình
    image imagejpeg imagem imagen images img immagine képernyőfotó kuva kép maxresdefault mpv myimage myphoto naamloos
    namnlös näyttökuva noname numérisation obraz obrazek obrázek pasted photo photos pic picture pictures qq图片 resim
    scan scanned scansione schermafbeelding schermata screencap screengrab screenshot skjermbilde skärmavbild skärmbild
    skærmbillede slika snapseed snapshot snímek tempimage thumb thumbnail tmp unbenannt unknown unnamed untitled vlcsnap
    zdjęcie
    изображение скриншот снимок фото 그림 사진 스크린샷 이미지 スクリーンショット 写真 名称未設定 無題 画像 图像
    图片 屏幕快照 屏幕截图 微信图片 截图 截屏 无标题 未命名 照片 φωτογραφία εικόνα صورة תמונה
"""
_SAY_NOTHING = frozenset(_WORDS_THAT_SAY_NOTHING.split())
"""Words that programs begin names with, which by themselves name no thing."""
_UNTITLED = re.compile(
    r"\b(?:untitled (?:artwork|design)|new project|ohne titel|sans (?:titre|nom)|sin (?:título|nombre)|sem título|"
    r"senza (?:nome|titolo)|uten (?:navn|tittel)|uden (?:navn|titel)|utan titel|bez (?:tytułu|názvu|nazwy)|"
    r"без (?:имени|названия)|제목 없음)\b"
)
"""How programs call what has no name, where that takes more than one word."""
_WORDS_OF_CAMERAS = """
    adobestock att cache cam camera cameraplus camphoto cap ccf cci cimg comfyui crw csc dcim dcp depositphotos dji
    dsc dscf dsch dsci dscn dscpdc dscs dscx dsf epson export file frame freepik gettyimages gh gopr gp gx hni hpim
    hyperlapse igp imag imga imgp inbound istock istockphoto kakaotalk kif leica lrm mg mmexport mov mvc mvi mvimg
    output pana pano pexels pict pixabay pxl received rimg rpreplay sam sany sdc shutterstock sti temp ticket upload
    vid wa win wp ydxj
"""
_CAMERAS = frozenset(_WORDS_OF_CAMERAS.split())
"""Words that cameras and programs put before a number of three digits or more."""
_WORDS_BESIDE_THEM = """
    adobe af after album am an and animation apr april arw asset at aug august auto back bearbeitet beauty beautyplus
    bokeh booth bracketed burst by camscanner canon chatgpt clip collage com compressed copia copie copy cover cr
    creation crop cropped cropper cópia da dall de dec december del depth der design dezember di do doc document
    dokument du dxo edit editada editado edited effect effects ekranu enhanced eos exported exposure ezgif facetune fb
    feb februar february file film final fly from front fuji full gallery gemini generated google graphic hd hdr hero
    hevc high in inline insta instagram ios ipad iphone jan januar january jpeg jpg jul juli july jun june juni kopi
    kopia kopie kopio large lens lib lightroom line live long mai main mar march may medium messenger midjourney mimo
    mobile modificato modifié mp märz nef new night nightsight nikon notes nov november nr oct october of oktober
    olympus on optimized orig original panorama pantalla picker picsart pm png portrait preview pro raw recovered
    removebg resized retouched rotated rt samsung save scaled scannable screen selfie sep september shot shots signal
    slow small smartselect snap snapchat sony stock story super tela telegram timeburst tn to top trim tumblr twitter
    uhr ultra um unsplash upscaled version viber video vom von web webcam wechat weixin whatsapp wide wm zoom zrzut à
    écran экрана 복사본 화면 캡처 コピー のコピー 副本 拷贝
"""
_BESIDE = frozenset(_WORDS_BESIDE_THEM.split())
"""Words that stand beside those, as in "Screenshot 2024-05-01 at 10.22.33"."""
_WITHOUT_NUMBERS = frozenset(
    ("asset", "copy", "design", "inline", "edited", "final", "from", "graphic", "ios", "of", "output")
)
"""Those that may stand there without a number: "Image from iOS", but not "photo album"."""
_ANY_PICTURE = frozenset(("bild", "foto", "image", "photo", "picture"))

_WORDS_OF_FOLDERS = """
    adjuntos allegati android anexos anhänge anlagen apple assets attachments backup bijlagen bilder bildschirmfotos
    cameras dossier eigene files folder fotografie fotos imagens images imágenes immagini import kamera media misc mms
    mobil my neu neuer new ordner others pics resources roll screenshots sent sonstiges uploads various
"""
_OF_FOLDERS = frozenset(_WORDS_OF_FOLDERS.split())
"""Words in the names of folders that hold pictures of this and that: "Camera Roll", "100APPLE", "Neuer Ordner", and
those of programs for notes: "attachments", "_resources"."""

_WORD, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_PICTURE_ENDINGS = re.compile(
    r"(?:\.(?:jpe?g|jpe|jfif|png|webp|gif|bmp|tiff?|avif|hei[cf]|dng|jpg_large))+$", re.IGNORECASE
)
_UUID = re.compile(r"\{?[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\}?", re.IGNORECASE)
_DIGEST = re.compile(r"(?<![^\W_])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{10,}(?![^\W_])")
_TOKEN = re.compile(r"[A-Za-z0-9]{8,}")
_CHANGE = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_TANGLED = 0.4
"""Changes between digits, small and capital letters, for each character, from which on a word is an id and was spelled
by a program: "dkXq3vT9sLmP" has 0.7, "iPhone12Pro" 0.3."""
_DCF = re.compile(r"(?=[A-Z0-9_]*[A-Z])[A-Z0-9_]{4}(?P<number>\d{4})(?!\d)")
_PADDED = re.compile(r"[A-Z]{2,5}_?0\d{3,}")
"""Capitals before a number that is filled up with zeros, as scanners and cameras count: "EX00001"."""
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?P<between>[-_.]?)\d\d(?P=between)\d\d(?!\d)")
_TIME = re.compile(
    r"""(?<!\d)1[4-9]\d{8}(?:\d{3})?(?!\d)                       # 1714550000, and with milliseconds
    | (?:19|20)\d{6}\D{0,3}\d{4}                                 # 20240501_1022
    | (?:19|20)\d\d(?:\D\d\d){2}\D{1,3}\d{6}                     # 2024-05-01 102233
    | (?:19|20)?\d\d(?:\D{1,3}\d\d){4}                           # 24-05-01 at 10.22
    | (?<!\d)(?:19|20)\d\d(?:\D{1,6}\d{1,2}){4}                  # 2024. 5. 1. 오후 10 22
    | (?<!\d)\d{1,2}(?P<mark>[-./])\d{1,2}(?P=mark)              # 1-5-2024 at 10.22
      (?:(?:19|20)\d\d|\d\d)\D{1,6}\d{1,2}\D{1,3}\d\d""",
    re.VERBOSE,
)
"""A time of day on a date, or in seconds or milliseconds since 1970."""
_SERIAL = re.compile(r"(?<![\s\d])\d[\d_-]{8,}")
"""A number of nine digits or more that hangs on the word before it, as programs write it: "upload_1234567890"."""
_MOST_WORDS = 3
"""Of an unknown language or program, before or around a time of day."""
_FEWEST_DIGITS, _FEWEST_ALONE = 3, 6
"""Digits behind a camera's word, and behind one that names other things too: "IMG_204", "Signal 20240501"."""


def is_of_no_thing(stem: str) -> bool:
    """Whether this is a word of a language for any picture, "photo" say: for a single picture it may be meant."""
    return stem.strip().casefold() in _ANY_PICTURE


def is_of_many_things(folder: str) -> bool:
    """Whether a folder's name does not describe its pictures: "DCIM", "Camera Roll", "2024-05"."""
    words = _WORD.findall(unicodedata.normalize("NFKC", folder).casefold())
    return all(_is_known(word) or word in _OF_FOLDERS for word in words)


def is_of_a_camera(stem: str) -> bool:
    """Whether a camera or a program has given this name, without its ending: "IMG_2041", "Screenshot (3)".

    A name that has one more word beside such words and numbers was given by a person: "IMG_2041 koala", "koala 2". With
    a time of day or a serial number it was not, whatever the word is: people do not write these into names.
    """
    name = unicodedata.normalize("NFKC", stem).strip()
    name = _PICTURE_ENDINGS.sub("", name)
    if _is_of_the_standard(name) or _PADDED.fullmatch(name):
        return True
    spoken = _without_ids(name)
    words, digits = _WORD.findall(spoken), "".join(_NUMBER.findall(spoken))
    unknown = {word for word in words if not _is_known(word)}
    if _is_timed(spoken, unknown) or (len(unknown) == 1 and _SERIAL.search(_DATE.sub(" ", spoken))):
        return True
    if unknown or not (words or digits):
        return False
    if not words or spoken != name.casefold():
        return True
    if any(_says_nothing(word) for word in words):
        return bool(digits) or all(_says_nothing(word) or word in _WITHOUT_NUMBERS for word in words)
    named = any(word in _CAMERAS for word in words)
    return len(digits) >= (_FEWEST_DIGITS if named else _FEWEST_ALONE)


def _without_ids(name: str) -> str:
    """A name in small letters: "0" in the place of UUIDs, digests and other ids, "untitled" for what says that."""
    spelled = _TOKEN.sub(lambda token: "0" if _is_tangled(token[0]) else token[0], _UUID.sub("0", name))
    spoken = _DIGEST.sub("0", spelled.casefold())
    return _UNTITLED.sub("untitled", spoken)


def _is_tangled(token: str) -> bool:
    """Whether digits, small and capital letters change so often that a program has drawn them."""
    return len(_CHANGE.findall(token)) >= _TANGLED * len(token) and sum(map(str.isdigit, token)) > 1


def _is_timed(spoken: str, unknown: set[str]) -> bool:
    """Whether a name is one of a program that writes the time of day, and no word was put behind that by a person."""
    time = _TIME.search(spoken)
    if time is None or len(unknown) > _MOST_WORDS:
        return False
    behind = spoken[time.end() :]
    return not any(word in unknown for word in _WORD.findall(behind)) or not re.search(r"\s[^\W\d_]{3,}", behind)


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
