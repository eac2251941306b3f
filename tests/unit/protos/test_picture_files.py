"""Pictures as cameras, phones, scanners and programs write them: the same upright sRGB, sent small or made smaller."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from quizglass.picture_files.colour import MOST_PROFILE, to_srgb
from quizglass.picture_files.errors import BadPicture
from quizglass.picture_files.header import read_header
from quizglass.picture_files.png import picture_chunks
from quizglass.picture_files.rgb import decode_bytes
from quizglass_client import InvalidRequest
from quizglass_client.pictures import encode
from tests.support.pictures import colour_profiles

SIDE = 128
SIZES = [(96, 64), (960, 640)]
"""One is sent as it is by a client of a server that uses 128 pixels, one is made smaller."""
RED, GREEN = (200, 40, 40), (40, 170, 60)
COLOURS = (RED, GREEN, (50, 70, 190), (250, 250, 250))
"""Of the four corners, from the upper left one."""
Maker = Callable[[Image.Image], bytes]


def scene(size: tuple[int, int], colours: tuple[tuple[int, int, int], ...] = COLOURS) -> Image.Image:
    small = Image.new("RGB", (2, 2))
    small.putdata(colours)
    return small.resize(size, Image.Resampling.NEAREST)


def saved(image: Image.Image, format: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def chunk(name: bytes, body: bytes, checksum: int | None = None) -> bytes:
    crc = zlib.crc32(name + body) if checksum is None else checksum
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)


def with_chunk(png: bytes, made: bytes, before: bytes = b"IDAT") -> bytes:
    at = png.index(before) - 4
    return png[:at] + made + png[at:]


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


UNTURN = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
"""Pillow's transposition by which an upright picture becomes one that is stored with this EXIF orientation."""


def lying(image: Image.Image, orientation: int) -> Image.Image:
    return image.transpose(Image.Transpose(UNTURN[orientation]))


def in_space(image: Image.Image, profile: bytes) -> Image.Image:
    """The same colours in the numbers of a profile."""
    srgb = ImageCms.createProfile("sRGB")
    return ImageCms.profileToProfile(image, srgb, ImageCms.ImageCmsProfile(io.BytesIO(profile)), outputMode="RGB")


def sixteen_bits(image: Image.Image) -> bytes:
    pixels = np.asarray(image).astype(">u2") * 257
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", *image.size, 16, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def apng(image: Image.Image) -> bytes:
    return saved(image, "PNG", save_all=True, append_images=[Image.new("RGB", image.size)], duration=50)


def on_nothing(image: Image.Image) -> Image.Image:
    """Where the scene is nearly white, nothing."""
    layered = image.convert("RGBA")
    layered.putalpha(Image.fromarray((np.asarray(image).min(axis=2) < 240).astype(np.uint8) * 255))
    return layered


def palette(image: Image.Image) -> Image.Image:
    return image.quantize(8)


P3, ADOBE = colour_profiles.display(colour_profiles.P3), colour_profiles.display(colour_profiles.ADOBE)
BOMB = zlib.compress(bytes(64 << 20), 9)
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
JUNK_PROFILE = chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(MOST_PROFILE + 1)))

FORMS: dict[str, Maker] = {
    "JPEG": lambda image: saved(image, "JPEG"),
    "progressive JPEG": lambda image: saved(image, "JPEG", progressive=True),
    "JPEG of 4:4:4": lambda image: saved(image, "JPEG", subsampling=0),
    "CMYK JPEG": lambda image: saved(image.convert("CMYK"), "JPEG"),
    "JPEG with a preview behind it": lambda image: saved(
        image, "MPO", save_all=True, append_images=[image.rotate(180)]
    ),
    "JPEG with sRGB": lambda image: saved(image, "JPEG", icc_profile=SRGB),
    "JPEG in Display P3": lambda image: saved(in_space(image, P3), "JPEG", icc_profile=P3),
    "JPEG in Adobe RGB": lambda image: saved(in_space(image, ADOBE), "JPEG", icc_profile=ADOBE),
    "JPEG with a profile that is none": lambda image: saved(image, "JPEG", icc_profile=b"profile" * 100),
    "JPEG with a profile that is cut off": lambda image: saved(image, "JPEG", icc_profile=P3[:300]),
    "JPEG with a profile of grey": lambda image: saved(image, "JPEG", icc_profile=colour_profiles.grey(1.0)),
    "JPEG with a profile of inks": lambda image: saved(image, "JPEG", icc_profile=colour_profiles.printer()),
    **{f"JPEG turned {n}": lambda image, n=n: saved(lying(image, n), "JPEG", exif=turned(n)) for n in UNTURN},
    "PNG": lambda image: saved(image, "PNG"),
    "PNG with alpha": lambda image: saved(on_nothing(image), "PNG"),
    "PNG of 16 bits": sixteen_bits,
    "PNG with a palette": lambda image: saved(palette(image), "PNG"),
    "PNG whose palette has transparency": lambda image: saved(
        palette(image), "PNG", transparency=palette(image).getpixel((image.width - 1, image.height - 1))
    ),
    "PNG turned": lambda image: saved(lying(image, 6), "PNG", exif=turned(6)),
    "PNG turned after its pixels": lambda image: with_chunk(
        saved(lying(image, 6), "PNG"), chunk(b"eXIf", turned(6).tobytes()[6:]), b"IEND"
    ),
    "PNG in Display P3": lambda image: saved(in_space(image, P3), "PNG", icc_profile=P3),
    "PNG of a palette in Display P3": lambda image: saved(palette(in_space(image, P3)), "PNG", icc_profile=P3),
    "PNG with alpha in Display P3": lambda image: saved(on_nothing(in_space(image, P3)), "PNG", icc_profile=P3),
    "PNG with two MiB of text": lambda image: with_chunk(saved(image, "PNG"), chunk(b"tEXt", b"a\0" + bytes(2 << 20))),
    "PNG with 64 MiB of packed text": lambda image: with_chunk(saved(image, "PNG"), chunk(b"zTXt", b"a\0\0" + BOMB)),
    "PNG with 64 MiB of packed text twenty times": lambda image: with_chunk(
        saved(image, "PNG"), chunk(b"iTXt", b"a\0\1\0\0\0" + BOMB) * 20
    ),
    "PNG with text behind its pixels": lambda image: with_chunk(
        saved(image, "PNG"), chunk(b"zTXt", b"a\0\0" + BOMB), b"IEND"
    ),
    "PNG with a profile that is too large": lambda image: with_chunk(saved(image, "PNG"), JUNK_PROFILE, b"IDAT"),
    "PNG with a profile that is cut off": lambda image: with_chunk(saved(image, "PNG"), chunk(b"iCCP", b"x\0\0x")),
    **{
        f"PNG with a wrong checksum in {name.decode()}": lambda image, name=name: with_chunk(
            saved(image, "PNG"), chunk(name, b"a\0bcdefgh", 1)
        )
        for name in (b"tEXt", b"zTXt", b"iTXt", b"gAMA", b"cHRM", b"pHYs", b"tIME", b"bKGD", b"sBIT", b"iCCP", b"eXIf")
    },
    "PNG with a chunk of a program's own": lambda image: with_chunk(saved(image, "PNG"), chunk(b"prVt", b"x" * 99)),
    "PNG with something behind it": lambda image: saved(image, "PNG") + b"more" * 99,
    "PNG without its end": lambda image: saved(image, "PNG")[:-12],
    "animated PNG": apng,
    "WebP": lambda image: saved(image, "WEBP"),
    "WebP without loss": lambda image: saved(on_nothing(image), "WEBP", lossless=True),
    "WebP turned": lambda image: saved(lying(image, 8), "WEBP", exif=turned(8)),
    "WebP in Display P3": lambda image: saved(in_space(image, P3), "WEBP", icc_profile=P3),
    "animated WebP": lambda image: saved(image, "WEBP", save_all=True, append_images=[image.rotate(180)]),
    "BMP": lambda image: saved(image, "BMP"),
    "BMP with a palette": lambda image: saved(palette(image), "BMP"),
    "GIF": lambda image: saved(image, "GIF"),
    "GIF with transparency": lambda image: saved(on_nothing(image), "GIF"),
    "animated GIF": lambda image: saved(image, "GIF", save_all=True, append_images=[image.rotate(180)]),
    "TIFF": lambda image: saved(image, "TIFF"),
    "TIFF by LZW": lambda image: saved(image, "TIFF", compression="tiff_lzw"),
    "TIFF by JPEG": lambda image: saved(image, "TIFF", compression="jpeg"),
    "TIFF of inks": lambda image: saved(image.convert("CMYK"), "TIFF"),
    "TIFF turned": lambda image: saved(lying(image, 6), "TIFF", tiffinfo={0x0112: 6}),
    "TIFF in Adobe RGB": lambda image: saved(in_space(image, ADOBE), "TIFF", icc_profile=ADOBE),
    "AVIF": lambda image: saved(image, "AVIF"),
    "AVIF turned": lambda image: saved(lying(image, 6), "AVIF", exif=turned(6)),
    "AVIF in Display P3": lambda image: saved(in_space(image, P3), "AVIF", icc_profile=P3),
    "animated AVIF": lambda image: saved(image, "AVIF", save_all=True, append_images=[image.rotate(180)]),
}


def pixels(data: bytes) -> np.ndarray:
    """As the server decodes it."""
    width, height, rgb = decode_bytes(data, read_header(data))
    return np.frombuffer(rgb, np.uint8).reshape(height, width, 3)


def corners(picture: np.ndarray) -> np.ndarray:
    """The middles of its four quarters."""
    height, width, _ = picture.shape
    return picture[np.ix_([height // 4, 3 * height // 4], [width // 4, 3 * width // 4])].reshape(4, 3).astype(int)


@pytest.mark.parametrize("size", SIZES, ids=["small", "large"])
@pytest.mark.parametrize("form", FORMS)
def test_a_picture_of_any_form_arrives_upright_and_in_its_colours(form: str, size: tuple[int, int]) -> None:
    seen = pixels(encode(FORMS[form](scene(size)), SIDE))
    assert seen.shape == ((64, 96, 3) if size == SIZES[0] else (85, 128, 3))
    assert np.abs(corners(seen) - COLOURS).max() <= 12


def test_phones_pictures_arrive_too() -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    for size in SIZES:
        stored = saved(in_space(scene(size), P3), "HEIF", icc_profile=P3, quality=90)
        assert np.abs(corners(pixels(encode(stored, SIDE))) - COLOURS).max() <= 12


@pytest.mark.parametrize("size", SIZES, ids=["small", "large"])
@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF"])
def test_grey_and_inks_are_what_their_profiles_say(size: tuple[int, int], format: str) -> None:
    linear = saved(Image.new("L", size, 55), format, icc_profile=colour_profiles.grey(1.0))
    assert np.abs(pixels(encode(linear, SIDE)).astype(int) - 127).max() <= 3
    if format != "PNG":
        cyan = saved(Image.new("CMYK", size, (255, 0, 0, 0)), format, icc_profile=colour_profiles.printer())
        assert np.abs(corners(pixels(encode(cyan, SIDE))) - (252, 8, 10)).max() <= 8


@pytest.mark.parametrize("size", SIZES, ids=["small", "large"])
@pytest.mark.parametrize(
    ("mode", "format"), [("1", "PNG"), ("1", "BMP"), ("1", "TIFF"), ("I;16", "PNG"), ("I;16", "TIFF")]
)
def test_black_white_and_grey_of_sixteen_bits(size: tuple[int, int], mode: str, format: str) -> None:
    image = Image.new("L", size, 160)
    image.paste(0, (0, 0, size[0] // 2, size[1]))
    if mode == "1":
        image = image.point(lambda shade: 255 * (shade > 0)).convert("1")
    else:
        image = Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
    seen = corners(pixels(encode(saved(image, format), SIDE)))
    assert np.abs(seen[:, 0] - np.array([0, 255, 0, 255] if mode == "1" else [0, 160, 0, 160])).max() <= 6


def test_a_picture_is_the_same_to_the_server_whether_the_client_made_it_smaller_or_not() -> None:
    """So that what was added with one client is found with another."""
    noise = Image.effect_noise((32, 24), 60).resize((1280, 960), Image.Resampling.BICUBIC).convert("RGB")
    stored = saved(in_space(noise, P3), "JPEG", icc_profile=P3, quality=95, exif=turned(6))
    whole = Image.fromarray(pixels(stored)).resize((96, 128), Image.Resampling.LANCZOS)
    small = pixels(encode(stored, SIDE))
    assert np.abs(small.astype(int) - np.asarray(whole)).mean() < 2


@cache
def detailed(**options: object) -> bytes:
    """A picture whose rows take about the same number of bytes each."""
    noise = Image.effect_noise((128, 128), 60).resize((512, 512))
    return saved(Image.merge("RGB", (noise, noise.rotate(90), noise.rotate(180))), "JPEG", quality=90, **options)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}], ids=str)
@pytest.mark.parametrize("lost", [1, 2, 3, 0.001, 0.05, 0.2])
@pytest.mark.parametrize("side", [512, 128])
def test_a_jpeg_whose_last_bytes_are_missing_is_shown_as_far_as_it_goes(
    options: dict[str, bool], lost: float, side: int
) -> None:
    whole = detailed(**options)
    cut = whole[: -lost if lost >= 1 else -int(lost * len(whole))]
    expected, seen = pixels(encode(whole, side)), pixels(encode(cut, side))
    assert np.array_equal(pixels(encode(cut + bytes(10_000), side)), seen), "zeros in place of them are no picture"
    upper = slice(0, int(0.7 * len(seen)))
    assert np.abs(seen[upper].astype(int) - expected[upper]).mean() < (12 if options.get("progressive") else 1)


@pytest.mark.parametrize("left", [0.1, 0.3, 0.5])
def test_a_jpeg_of_which_too_much_is_missing_is_said_to_be_damaged(left: float) -> None:
    whole = detailed()
    cut = whole[: int(left * len(whole))]
    with pytest.raises(BadPicture, match="missing"):
        pixels(cut)
    with pytest.raises(InvalidRequest, match="missing"):
        encode(cut, 128)


def test_a_jpeg_that_ends_within_a_segment_is_shown_as_far_as_it_goes() -> None:
    whole = detailed(progressive=True)
    tables = [at for at in range(len(whole)) if whole[at : at + 2] == b"\xff\xc4"]
    assert np.abs(pixels(whole[: tables[-1] + 9]).astype(int) - pixels(whole)).mean() < 12


def test_a_grey_wall_is_no_missing_part_of_a_whole_jpeg() -> None:
    assert pixels(saved(Image.new("RGB", (64, 64), (128, 128, 128)), "JPEG")).shape == (64, 64, 3)


def test_what_no_models_look_at_is_not_even_unpacked() -> None:
    png = saved(scene((96, 64)), "PNG")
    texts = chunk(b"zTXt", b"a\0\0" + BOMB) + chunk(b"fcTL", b"?") + chunk(b"iCCP", b"x\0\0" + zlib.compress(P3))
    kept, profile = picture_chunks(with_chunk(png, texts))
    assert (kept, profile) == (png, P3)
    assert picture_chunks(png) == (png, b"")


def test_sixteen_bit_colours_of_a_profile_that_is_srgb_are_left_alone() -> None:
    image = Image.merge("RGB", [Image.effect_noise((64, 64), 90) for _ in range(3)])
    assert to_srgb("RGB", SRGB)(image) is image
    assert to_srgb("RGB", b"")(image) is image


def giant(width: int, height: int) -> bytes:
    """A photograph of so many pixels, made of one strip of it again and again, as restart markers allow."""
    strip = saved(
        scene((width, 16), (RED, GREEN, RED, GREEN)), "JPEG", quality=20, subsampling=2, restart_marker_rows=1
    )
    head, scan = strip[: (at := strip.index(b"\xff\xda"))], strip[at:-2]
    length = int.from_bytes(scan[2:4]) + 2
    frame = head.index(b"\xff\xc0")
    head = head[: frame + 5] + struct.pack(">H", height) + head[frame + 7 :]
    body = b"".join(scan[length:] + bytes((0xFF, 0xD0 + row % 8)) for row in range(-(-height // 16)))
    return head + scan[:length] + body[:-2] + b"\xff\xd9"


@pytest.mark.parametrize("size", [(12_000, 9_000), (16_320, 12_240)])
@pytest.mark.filterwarnings("error")
def test_the_largest_photographs_are_made_smaller(size: tuple[int, int]) -> None:
    seen = Image.open(io.BytesIO(encode(giant(*size), 672)))
    assert (seen.format, seen.size) == ("JPEG", (672, 504))
    for x, colour in ((168, RED), (504, GREEN)):
        for y in (2, 252, 501):
            assert np.abs(np.array(seen.getpixel((x, y))) - colour).max() <= 12


def test_what_cannot_be_made_smaller_within_memory_is_refused_by_its_size() -> None:
    png = saved(Image.new("1", (64, 64)), "PNG")
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    claims = with_chunk(png.replace(png[8:33], b""), chunk(b"IHDR", header))
    with pytest.raises(InvalidRequest, match="60000 x 60000 pixels of this format take"):
        encode(claims, 672)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["JPEG in Display P3", "PNG in Display P3", "animated PNG", "TIFF", "GIF", "WebP"]), st.data())
def test_damaged_pictures_are_made_smaller_or_refused(form: str, data: st.DataObject) -> None:
    spoilt = bytearray(FORMS[form](scene((96, 64))))
    for _ in range(data.draw(st.integers(1, 5))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(spoilt[: data.draw(st.integers(len(spoilt) // 2, len(spoilt)))])
    try:
        made = encode(cut, 32)
    except InvalidRequest as error:
        refused = error
    else:
        assert made
        return
    assert refused.field == "picture"
