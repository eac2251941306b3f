"""llama.cpp's C calls as a few typed methods on one model with its vision projector.

Not thread-safe: one thread owns a `NativeModel`. Knows nothing of requests, caches or processes. What is avoided here
because it aborts the process or corrupts output silently: batches above `n_batch`, partial sequence copies in a split
cache (the cache is unified), shifting M-RoPE positions, models whose memory cannot be cut (recurrent and hybrid ones).
"""

from __future__ import annotations

import ctypes
import logging
from dataclasses import dataclass
from pathlib import Path

import llama_cpp.llama_cpp as llama
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.logs import LlamaLog

N_BATCH = 512
"""Most tokens of one `llama_decode`; a larger batch aborts the process."""

_IMAGE_CHUNK = 1
_PIECE_BYTES = 256


class LoadFailed(Exception):
    """A model file cannot be used; the message names the file and says why."""


class DecodeFailed(Exception):
    """llama.cpp refused a batch; the sequence it belonged to must be forgotten."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What to load and how large."""

    model: Path
    projector: Path
    width: int
    """Of every picture, pixels."""
    height: int
    context: int
    """Tokens of one prompt with its answer."""
    sequences: int
    """How many prompts the cache keeps."""
    threads: int


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


class _Batch:
    """A `llama_batch` over numpy memory, so that filling it costs no loop of ctypes calls."""

    def __init__(self, size: int) -> None:
        self.token = np.zeros(size, np.int32)
        self.pos = np.zeros(size, np.int32)
        self.wanted = np.zeros(size, np.int8)
        self.sequence = np.zeros(size, np.int32)
        self._counts = np.ones(size, np.int32)
        self._pointers = self.sequence.ctypes.data + 4 * np.arange(size, dtype=np.uint64)
        as_int = ctypes.POINTER(ctypes.c_int32)
        self.struct = llama.llama_batch(
            n_tokens=0,
            token=self.token.ctypes.data_as(as_int),
            embd=None,
            pos=self.pos.ctypes.data_as(as_int),
            n_seq_id=self._counts.ctypes.data_as(as_int),
            seq_id=self._pointers.ctypes.data_as(ctypes.POINTER(as_int)),
            logits=self.wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )


class NativeModel:
    """One text model, its projector and one context with a unified cache of several sequences."""

    def __init__(self, options: LoadOptions, log: LlamaLog) -> None:
        """Load both files.

        Raises:
            LoadFailed: a file is missing, damaged, not of this kind, or the context does not fit in memory.
        """
        self.options = options
        self._log = log
        self._model = self._load_model()
        self._vocab = llama.llama_model_get_vocab(self._model)
        self._projector = self._load_projector()
        self._context = self._new_context()
        self._memory = llama.llama_get_memory(self._context)
        self._batch = _Batch(N_BATCH)
        self._piece = ctypes.create_string_buffer(_PIECE_BYTES)
        self.vocabulary = int(llama.llama_vocab_n_tokens(self._vocab))
        self.embedding = int(llama.llama_model_n_embd_inp(self._model))
        self._placeholder, self.slot = self._measure_slot()

    @property
    def description(self) -> str:
        """The model's own description."""
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        llama.llama_model_desc(self._model, buffer, _PIECE_BYTES)
        return buffer.value.decode("utf-8", "replace")

    @property
    def executor(self) -> str:
        """What the model runs on: cpu or gpu."""
        return "gpu" if llama.llama_supports_gpu_offload() else "cpu"

    def tokenise(self, text: str, *, special: bool) -> list[int]:
        """Token ids of a text; special tokens are parsed only where `special` says so."""
        encoded = text.encode()
        room = len(encoded) + 8
        ids = (ctypes.c_int32 * room)()
        count = int(llama.llama_tokenize(self._vocab, encoded, len(encoded), ids, room, False, special))
        if count < 0:
            raise DecodeFailed(f"{-count} tokens for {len(encoded)} bytes of text")
        return list(ids[:count])

    def piece(self, token: int) -> bytes:
        """UTF-8 bytes of a token, perhaps half a character; empty for control tokens."""
        length = int(llama.llama_token_to_piece(self._vocab, token, self._piece, _PIECE_BYTES, 0, False))
        return bytes(self._piece.raw[:length]) if length > 0 else b""

    def ends(self, token: int) -> bool:
        """Whether the model itself ends with this token."""
        return bool(llama.llama_vocab_is_eog(self._vocab, token))

    def encode_picture(self, rgb: bytes) -> NDArray[np.float32]:
        """Run the vision tower over raw pixels of the model's size: float32 [tokens, embedding]."""
        chunks, image = self._picture_chunks(rgb)
        try:
            if mtmd.mtmd_encode_chunk(self._projector, image) != 0:
                raise DecodeFailed(f"the picture cannot be encoded: {self._log.last()}")
            output = mtmd.mtmd_get_output_embd(self._projector)
            return np.ctypeslib.as_array(output, shape=(self.slot.tokens, self.embedding)).copy()
        finally:
            mtmd.mtmd_input_chunks_free(chunks)

    def decode_picture(self, embedding: NDArray[np.float32], position: int, sequence: int) -> None:
        """Put an encoded picture into a sequence at a position; it takes `slot.positions`."""
        after = llama.llama_pos(0)
        code = mtmd.mtmd_helper_decode_image_chunk(
            self._projector,
            self._context,
            self._placeholder[1],
            embedding.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            position,
            sequence,
            N_BATCH,
            ctypes.byref(after),
            mtmd.mtmd_helper_post_decode_callback(),
            None,
        )
        if code != 0 or after.value != position + self.slot.positions:
            raise DecodeFailed(f"the picture cannot be decoded ({code}): {self._log.last()}")

    def decode(self, tokens: list[int], position: int, sequence: int, *, logits: bool) -> None:
        """Run at most `N_BATCH` tokens through the model; `logits` asks for those after the last one."""
        count = len(tokens)
        batch = self._batch
        batch.token[:count] = tokens
        batch.pos[:count] = np.arange(position, position + count)
        batch.sequence[:count] = sequence
        batch.wanted[:count] = 0
        batch.wanted[count - 1] = logits
        batch.struct.n_tokens = count
        code = llama.llama_decode(self._context, batch.struct)
        if code != 0:
            raise DecodeFailed(f"llama_decode returned {code}: {self._log.last()}")

    def logits(self) -> NDArray[np.float32]:
        """Logits after the last decode, float32 [vocabulary]; overwritten by the next one."""
        return np.ctypeslib.as_array(llama.llama_get_logits_ith(self._context, -1), shape=(self.vocabulary,))

    def forget(self, sequence: int, start: int = 0) -> None:
        """Drop a sequence from position `start` on."""
        if not llama.llama_memory_seq_rm(self._memory, sequence, start, -1):
            raise DecodeFailed("this model's memory cannot be cut; only pure attention models are served")

    def share(self, source: int, target: int, end: int) -> None:
        """Let `target`, which must be empty, start with the positions of `source` below `end`; copies nothing."""
        llama.llama_memory_seq_cp(self._memory, source, target, 0, end)

    def close(self) -> None:
        """Free everything; the object must not be used afterwards."""
        mtmd.mtmd_input_chunks_free(self._placeholder[0])
        llama.llama_free(self._context)
        mtmd.mtmd_free(self._projector)
        llama.llama_model_free(self._model)

    def _load_model(self) -> int:
        params = llama.llama_model_default_params()
        params.n_gpu_layers = -1 if llama.llama_supports_gpu_offload() else 0
        return self._loaded(llama.llama_model_load_from_file(str(self.options.model).encode(), params), "model")

    def _load_projector(self) -> int:
        options = self.options
        params = mtmd.mtmd_context_params_default()
        params.use_gpu = bool(llama.llama_supports_gpu_offload())
        params.print_timings = False
        params.warmup = False
        params.n_threads = options.threads
        # The picture comes in its final size: no limit may make llama.cpp resize it again.
        params.image_min_tokens, params.image_max_tokens = 1, 1 << 16
        context = mtmd.mtmd_init_from_file(str(options.projector).encode(), self._model, params)
        self._loaded(context, "projector")
        if not mtmd.mtmd_support_vision(context):
            raise LoadFailed(f"{options.projector.name}: a projector without vision; build the bundle again")
        return int(context)

    def _new_context(self) -> int:
        options = self.options
        params = llama.llama_context_default_params()
        params.n_ctx = options.context * options.sequences
        params.n_batch = params.n_ubatch = N_BATCH
        params.n_seq_max = options.sequences
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = options.threads
        params.no_perf = True
        if llama.llama_model_is_recurrent(self._model) or llama.llama_model_is_hybrid(self._model):
            raise LoadFailed(f"{options.model.name}: recurrent and hybrid models cannot be served")
        return self._loaded(llama.llama_init_from_model(self._model, params), "model")

    def _loaded(self, handle: int | None, key: str) -> int:
        if not handle:
            path: Path = getattr(self.options, key)
            raise LoadFailed(f"{path.name}: llama.cpp cannot load this {key}: {self._log.last()}")
        return int(handle)

    def _measure_slot(self) -> tuple[tuple[int, int], PictureSlot]:
        """Tokenise a blank picture once: its chunk stands in for every picture of that size."""
        options = self.options
        chunks, image = self._picture_chunks(bytes(options.width * options.height * 3))
        before: list[int] = []
        after: list[int] = []
        side = before
        for index in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk = mtmd.mtmd_input_chunks_get(chunks, index)
            if chunk == image:
                side = after
                continue
            count = ctypes.c_size_t()
            ids = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
            side.extend(ids[: count.value])
        slot = PictureSlot(
            before=tuple(before),
            after=tuple(after),
            tokens=int(mtmd.mtmd_input_chunk_get_n_tokens(image)),
            positions=int(mtmd.mtmd_input_chunk_get_n_pos(image)),
        )
        if slot.tokens >= options.context:
            raise LoadFailed(
                f"{options.projector.name}: one picture is {slot.tokens} tokens, context {options.context}"
            )
        return (chunks, image), slot

    def _picture_chunks(self, rgb: bytes) -> tuple[int, int]:
        """Chunks (to be freed) of a prompt that is one picture, and the picture's own chunk."""
        width, height = self.options.width, self.options.height
        if len(rgb) != width * height * 3:
            raise DecodeFailed(f"picture of {len(rgb)} bytes, not {width} x {height} x 3")
        pixels = (ctypes.c_uint8 * len(rgb)).from_buffer_copy(rgb)
        bitmap = mtmd.mtmd_bitmap_init(width, height, pixels)
        chunks = mtmd.mtmd_input_chunks_init()
        marker = mtmd.mtmd_default_marker()
        text = mtmd.mtmd_input_text(text=marker, text_len=len(marker), add_special=False, parse_special=True)
        bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
        try:
            code = mtmd.mtmd_tokenize(self._projector, chunks, ctypes.byref(text), bitmaps, 1)
        finally:
            mtmd.mtmd_bitmap_free(bitmap)
        for index in range(mtmd.mtmd_input_chunks_size(chunks) if code == 0 else 0):
            chunk = mtmd.mtmd_input_chunks_get(chunks, index)
            if mtmd.mtmd_input_chunk_get_type(chunk) == _IMAGE_CHUNK:
                return chunks, chunk
        mtmd.mtmd_input_chunks_free(chunks)
        raise DecodeFailed(f"a picture of {width} x {height} cannot be tokenised ({code}): {self._log.last()}")


def start_backend(log: LlamaLog) -> None:
    """Initialise llama.cpp for this process and send its log to `log`. To be called once."""
    log.attach()
    llama.llama_backend_init()
    logging.getLogger(__name__).debug("llama.cpp is ready")
