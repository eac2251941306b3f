"""Names given by cameras and programs, and names given by people."""

from pathlib import Path

import pytest

from quizglass_client.names.cameras import is_of_a_camera
from quizglass_client.names.kinds import (
    bare_name,
    is_document,
    is_of_a_system,
    is_picture,
    page_of,
    same_name,
    why_not_read,
)
from tests.support.pictures.names import BY_PEOPLE, BY_PROGRAMS, listed

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
IMG_0001_2|IMG_20231105_184512_1|IMG-20230712-WA0041|IMG-6f2b1c9e0d3a4b5c8e7f-V|IMG_20240102_030405_00_HDR
IMG_1234 – Kopie|IMG_1234 kopio|IMG_0417-COLLAGE|20231105_184512(1)_HDR|20190712_121314_Film1|20190712_121314-01
2020-12-31 23.59.59-1|PXL_20230811_101112131.NIGHT|PXL_20230811_101112131~2|PXL_20230811_101112131.PANO
PXL_20230811_101112131.TS|MVIMG_20180712_123456|DSC00001_1|DSC_0001-Edit|DSC_0001-Enhanced-NR|DSC_0001-HDR
DSC_0001-Pano|_A7R1234|_A7C0123|_DSF1234|8K0A1234|BL1A1234|P9150012|PA150012|PC310099|P1010001 (2)|L1001234
DJI_20230101120000_0001_Z|DJI_Mimo_20230101_120000_0_0_1672570800000_photo
dji_fly_20230101_120000_12_1672570800000_photo_optimized|dji_export_1672570800000|hyperlapse_0012|PANO0001|GOPR1234
G0012345|GPTempDownload|IMG_20230101_120000_00_001|VID_20230101_120000_00_001|YI000123|R0012345|SAM_1234|SDC10123
DCP_1234|100_0001|101_0234|100-0001|EX00001|FILE0123|IMAG0123_BURST002_COVER|imgp0012|WP_000123
LRM_EXPORT_20230101_120000|Photoroom-20230101_120000|CamScanner 01-01-2023 12.00|Adobe Scan 01 Jan 2023
Adobe Scan Jan 1, 2023 (1)|Scanned_20230101-1200|Scannable Document on Jan 1, 2023 at 12_00_00 PM
Scan 1. Jan 2023 um 12.00|Scan_0001|scan0001|SCAN1234_000|CCF_000123|Numérisation_20230101|Escanear_20230101
Dokument_2023-01-01_120000|Photo le 01-01-2023 à 12.00 #2|Photo on 1-1-23 at 12.00 PM|사진 2023. 1. 1. 오후 12 00 00
KakaoTalk_Snapshot_20230101_120000|Screenshot_2023-01-01-12-00-00-123_com.whatsapp|Screenshot_20230101-120000_YouTube
Screenshot_20230101-120000~2|Screenshot_1672570800|Screen_Shot_2023-01-01_at_12
Bildschirmfoto 2023-01-01 um 12.00.00 (2)|Schermata 2023-01-01 alle 12.00.00|Skärmavbild 2023-01-01 kl. 12.00.00
Skjermbilde 2023-01-01 kl. 12.00.00|Ekran Resmi 2023-01-01 12.00.00|Ekran görüntüsü 2023-01-01 120000
Снимок экрана 2023-01-01 в 12.00.00|스크린샷 2023-01-01 오후 12.00.00|屏幕截图 2023-01-01 120000|截屏2023-01-01 12.00.00
微信截图_20230101120000|wx_camera_1672570800000|B612_20230101_120000_123|SNOW_20230101_120000_123|FaceApp_1672570800000
Foodie_20230101_120000|Snapseed 12|Snapseed|PicsArt_01-01-12.00.00|FB_IMG_1672570800000|received_1234567890123456
received_123456789012345(1)|messenger_1672570800|IMG_1672570800000|1672570800|Snapchat-123456789
Snapchat-1234567890123456789|signal-2023-01-01-120000_002|signal-2023-01-01-12-00-00-123
viber image 2023-01-01 , 12.00.00|0-02-05-0123456789abcdef0123456789abcdef_1c6da0b1
WhatsApp Image 2023-01-01 at 12.00.00 PM (3)|WhatsApp-Image-2023-01-01-at-12.00.00
Image WhatsApp 2023-01-01 à 12.00.00|LINE_ALBUM_2023-01-01_230101_1|LINE_P2023101_120000000|line_1672570800000
temp_image_0B1C2D3E|tempImage1a2b3c|cache_12345|ticket_1234567890|image_picker_0A1B2C3D-4E5F-6789-ABCD-0123456789AB
scaled_1000012345|1000012345|resized_1672570800|output_1234567890|file_00000000a1b261f7
JPEG_20230101_120000_1234567890|JPEG_20230101_120000|jpg_1234567890|CAP1234567890123|camphoto_1234567890|Camera_0123
cam_20230101_120000|MyPhoto_1234567_0012|LMC_20230101_120000_LMC8.4|GCam_20230101_120000|AGC_20230101_120000123
NightCap_20230101_120000|ProShot_20230101_120000|C360_2023-01-01-12-00-00-123_org|Retrica_01-01-2023_12.00.00
CYMERA_20230101_120000|CameraPlus_0123|20230101_IMG_0123|2023-01-01-DSC_0123|2023_01_01_0123|0001
9b74c9897bac770ffc029102a200c5de|AF1QipN4kYx9c8e7bLZ2aQ|AP1WRLuG5x9f2kQ|dkXq3vT9sLmP0aZb|Zk3jH8sQpL0x
tumblr_inline_o1a2b3c4d5|GBz8V1nWQAA1234|291843123_1234567890123456_1234567890123456789_n
istockphoto-123456789-612x612|GettyImages-123456789|AdobeStock_123456789|depositphotos_12345678-stock-photo
pexels-photo-1234567|unsplash-1a2b3c4d|download|Download 2|unnamed (1)|Unbenannt-1|Sans titre|Sans titre-1|Sin título
Senza titolo 2|Naamloos|Namnlös|Ohne Titel|Bez tytułu|名称未設定 1|제목 없음|New Project (1)|Untitled design
Untitled design (2)|Untitled_Artwork|Untitled-2-Recovered|Image-1|image_123650291|Image.jpeg|image002|image_50412545
Bild (2)|Billede 1|Obraz1|Imagem1|Afbeelding1|Kuva1|图片1|照片 2023-01-01 12 00 00|그림1
صورة واتساب بتاريخ 2023-01-01 في 12.00.00|ClipboardImage_1672570800|Pasted Image 2|Pasted image|Pic_20230101_120000
PIC_0123|Photo0123|Photo_010123_001|photo-output|photo-output 2|foto-0123|Foto0001|FOTO_20230101|Image_20230101_0001
Img2023010112000012345|Webcam-1672570800|frame0001|thumbnail_IMG_1234|small_DSC_0123|web_IMG_1234|IMG_1234.jpg.jpeg
IMG_1234_jpg|image-removebg-preview (1)|ChatGPT Image Jan 1, 2023, 12_00_00 PM|Gemini_Generated_Image_a1b2c3d4e5
00012-1234567890|ComfyUI_00012_|freepik__1234567|upload_1234567890|attachment|Attachment 1|Anhang 1|ATT00001
Copy of IMG_1234|Cópia de IMG_1234|RPReplay_Final1672570800|trim.0A1B2C3D-4E5F-6789-ABCD-0123456789AB
lv_0_20230101120000|ssstik.io_1672570800000|Instagram_0A1B2C3D|Twitter_20230101_120000|Threads_1672570800
"""
GIVEN = """
koala|koala 2|kettle1|rose (3)|cat|a1|my_image|Photo of a koala|picture frame|photo album|IMG_2041 koala
camera|Nikon D750|Boeing 747|Audi 80|BMW_2002|FORD1965|ABBA1974|Peugeot 205|F-16|P-51 Mustang|T-34|R2D2|C3PO
Sam|Sam 3|Samsung S24|Hero 9|Signal|Signal 100|Telegram|line 3|Windows 95|Agent 007|Blade Runner 2049
G7 summit 2024|Koala 2024-05-01|Apollo 11|May|コアラ|한국어|Café Zürich|Portrait of Ida Renst|Big Ben at night
decade|facade|Snow White|Polish|x-ray|Model S|Leica M3|Nutella 3017620422003|Screenshot of Quizglass|Live
Final|Pro
red_kettle|kettle-2|kettle 2|kettle front|green bin|boiler-manual|grandma|Grandma 1974|bike_lock|bike lock 4711
spare key|house key 2|wifi router|Volvo 240|VW_Golf_2|Yamaha FZ6|BMW 320d|Audi A4|Titanic|MS Stubnitz|iPhone 12
iphone box|Canon EOS 5D|Epson printer|HP LaserJet 1020|Leica|DJI Mini 2|dji battery|sony walkman|Sony WH-1000XM4
Samsung TV|samsung fridge|Kodak Retina|Polaroid|Polaroid 600|Lego_Technic_42100|catan|UNO|monstera_2024|tomato plant 3
garden_2022|April|August Macke|Summer_2019_beach|Christmas 2022|xmas tree|birthday cake|Birthday 40|wedding_2012
Paris 2018|Berlin Mauer|London Eye 2|NYC|Everest|dog-park|Luna 2023|Bello vom Hof|parrot|DSC_0001 grandma
2023-01-01 New Year fireworks|Scan of birth certificate|insurance card|invoice 4711|washing machine|dishwasher filter
thermostat manual p2|heating pump|Grundfos Alpha2|Makita DHP453|hammer|ladder|pan|wok|coffee machine|Jura E8|moka pot
blue cup|chipped cup|Chateau Margaux 1990|guitar|Fender Strat 1962|Gibson ES-335|amp|starry night|Eames chair
lamp_left|carpet|front door|photo of the boiler|old camera|film|film roll|VHS tape|file cabinet|screen|screen door
snapshot of the dashboard|download tower|Windows 95 box|win|wine|live oak|story book|signal box|signal tower 3
telegram from uncle Bob|messenger bag|hero|night sky|slow cooker|wide awake|final exam|copy shop|tank|T-72|F16|B-52
C-3PO|Xbox 360|Atari 2600|ZX81|Ubuntu 22.04|HDMI cable|RJ45|AA battery|DIN 912|5G mast|H2O|vitamin B12|Aspirin
Coca-Cola|7up|Chanel No 5|Platz 9|Gate 7|Bus 42|Tram 18|Route 66|Heizung Keller|Fahrrad_rot|Bild von Oma|gatto|猫|やかん
القطة|cafe|babe|accede|Abba|Xylophone|Krk|strč prst skrz krk|Mr T|mp3 player|hgv licence
"""
OF_SYSTEMS = """
.koala.jpg|._koala.jpg|.thumbnails|.DS_Store|@eaDir|#recycle|Thumbs.db|desktop.ini|@__thumb|ZbThumbnail.info|__MACOSX|$RECYCLE.BIN|lost+found
IMG_2041.AAE|IMG_2041.xmp|~$koala.docx|koala.md~
"""


@pytest.mark.parametrize("name", listed(OF_CAMERAS))
def test_names_that_cameras_and_programs_give(name: str) -> None:
    assert is_of_a_camera(name)


@pytest.mark.parametrize("name", listed(GIVEN))
def test_names_that_people_give(name: str) -> None:
    assert not is_of_a_camera(name)


def test_names_that_the_rule_was_not_fitted_to() -> None:
    programs, people = listed(BY_PROGRAMS), listed(BY_PEOPLE)
    missed = [name for name in programs if not is_of_a_camera(name)]
    wronged = [name for name in people if is_of_a_camera(name)]
    assert len(missed) <= len(programs) * 0.11, missed
    assert len(wronged) <= len(people) * 0.02, wronged


@pytest.mark.parametrize("name", listed(OF_SYSTEMS))
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
