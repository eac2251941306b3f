"""The decoder process: `python -m quizglass_server.decoding.worker`, started by `process` and never by hand.

Its standard input is one end of a socket on which each message is a request with the encoded file's descriptor, and
each answer has the pixels' descriptor or a reason. It decodes one file at a time, under limits of memory and processor
time that the request brings: what goes beyond them ends here. It can open no socket, write no file and start nothing
(`containment`). It ends with the server, however that ends.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import signal
import socket
import sys
import warnings
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageCms

from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import FORMATS, read_header
from quizglass.picture_files.rgb import Decoded, checked, decode
from quizglass_server.containment import contain
from quizglass_server.decoding.messages import ANSWER, DONE, MEMORY, MOST_WORDS, REFUSED, REQUEST
from quizglass_server.parent_death import die_with_parent

SLACK_BYTES = 48 << 20
"""Address space beyond what a file may take: allocators reserve more than they use."""
_DESCRIPTORS = 16


def main() -> None:
    """Decode until the server closes its end."""
    die_with_parent(int(sys.argv[1]))
    warnings.simplefilter("ignore")  # what Pillow finds strange in a client's file is nothing for the server's log
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the server, which drains first
    os.nice(int(sys.argv[2]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
    _warm_up()
    contain()
    with socket.socket(fileno=0) as link:
        while True:
            request, files, *_ = socket.recv_fds(link, REQUEST.size, 1)
            if not request:
                return
            _serve(link, request, files[0])


def _serve(link: socket.socket, request: bytes, file: int) -> None:
    size, memory, seconds = REQUEST.unpack(request)
    descriptor = -1
    try:
        _limit(memory, seconds)
        width, height, descriptor = _decoded(file, size)
        answer = ANSWER.pack(DONE, width, height)
    except BadPicture as refusal:
        answer = ANSWER.pack(REFUSED, 0, 0) + str(refusal).encode()[:MOST_WORDS]
    except (OutOfMemory, MemoryError) as error:
        answer = ANSWER.pack(MEMORY, 0, 0) + repr(error.__cause__ or error).encode()[:MOST_WORDS]
    finally:
        os.close(file)
    try:
        socket.send_fds(link, [answer], [] if descriptor < 0 else [descriptor])
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _decoded(file: int, size: int) -> tuple[int, int, int]:
    """Width, height and a descriptor of the pixels."""
    with mmap.mmap(file, size, prot=mmap.PROT_READ) as mapped:
        data = mapped[:]
    header = read_header(data)
    decoded = decode(data, header)
    return decoded.width, decoded.height, checked(lambda: _written(decoded))


def _written(decoded: Decoded) -> int:
    """A descriptor of memory with the pixels, which cannot shrink under its reader."""
    descriptor = os.memfd_create("pixels", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for strip in decoded.strips:
            view = memoryview(strip)
            while view:
                view = view[os.write(descriptor, view) :]
        _seal(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _seal(descriptor: int) -> None:
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)


def _limit(memory: int, seconds: int) -> None:
    """What the next file may take."""
    address_space = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    usage = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(usage.ru_utime + usage.ru_stime)
    _lower(resource.RLIMIT_AS, address_space + memory + SLACK_BYTES)
    _lower(resource.RLIMIT_CPU, spent + 1 + seconds)


def _lower(kind: int, wanted: int) -> None:
    """Set the limit that counts; the one that it must not exceed is the system's."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _warm_up() -> None:
    """Load the codecs, so that the first picture does not wait for them, nor find them cut off by its limits."""
    image = Image.new("RGB", (16, 16))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for name in FORMATS:
        out = BytesIO()
        image.save(out, name, icc_profile=profile)
        with suppress(BadPicture):
            b"".join(decode(out.getvalue(), read_header(out.getvalue())).strips)


if __name__ == "__main__":
    main()
