"""Pictures are made no larger than the server can use, and otherwise left alone."""

import io
import subprocess
import sys
import traceback

import numpy as np
import pytest
from PIL import Image

from quizglass_client import InvalidRequest
from quizglass_client.notes import note, photo_id
from quizglass_client.pictures import encode, is_ready
from tests.support.rpc_fakes import png


def encoded(image, format="PNG", **options):
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def photograph(width, height):
    """A flat JPEG that is never held decoded: one row of blocks by Pillow, as often as the picture has them."""
    row = encoded(Image.new("RGB", (width, 16), "gray"), "JPEG", quality=30, restart_marker_rows=1)
    size, scan = row.index(b"\xff\xc0") + 5, row.index(b"\xff\xda")
    begin = scan + 2 + int.from_bytes(row[scan + 2 : scan + 4], "big")
    head = row[:size] + height.to_bytes(2, "big") + row[size + 2 : begin]
    rows = (row[begin:-2] + bytes([0xFF, 0xD0 + number % 8]) for number in range(-(-height // 16)))
    return head + b"".join(rows)[:-2] + b"\xff\xd9"


def opened(data):
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("data", [png(100, 80), encoded(Image.new("RGB", (100, 80)), "JPEG")])
def test_a_picture_that_is_small_enough_is_sent_as_it_is(data):
    assert encode(data, 100) == data
    assert encode(data, 0) == data


def test_only_a_jpeg_that_is_small_enough_is_ready():
    jpeg = encoded(Image.new("RGB", (100, 80)), "JPEG")
    assert is_ready(jpeg, 100)
    assert is_ready(jpeg, 0)
    assert not is_ready(jpeg, 99)
    assert not is_ready(png(100, 80), 100)
    assert not is_ready(b"", 100)
    assert not is_ready(b"\xff\xd8\xff\xe0 no more", 100)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF"])
def test_a_larger_picture_is_resized_keeping_its_shape(format):
    resized = opened(encode(encoded(Image.new("RGB", (400, 200), "red"), format), 100))
    assert resized.format == "JPEG"
    assert resized.size == (100, 50)
    assert resized.getpixel((50, 25))[0] > 240


def test_a_rotated_photograph_is_upright_when_resized():
    exif = Image.Exif()
    exif[0x0112] = 6
    resized = opened(encode(encoded(Image.new("RGB", (400, 200)), "JPEG", exif=exif), 100))
    assert resized.size == (50, 100)
    assert resized.getexif().get(0x0112, 1) == 1


def test_a_phone_photograph_with_a_second_picture_is_resized():
    data = encoded(Image.new("RGB", (400, 200)), "MPO", save_all=True, append_images=[Image.new("RGB", (400, 200))])
    assert opened(encode(data, 100)).size == (100, 50)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a picture",
        encoded(Image.new("RGB", (400, 200), "red"), "JPEG")[:300],
        encoded(Image.effect_noise((90, 90), 90), "JPEG")[:2000],
    ],
    ids=["nothing", "text", "truncated before its size", "truncated and small"],
)
def test_what_need_not_be_resized_is_left_to_the_server_to_judge(data):
    assert encode(data, 100) == data


def test_a_path_and_a_pillow_image(tmp_path):
    path = tmp_path / "red.png"
    path.write_bytes(png(200, 100))
    assert opened(encode(path, 100)).size == (100, 50)
    assert encode(str(path), 200) == path.read_bytes()
    assert opened(encode(Image.new("RGB", (200, 100)), 100)).size == (100, 50)
    assert opened(encode(Image.new("RGBA", (20, 10)), 100)).getpixel((0, 0)) == (255, 255, 255)


def test_bytes_of_a_camera_are_taken_in_any_form():
    data = png(20, 10)
    assert encode(bytearray(data), 100) == data
    assert encode(memoryview(data), 100) == data
    assert photo_id(bytearray(data)) == photo_id(memoryview(data)) == photo_id(data)


@pytest.mark.parametrize("other", [np.zeros((9, 9, 3), np.uint8), 5, ["a.jpg"]])
def test_what_can_be_no_picture_says_what_can(other):
    wanted = r"give encoded bytes, a path, or a Pillow image \(of an array: Image\.fromarray\)"
    with pytest.raises(InvalidRequest, match=rf"^picture: \w+ is no picture; {wanted}$") as caught:
        encode(other, 100)
    assert (caught.value.field, caught.value.reason) == ("picture", "INVALID_PICTURE")
    with pytest.raises(InvalidRequest, match=wanted):
        photo_id(other)


def test_a_note_whose_text_is_none_is_named():
    with pytest.raises(InvalidRequest, match="text: int is no text"):
        note(5, [])


def test_sixteen_bit_grey_keeps_its_shades():
    ramp = np.tile(np.linspace(0, 65535, 200, dtype=np.uint16), (50, 1))
    resized = opened(encode(encoded(Image.fromarray(ramp)), 100)).convert("L")
    assert resized.getpixel((0, 10)) < 16
    assert 112 < resized.getpixel((50, 10)) < 144
    assert resized.getpixel((99, 10)) > 240


def test_a_missing_file_names_the_field(tmp_path):
    with pytest.raises(InvalidRequest, match=r"none\.png") as caught:
        encode(tmp_path / "none.png", 100, "pictures[2]")
    assert (caught.value.field, caught.value.reason) == ("pictures[2]", "NO_FILE")
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Traceback") == 1, "a missing file is one error, not one after the other"


@pytest.mark.parametrize("content", [b"", b"root:x:0:0", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"])
def test_a_file_that_is_no_picture_is_refused_by_name(tmp_path, content):
    (tmp_path / "passwd").write_bytes(content)
    with pytest.raises(InvalidRequest, match="passwd is no picture") as caught:
        encode(tmp_path / "passwd", 100, "frames[0]")
    assert (caught.value.field, caught.value.reason) == ("frames[0]", "INVALID_PICTURE")


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "AVIF"])
def test_a_damaged_picture_that_has_to_be_resized_is_refused_by_the_name_of_its_file(tmp_path, format):
    whole = encoded(Image.effect_noise((200, 200), 90), format)
    (tmp_path / "p.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidRequest, match=r"p\.jpg: the picture is damaged or truncated") as caught:
        encode(tmp_path / "p.jpg", 100, "frames[0]")
    assert (caught.value.field, caught.value.reason) == ("frames[0]", "INVALID_PICTURE")


def test_a_picture_of_very_many_scans_is_not_decoded_here():
    progressive = encoded(Image.new("RGB", (400, 400), "red"), "JPEG", progressive=True)
    last = progressive.rindex(b"\xff\xda")
    bomb = progressive[:last] + progressive[last:-2] * 600 + progressive[-2:]
    with pytest.raises(InvalidRequest, match="more than 100 scans"):
        encode(bomb, 100)


def test_a_folder_is_no_picture(tmp_path):
    with pytest.raises(InvalidRequest):
        encode(tmp_path, 100)


@pytest.mark.parametrize("size", [(20_000, 10), (10, 20_000), (5_000, 20)])
def test_a_far_too_oblong_picture_keeps_its_size_for_the_server_to_judge(size):
    wide = Image.new("RGB", size)
    assert encode(encoded(wide), 672) == encoded(wide)
    jpeg = encoded(wide, "JPEG")
    assert encode(jpeg, 672) == jpeg
    assert is_ready(jpeg, 672)
    assert opened(encode(wide, 672)).size == size


def test_a_panorama_that_can_be_used_is_resized():
    assert opened(encode(encoded(Image.new("RGB", (6_720, 960))), 672)).size == (672, 96)


MAKES_SMALLER = """
import sys
from pathlib import Path
from quizglass_client.pictures import encode

Path(sys.argv[2]).write_bytes(encode(Path(sys.argv[1]), 512))
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""
"""Prints the most memory that it had, in KiB."""


@pytest.mark.parametrize(("width", "height", "made"), [(12000, 9000, (512, 384)), (16320, 12240, (512, 384))])
def test_photographs_of_108_and_200_megapixels_are_made_smaller_in_little_memory(tmp_path, width, height, made):
    photo, small = tmp_path / "photo.jpg", tmp_path / "small.jpg"
    photo.write_bytes(photograph(width, height))
    command = [sys.executable, "-W", "error", "-c", MAKES_SMALLER, str(photo), str(small)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stderr) == (0, "")
    resized = opened(small.read_bytes())
    assert resized.size == made
    assert abs(resized.getpixel((500, 380))[0] - 128) < 4
    assert int(run.stdout) < 150 << 10, "decoded whole it has 324 or 600 MB"
