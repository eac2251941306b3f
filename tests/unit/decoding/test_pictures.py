"""Pictures from clients: whatever the bytes are, they become a picture or an error that names the field."""

import hashlib
import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.pictures import decode_picture, is_quick
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidPicture

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
LIMITS = PictureLimits()
FIELD = "frames[0].encoded"
RED, BLUE = (255, 0, 0), (0, 0, 255)


def encoded(image: Image.Image, format: str = "PNG", **options) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def two_halves(width: int = 48, height: int = 32) -> Image.Image:
    """Left half red, right half blue."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (width // 2, 0, width, height))
    return image


def decode(data: bytes, limits: PictureLimits = LIMITS) -> Picture:
    return decode_picture(data, limits, FIELD)


def refusal(data: bytes, limits: PictureLimits = LIMITS) -> str:
    with pytest.raises(InvalidPicture) as caught:
        decode(data, limits)
    assert caught.value.field == FIELD
    return caught.value.description


def close(pixel, colour) -> bool:
    return bool(np.all(np.abs(pixel.astype(int) - colour) < 12))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_allowed_formats_become_upright_rgb(format):
    picture = decode(data := encoded(two_halves(), format, quality=95))
    assert picture.pixels.shape == (32, 48, 3)
    assert picture.pixels.dtype == np.uint8
    assert picture.sha256 == hashlib.sha256(data).digest()
    assert close(picture.pixels[16, 4], RED)
    assert close(picture.pixels[16, 44], BLUE)


@pytest.mark.parametrize("format", ["BMP", "TIFF", "GIF", "PPM", "ICO"])
def test_other_formats_are_refused(format):
    assert "JPEG, PNG, WEBP" in refusal(encoded(two_halves(64, 64), format))


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"\0\0\0\x18ftypheic", "HEIC"),
        (b"\0\0\0\x18ftypmif1", "HEIC"),
        (b"\0\0\0\x1cftypavif", "AVIF"),
        (b"GIF89a", "GIF"),
        (b"BM\x36", "BMP"),
        (b"II*\0\x08", "TIFF"),
        (b"MM\0*\0", "TIFF"),
    ],
)
def test_a_picture_of_another_format_is_called_by_its_name(start, name):
    assert f"{name} is not taken; send JPEG, PNG, WEBP" in refusal(start + bytes(40))


def test_a_video_is_not_called_a_picture():
    assert refusal(b"\0\0\0\x18ftypmp42" + bytes(40)) == "not a picture; send JPEG, PNG, WEBP"


def test_a_damaged_picture_says_what_to_send():
    for format in ("PNG", "JPEG"):
        whole = encoded(two_halves(64, 64), format)
        assert refusal(whole[: len(whole) // 2]).endswith("; send the whole file")


def test_no_bytes():
    assert "0 bytes" in refusal(b"")


@pytest.mark.parametrize(
    "data", [b"hello", b"\x00" * 4096, b"%PDF-1.7\n", b"<svg xmlns='http://www.w3.org/2000/svg'/>"]
)
def test_not_a_picture(data):
    assert "not a picture" in refusal(data)


@pytest.mark.parametrize(
    ("format", "share"), [("JPEG", 0.5), ("PNG", 0.5), ("PNG", 0.98), ("WEBP", 0.5), ("WEBP", 0.98)]
)
def test_truncated_files_are_refused(format, share):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), format)
    refusal(data[: int(len(data) * share)])


def test_a_png_of_20000_by_1_pixels_is_refused():
    assert "one side is 20000 times the other" in refusal(encoded(Image.new("RGB", (20_000, 1))))


@pytest.mark.parametrize("size", [(1, 1), (7, 7), (7, 40)])
def test_tiny_pictures_are_refused(size):
    assert "too small" in refusal(encoded(Image.new("RGB", size)))


def test_aspect_is_capped():
    assert "crop it" in refusal(encoded(Image.new("RGB", (900, 100))))
    assert decode(encoded(Image.new("RGB", (800, 100)))).width == 800


def test_bytes_are_capped():
    data = encoded(two_halves())
    assert "bytes" in refusal(data, PictureLimits(max_frame_bytes=len(data) - 1))
    decode(data, PictureLimits(max_frame_bytes=len(data)))


def test_pixels_are_capped_before_they_are_loaded():
    data = encoded(two_halves(100, 80))
    assert "pixels" in refusal(data, PictureLimits(max_frame_pixels=7999))
    decode(data, PictureLimits(max_frame_pixels=8000))


@pytest.mark.parametrize("side", [12_000, 60_000])
def test_a_header_that_claims_gigapixels_is_refused_without_them(side):
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\x00")) + chunk(b"IEND", b"")
    assert "pixels" in refusal(bomb)


@pytest.mark.parametrize(
    ("orientation", "red", "shape"),
    [
        (1, (16, 4), (32, 48)),
        (2, (16, 44), (32, 48)),
        (3, (16, 44), (32, 48)),
        (6, (4, 16), (48, 32)),
        (8, (44, 16), (48, 32)),
    ],
)
def test_exif_orientation_is_applied(orientation, red, shape):
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = decode(encoded(two_halves(), "JPEG", quality=95, exif=exif))
    assert picture.pixels.shape == (*shape, 3)
    assert close(picture.pixels[red], RED)


@pytest.mark.parametrize(
    "damage", [b"Exif\x00\x00II*\x00\xff\xff\xff\xff", b"Exif\x00\x00", b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\xff"]
)
def test_a_damaged_exif_block_does_not_spoil_the_picture(damage):
    assert close(decode(encoded(two_halves(), "JPEG", exif=damage)).pixels[16, 4], RED)


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_an_animation_counts_as_its_first_frame(format):
    data = encoded(two_halves(), format, save_all=True, append_images=[Image.new("RGB", (48, 32), BLUE)], duration=100)
    picture = decode(data)
    assert close(picture.pixels[16, 4], RED)
    assert close(picture.pixels[16, 44], BLUE)


def test_an_animated_gif_is_refused():
    refusal(encoded(two_halves(), "GIF", save_all=True, append_images=[Image.new("RGB", (48, 32), BLUE)]))


def test_a_phone_photograph_with_a_second_picture_counts_as_its_first():
    data = encoded(two_halves(), "MPO", save_all=True, append_images=[Image.new("RGB", (48, 32), "green")])
    assert close(decode(data).pixels[16, 4], RED)


def test_sixteen_bit_grey_keeps_its_shades():
    ramp = np.tile(np.linspace(0, 65535, 64, dtype=np.uint16), (16, 1))
    pixels = decode(encoded(Image.fromarray(ramp))).pixels
    assert pixels.shape == (16, 64, 3)
    assert pixels[0, 0, 0] == 0
    assert 120 <= pixels[0, 32, 0] <= 136
    assert pixels[0, 63, 0] == 255


def test_cmyk_jpeg():
    assert close(decode(encoded(two_halves().convert("CMYK"), "JPEG", quality=95)).pixels[16, 4], RED)


@pytest.mark.parametrize("mode", ["1", "L"])
def test_grey_and_bilevel(mode):
    assert decode(encoded(Image.new(mode, (20, 20), 1 if mode == "1" else 255))).pixels.min() == 255


def test_palette_with_transparency_lies_on_white():
    image = two_halves().quantize(4)
    transparent = image.getpixel((4, 16))
    pixels = decode(encoded(image, transparency=transparent)).pixels
    assert close(pixels[16, 4], (255, 255, 255))
    assert close(pixels[16, 44], BLUE)


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_alpha_lies_on_white(format):
    pixels = decode(encoded(Image.new("RGBA", (16, 16), (0, 0, 0, 0)), format, lossless=True)).pixels
    assert pixels.min() == 255


def test_pictures_are_the_same_when_their_bytes_are():
    data = encoded(two_halves())
    assert decode(data) == decode(data)
    assert len({decode(data), decode(data), decode(encoded(two_halves(), "WEBP"))}) == 2


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_are_refused_and_nothing_else(data):
    decode_or_refuse(data)


SEEDS = [
    encoded(two_halves(), "JPEG"),
    encoded(two_halves(), "JPEG", exif=b"Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00"),
    encoded(two_halves()),
    encoded(two_halves().quantize(4), transparency=0),
    encoded(two_halves(), "WEBP"),
    encoded(Image.fromarray(np.zeros((16, 16), np.uint16))),
]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_damaged_files_become_a_picture_or_are_refused(seed, damage):
    data = bytearray(seed)
    for where, value in damage:
        data[min(int(where * len(data)), len(data) - 1)] = value
    decode_or_refuse(bytes(data))


def decode_or_refuse(data: bytes) -> None:
    try:
        picture = decode(data)
    except InvalidPicture as refused:
        told = refused
    else:
        assert picture.pixels.shape[2:] == (3,)
        assert picture.pixels.dtype == np.uint8
        return
    assert told.field == FIELD
    assert told.description


def test_only_small_jpegs_are_quick() -> None:
    assert is_quick(encoded(two_halves(512, 512), "JPEG"))
    assert not is_quick(encoded(two_halves(520, 512), "JPEG"))
    assert not is_quick(encoded(two_halves(64, 64), "PNG"))
    assert not is_quick(encoded(two_halves(64, 64), "JPEG") + bytes(300_000))
    assert not is_quick(b"no picture")
    assert not is_quick(b"")


def test_a_picture_is_known_by_the_hash_of_its_bytes() -> None:
    data = encoded(two_halves())
    assert decode(data).sha256 == hashlib.sha256(data).digest()
    assert decode_picture(data, LIMITS, "frame", sha256=b"1" * 32).sha256 == b"1" * 32


def test_pixels_are_shared_and_never_written_to() -> None:
    assert not decode(encoded(two_halves(), "JPEG")).pixels.flags.writeable
