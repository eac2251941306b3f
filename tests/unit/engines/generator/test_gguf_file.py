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
from quizglass_server.engines.generator.checks.gguf_file import GgufError, GgufFile, files_of, read_gguf, read_model
from quizglass_server.engines.generator.checks.weights import cache_bytes, examined
from quizglass_server.engines.generator.process.card import needs
from quizglass_server.errors import BundleError
from tests.support.bundles.tiny_models import write_llama

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
    assert cache_bytes(head, 10) == 2 * (1 + 2) * 32 * 10


@pytest.mark.parametrize(
    ("values", "heads"),
    [
        ({"attention.head_count_kv": [0, 0, 8, 0], "attention.key_length": 64, "attention.value_length": 64}, 8),
        ({"attention.head_count_kv": 8, "full_attention_interval": 4}, 8),
        ({"attention.head_count": [32, 32, 0, 32], "attention.head_count_kv": [8, 8, 0, 4]}, 20),
        ({}, 4 * 32),
    ],
    ids=["of few layers", "of every fourth", "with heads that differ", "as many as heads"],
)
def test_only_layers_that_attend_have_a_cache(values: dict[str, int | list[int]], heads: int) -> None:
    usual = {"block_count": 4, "embedding_length": 32 * 64, "attention.head_count": 32, **values}
    head = GgufFile({"general.architecture": "m", **{f"m.{key}": value for key, value in usual.items()}}, (), 0)
    assert cache_bytes(head, 10) == 2 * heads * (64 + 64) * 10


def test_a_model_in_several_files_counts_as_one(tmp_path: Path) -> None:
    one, first = write_llama(tmp_path / "one.gguf"), write_llama(tmp_path / "model.gguf", split=5)
    files = files_of(first)
    assert len(files) == 3
    split, whole = read_model(first), read_gguf(one)
    assert split.whole == sum(file.stat().st_size for file in files) > whole.size
    assert sum(needs(first, None, 64, 512).layers) == pytest.approx(sum(needs(one, None, 64, 512).layers), abs=512)
    assert examined(first, None, 64).needed == examined(one, None, 64).needed + split.whole - whole.size


def test_what_is_wrong_with_a_model_in_several_files_is_said(tmp_path: Path) -> None:
    first = write_llama(tmp_path / "model.gguf", split=5)
    _, second, third = files_of(first)
    with pytest.raises(BundleError, match=r"is file 2 of 3 of a model; name the first one, model-00001-of-00003\.gguf"):
        examined(second, None, 64)
    kept = third.read_bytes()
    third.write_bytes(kept[:100])
    with pytest.raises(BundleError, match=r"goes with model-00003-of-00003\.gguf, which is cut off"):
        examined(first, None, 64)
    third.unlink()
    with pytest.raises(BundleError, match=r"model-00003-of-00003\.gguf is not beside it"):
        examined(first, None, 64)
    other = first.rename(tmp_path / "downloaded.gguf")
    with pytest.raises(BundleError, match=r"is the first of 3 files .* end with -00001-of-00003\.gguf"):
        examined(other, None, 64)


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
