"""Names given by cameras and programs, and names given by people."""

from pathlib import Path

import pytest

from quizglass_client.cli.imports.names.cameras import is_of_a_camera
from quizglass_client.cli.imports.names.kinds import (
    bare_name,
    is_document,
    is_of_a_system,
    is_picture,
    page_of,
    same_name,
    why_not_read,
)

OF_CAMERAS = """
IMG_2041|IMG_E2041|IMG_2041_edited|IMG_2041-edited|IMG_2041 (1)|IMG_2041 copy|IMG_2041 2|Kopie von IMG_2041
IMG_2041~2|IMG-20240101-WA0003|IMG_20240501_102233_BURST001_COVER|IMG_20240501_102233_HDR|IMG20240501102233
MVIMG_20240501_102233|PXL_20240501_102233123.PORTRAIT|PXL_20240501_102233123.RAW-01.COVER
PXL_20240312_101112345|IMG_2041.HEIC|00000IMG_00000_BURST20240501102233_COVER|20240501_102233_Burst01
20240312_101112|20240501_102233(0)|2024-05-01 10.22.33|DSC01234|_DSC1234|DSC_0123-2|DSCN1234|DSCF1234
_MG_1234|_IGP1234|IMGP1234|CSC_0123|0Y7A1234|5D3_1234|100_1234|0042|7|DJI_0012|DJI_20240501102233_0001_D
GOPR0123|GP010123|GX010123|R0010123|SAM_0123|CIMG0123|PICT0123|SANY0123|HPIM0123|L1000123|P1000123|S7300123
PANO_20240501_102233|WIN_20240501_10_22_33_Pro|WP_20240501_001|C360_2024-05-01-10-22-33-123
FB_IMG_1714550000000|received_1234567890123|Snapchat-1234567890|mmexport1714550000000
KakaoTalk_20240501_102233123|B612_20240501_102233_123|InShot_20240501_102233|signal-2024-05-01-102233
photo_2024-05-01_10-22-33|Telegram Image 123456|WhatsApp Image 2024-05-01 at 10.22.33 (1)
PHOTO-2024-05-01-10-22-33|viber_image_2024-05-01_10-22-33|1714550000000|0A1B2C3D-4E5F-6789-ABCD-0123456789AB
d41d8cd98f00b204e9800998ecf8427e|438123456_122120123456789_1234567890123_n|Screenshot_20240501-102233
Screenshot 2024-05-01 at 10.22.33|Screen Shot 2024-05-01 at 10.22.33 AM|Screenshot (12)
Screenshot_20240501_102233_Chrome|Bildschirmfoto 2024-05-01 um 10.22.33
Capture d’écran 2024-05-01 à 10.22.33|Captura de pantalla 2024-05-01 102233|スクリーンショット 2024-05-01 10.22.33
微信图片_20240501102233|Снимок экрана 2024-05-01|Pasted image 20240501102233|Pasted Graphic 1|Untitled
Untitled 1|Untitled-1|Unknown|unnamed|Unbenannt|image0|image|image001|images (4)|Image from iOS|photo
Photo on 01-05-2024 at 10.22|Foto|Bild 3|Picture1|FullSizeRender|FullSizeRender(1)|fullsizeoutput_1a2b
tempImageAbCdEf|download (1)|Attachment-1|Clipboard01|Scan0001|Adobe Scan May 1, 2024|vlcsnap-00001
IMG_2041-Bearbeitet|cropped1234567890|Picsart_24-05-01_10-22-33-123|PB010123|S__12345678|image_67201537|Obrázek 1
vlcsnap-2024-05-01-10h22m33s123|shutterstock_1234567890|image-asset
"""
GIVEN = """
koala|koala 2|kettle1|rose (3)|cat|a1|my_image|Photo of a koala|picture frame|photo album|IMG_2041 koala
camera|Nikon D750|Boeing 747|Audi 80|BMW_2002|FORD1965|ABBA1974|Peugeot 205|F-16|P-51 Mustang|T-34|R2D2|C3PO
Sam|Sam 3|Samsung S24|Hero 9|Signal|Signal 100|Telegram|line 3|Windows 95|Agent 007|Blade Runner 2049
G7 summit 2024|Koala 2024-05-01|Apollo 11|May|コアラ|한국어|Café Zürich|Portrait of Ida Renst|Big Ben at night
decade|facade|Snow White|Polish|x-ray|Model S|Leica M3|Nutella 3017620422003|Screenshot of Quizglass|Live
Final|Pro
"""
OF_SYSTEMS = """
.koala.jpg|._koala.jpg|.thumbnails|.DS_Store|@eaDir|#recycle|Thumbs.db|desktop.ini|@__thumb|ZbThumbnail.info|__MACOSX|$RECYCLE.BIN|lost+found
IMG_2041.AAE|IMG_2041.xmp|~$koala.docx|koala.md~
"""


def names(listed: str) -> list[str]:
    return listed.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("name", names(OF_CAMERAS))
def test_names_that_cameras_and_programs_give(name: str) -> None:
    assert is_of_a_camera(name)


@pytest.mark.parametrize("name", names(GIVEN))
def test_names_that_people_give(name: str) -> None:
    assert not is_of_a_camera(name)


@pytest.mark.parametrize("name", names(OF_SYSTEMS))
def test_what_systems_leave_behind(name: str) -> None:
    assert is_of_a_system(name)
    assert not is_of_a_system("koala.jpg")


def test_kinds_are_those_of_the_ending_in_either_case() -> None:
    assert all(
        is_picture(Path(f"a.{end}")) for end in ("jpg", "JPEG", "jfif", "gif", "bmp", "tif", "TIFF", "webp", "avif")
    )
    assert all(is_document(Path(f"a.{end}")) for end in ("md", "MD", "mdown", "text", "rst", "htm", "xhtml"))
    assert not is_document(Path("a.pdf"))


@pytest.mark.parametrize(
    ("name", "advice"),
    [("a.pdf", "pdftotext"), ("a.docx", "pandoc"), ("a.XLSX", "CSV"), ("a", ".md"), ("a.q", ".q is")],
)
def test_what_is_not_read_is_said_with_what_can_be_done(name: str, advice: str) -> None:
    assert advice in why_not_read(Path(name))


def test_names_are_the_same_however_they_are_written() -> None:
    assert same_name("Café Zu\u0308rich") == same_name("CAFE\u0301 ZÜRICH")
    assert same_name("\u1112\u1161\u11ab") == same_name("한")
    assert bare_name(Path("koala.jpg.webp")) == "koala" == bare_name(Path("koala.jpg.md"))
    assert (page_of("Koala_files"), page_of("Koala-Dateien"), page_of("koala")) == ("Koala", "Koala", None)
