"""llama.cpp's own converter, from the source distribution of the llama-cpp-python that the server pins.

`QUIZGLASS_TEST_LLAMA_SOURCE` names an unpacked one; otherwise it is fetched once by pip, into the user's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
_RUN = """\
import json, runpy, sys, types
source, jobs = sys.argv[1], json.loads(sys.argv[2])
sys.path[:0] = [source + "/gguf-py", source]
import transformers
from conversion.base import TextModel
# Looked for before it is seen that no checkpoint here has a tokenizer of its kind.
sys.modules["sentencepiece"] = types.SimpleNamespace(SentencePieceProcessor=None)
from conversion import base
base.AutoConfig = None  # the installed transformers may not know the model: config.json itself is read then
for splitting, *arguments in jobs:
    # The converter itself goes by the hash of a published tokenizer.
    TextModel.get_vocab_base_pre = lambda self, tokenizer, splitting=splitting: splitting
    sys.argv = ["convert_hf_to_gguf.py", *arguments]
    runpy.run_path(source + "/convert_hf_to_gguf.py", run_name="__main__")
"""


@dataclass(frozen=True)
class Conversion:
    """A checkpoint that becomes two files in float32: the language model and the part that sees."""

    checkpoint: Path
    model: Path
    projector: Path
    splitting: str
    """llama.cpp's name of how the tokenizer splits texts."""
    flags: tuple[str, ...] = ()
    """Of the language model."""

    def arguments(self) -> list[list[str]]:
        """The converter's, of both files, behind `splitting`."""
        return [
            [self.splitting, str(self.checkpoint), "--outtype", "f32", "--outfile", str(file), *more]
            for file, more in ((self.model, self.flags), (self.projector, ["--mmproj"]))
        ]


def llama_source() -> Path:
    """The directory of llama.cpp's source; fetched on first use.

    Raises:
        CalledProcessError: pip cannot fetch it.
    """
    if named := os.environ.get("QUIZGLASS_TEST_LLAMA_SOURCE"):
        return Path(named)
    requirement = _pinned()
    place = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quizglass" / f"source-{requirement}"
    if not (found := list(place.glob("*/vendor/llama.cpp"))):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            fetch = [
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                "llama-cpp-python",
                "--dest",
                folder,
            ]
            subprocess.run([sys.executable, "-m", "pip", *fetch, requirement], check=True)
            (archive,) = Path(folder).glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(Path(folder) / "source", filter="data")
            (Path(folder) / "source").rename(place)
        found = list(place.glob("*/vendor/llama.cpp"))
    return found[0]


def convert(conversions: Sequence[Conversion]) -> None:
    """Convert checkpoints to GGUF.

    Raises:
        RuntimeError: the converter refuses one; its last words.
    """
    jobs = [arguments for each in conversions for arguments in each.arguments()]
    command = [sys.executable, "-c", _RUN, str(llama_source()), json.dumps(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"convert_hf_to_gguf.py: {done.stderr.strip()[-2000:]}")


def _pinned() -> str:
    project = tomllib.loads((ROOT / "server" / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["optional-dependencies"]["llama"][0])
