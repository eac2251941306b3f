"""The vision projector: pixels to embeddings, and how a picture sits in a prompt.

Has an mtmd context of its own beside the text model, which it only reads: pictures are encoded in another thread than
the one that decodes. Not thread-safe. Encoding cannot be interrupted.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import llama_cpp.llama_cpp as llama
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.native import openmp
from quizglass_server.engines.llama.native.errors import DecodeFailed, LoadFailed
from quizglass_server.engines.llama.native.logs import LlamaLog

_IMAGE_CHUNK = 1


@dataclass(frozen=True, slots=True)
class PictureSlot:
    """How a picture of the model's size sits in a prompt."""

    before: tuple[int, ...]
    """Token ids that open a picture."""
    after: tuple[int, ...]
    """Token ids that close it."""
    tokens: int
    """Cache cells of the picture itself."""
    positions: int
    """How far it moves the position on (M-RoPE: less than `tokens`)."""


NO_SLOT = PictureSlot((), (), 0, 0)
"""The slot of a model that reads no pictures."""


class Projector:
    """A projector that takes pictures of one size."""

    def __init__(self, path: Path, model: int, width: int, height: int, threads: int, log: LlamaLog) -> None:
        """Load the file.

        Args:
            path: GGUF file.
            model: llama.cpp's text model, which must outlive this.
            width: of every picture, pixels.
            height: of every picture, pixels.
            threads: to encode with.
            log: explains failures.

        Raises:
            LoadFailed: the file is missing, damaged or not of this kind.
        """
        self.name = path.name
        self._size = width, height
        self._log = log
        self._context = self._load(path, model, threads)
        self.embedding = int(llama.llama_model_n_embd_inp(model))
        self._measure()

    def encode(self, rgb: bytes, *, single: bool = False) -> NDArray[np.float32]:
        """Run the vision tower over raw pixels of the model's size: float32 [tokens, embedding].

        Args:
            rgb: width * height * 3 bytes.
            single: compute in the calling thread alone.

        Raises:
            DecodeFailed: the pixels are of another size, or llama.cpp failed.
        """
        chunks, image = self._chunks(rgb)
        try:
            with openmp.alone(single):
                code = mtmd.mtmd_encode_chunk(self._context, image)
            if code != 0:
                raise DecodeFailed(f"the picture cannot be encoded: {self._log.last()}")
            output = mtmd.mtmd_get_output_embd(self._context)
            return np.ctypeslib.as_array(output, shape=(self.slot.tokens, self.embedding)).copy()
        finally:
            mtmd.mtmd_input_chunks_free(chunks)

    def positions(self, start: int) -> NDArray[np.int32]:
        """Positions of a picture's rows that begins at position `start`: int32 [4 or 1, tokens]."""
        return self._relative + np.where(self._moves, start, 0).astype(np.int32)

    def close(self) -> None:
        """Free it; the object must not be used afterwards."""
        mtmd.mtmd_free(self._context)

    def _load(self, path: Path, model: int, threads: int) -> int:
        params = mtmd.mtmd_context_params_default()
        params.use_gpu = bool(llama.llama_supports_gpu_offload())
        params.print_timings = False
        params.warmup = False
        params.n_threads = threads
        # The picture comes in its final size: no limit may make llama.cpp resize it again.
        params.image_min_tokens, params.image_max_tokens = 1, 1 << 16
        self._log.begin()
        context = mtmd.mtmd_init_from_file(str(path).encode(), model, params)
        if not context:
            raise LoadFailed(f"{path.name}: llama.cpp cannot load this projector: {self._log.first()}")
        if not mtmd.mtmd_support_vision(context):
            raise LoadFailed(f"{path.name}: a projector without vision; build the bundle again")
        return int(context)

    def _measure(self) -> None:
        """Tokenise a blank picture once: it stands in for every picture of that size."""
        width, height = self._size
        try:
            chunks, image = self._chunks(bytes(width * height * 3))
        except DecodeFailed as error:
            raise LoadFailed(f"{self.name}: {error}") from error
        before: list[int] = []
        after: list[int] = []
        side, pieces = before, 0
        for index in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk = mtmd.mtmd_input_chunks_get(chunks, index)
            if mtmd.mtmd_input_chunk_get_type(chunk) == _IMAGE_CHUNK:
                side, pieces = after, pieces + 1
                continue
            count = ctypes.c_size_t()
            ids = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
            side.extend(ids[: count.value])
        self._check_form(image, pieces, [*before, *after])
        tokens = int(mtmd.mtmd_input_chunk_get_n_tokens(image))
        positions = int(mtmd.mtmd_input_chunk_get_n_pos(image))
        self.slot = PictureSlot(tuple(before), tuple(after), tokens, positions)
        self._relative, self._moves = self._layout(image, tokens)
        mtmd.mtmd_input_chunks_free(chunks)

    def _check_form(self, image: int, pieces: int, around: list[int]) -> None:
        """Refuse what would be read without an error, and wrongly."""
        width, height = self._size
        if pieces > 1:
            wrong = f"it cuts a picture of {width} x {height} into {pieces}, and would show one of them"
        elif mtmd.mtmd_decode_use_non_causal(self._context, image):
            wrong = "the parts of its pictures see each other in both directions"
        elif min(around, default=0) < 0:
            wrong = "the model has no tokens for the beginning and the end of its pictures"
        else:
            return
        raise LoadFailed(f"{self.name}: cannot be served: {wrong}; take a model of Qwen2-VL's family")

    def _layout(self, image: int, tokens: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Positions of a picture at 0, [4 or 1, tokens], and which rows of them move with its start."""
        if not mtmd.mtmd_decode_use_mrope(self._context):
            return np.arange(tokens, dtype=np.int32)[None], np.array([[True]])
        inner = mtmd.mtmd_input_chunk_get_tokens_image(image)
        places = (mtmd.mtmd_decoder_pos * tokens)()
        mtmd.mtmd_helper_image_get_decoder_pos(inner, 0, places)
        relative = np.array([[place.t, place.y, place.x, place.z] for place in places], np.int32).T
        mtmd.mtmd_helper_image_get_decoder_pos(inner, 1, places)
        moved = np.array([[place.t, place.y, place.x, place.z] for place in places], np.int32).T
        return relative, (moved - relative)[:, :1] == 1

    def _chunks(self, rgb: bytes) -> tuple[int, int]:
        """Chunks (to be freed) of a prompt that is one picture, and the picture's own chunk."""
        width, height = self._size
        if len(rgb) != width * height * 3:
            raise DecodeFailed(f"picture of {len(rgb)} bytes, not {width} x {height} x 3")
        pixels = (ctypes.c_uint8 * len(rgb)).from_buffer_copy(rgb)
        bitmap = mtmd.mtmd_bitmap_init(width, height, pixels)
        chunks = mtmd.mtmd_input_chunks_init()
        marker = mtmd.mtmd_default_marker()
        text = mtmd.mtmd_input_text(text=marker, text_len=len(marker), add_special=False, parse_special=True)
        bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
        try:
            code = mtmd.mtmd_tokenize(self._context, chunks, ctypes.byref(text), bitmaps, 1)
        finally:
            mtmd.mtmd_bitmap_free(bitmap)
        for index in range(mtmd.mtmd_input_chunks_size(chunks) if code == 0 else 0):
            chunk = mtmd.mtmd_input_chunks_get(chunks, index)
            if mtmd.mtmd_input_chunk_get_type(chunk) == _IMAGE_CHUNK:
                return chunks, chunk
        mtmd.mtmd_input_chunks_free(chunks)
        raise DecodeFailed(f"a picture of {width} x {height} cannot be tokenised ({code}): {self._log.last()}")
