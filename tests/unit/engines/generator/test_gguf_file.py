"""The head of a GGUF file, of strangers too: read, or refused with the reason, and never more than there is."""

from __future__ import annotations

import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizglass_server.engines.generator.checks import known_model
from quizglass_server.engines.generator.checks.gguf_file import GgufError, read_gguf
from quizglass_server.engines.generator.checks.weights import cache_bytes, examined
from quizglass_server.errors import BundleError

KNOWN = known_model.gguf()


def written(path: Path) -> Path:
    """A small file as the package gguf writes it."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 2)
    writer.add_uint32("llama.embedding_length", 64)
    writer.add_uint32("llama.attention.head_count", 4)
    writer.add_array("llama.attention.head_count_kv", [1, 2])
    writer.add_bool("llama.odd", True)
    writer.add_float32("llama.some", 0.5)
    writer.add_array("tokenizer.ggml.tokens", ["a", "é", ""])
    writer.add_tensor("w", np.zeros((3, 64), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_what_the_package_writes_is_read(tmp_path: Path) -> None:
    head = read_gguf(written(tmp_path / "a.gguf"))
    assert head.architecture == "llama"
    assert head.number("llama.block_count") == 2
    assert head.number("llama.missing", 7) == 7
    assert head.numbers("llama.attention.head_count_kv") == [1, 2]
    assert head.strings("tokenizer.ggml.tokens") == ["a", "é", ""]
    (tensor,) = head.tensors
    assert (tensor.name, tensor.shape) == ("w", (64, 3))
    assert cache_bytes(head, 10) == 2 * 2 * 2 * 32 * 10


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04 something else", "is no GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "of version 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 40, 0), "claims 1099511627776 tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40), "claims 1099511627776 keys"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 50), "is cut off"),
        (KNOWN[: len(KNOWN) // 2], "is cut off"),
    ],
    ids=["another", "newer", "tensors", "keys", "long text", "half"],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError, match=says):
        read_gguf(path)
    with pytest.raises(BundleError, match=rf"model\.gguf: .*{says}"):
        examined(path, None, 512)


@pytest.mark.parametrize("kind", ["text", "list", "lists"])
def test_a_file_with_holes_takes_no_memory_before_it_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.gguf"
    key = struct.pack("<Q", 1) + b"a"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 9))
        if kind == "text":
            file.write(key + struct.pack("<IQ", 8, 1 << 35))
        for name in b"abcdefgh" if kind == "lists" else b"a" if kind == "list" else b"":
            file.write(struct.pack("<QBIIQ", 1, name, 9, 11, 1 << 21 if kind == "lists" else (1 << 24) - 1))
            file.seek((1 << 21 if kind == "lists" else 1 << 24) * 8, 1)
        file.truncate(1 << 36)
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from quizglass_server.engines.generator.checks.gguf_file import read_gguf\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (400 << 20,) * 2); read_gguf(Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=120, check=False)
    assert "GgufError: " in done.stderr.splitlines()[-1]


def test_an_empty_file_and_none_at_all_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.gguf").touch()
    for name in ("empty.gguf", "gone.gguf"):
        with pytest.raises(BundleError, match=name):
            examined(tmp_path / name, None, 512)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_anywhere_in_the_head_is_an_error_or_another_head(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(KNOWN[:4096])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.gguf"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]) or b"GGUF")
    with suppress(GgufError, OSError):
        read_gguf(path)
