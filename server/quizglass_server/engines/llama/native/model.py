"""llama.cpp's C calls as a few typed methods on one model and one context.

Not thread-safe but for what says so: one thread owns a `NativeModel`. Knows nothing of requests, caches or processes.
What is avoided here because it aborts the process or corrupts output silently: batches above `N_BATCH`, more rows of
logits than `rows`, partial sequence copies in a split cache (the cache is unified), shifting M-RoPE positions, models
whose memory cannot be cut (recurrent and hybrid ones).
"""

from __future__ import annotations

import ctypes
import logging
from unicodedata import normalize

import llama_cpp.llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.native.backends import load_backends
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.errors import DecodeFailed, EngineBroken, LoadFailed
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.options import LoadOptions
from quizglass_server.engines.llama.native.vision import NO_SLOT, PictureSlot, Projector

N_BATCH = 512
"""Most tokens of one `llama_decode`; a larger batch aborts the process."""
FORKS = 16
"""Sequences besides those of prompts, for labels of several tokens and for padding."""
TILE = 64
"""Rows of a batch from which on attention on a CPU works on blocks of them; it goes through fewer one by one, each of
which then costs several times as much."""
DECODED, ABORTED = 0, 2
"""What `llama_decode` returns; anything else is a failure."""

_PIECE_BYTES = 256
_LOGIT_BYTES = 64 << 20
_MIN_ROWS = 32
_TEMPLATES, _TEMPLATE = 256, 4096
"""Most texts of prompt templates whose tokens are kept, and the longest, characters."""


class NativeModel:
    """One text model, its projector if it has one, and one context with a unified cache of several sequences."""

    def __init__(self, options: LoadOptions, log: LlamaLog) -> None:
        """Load the files.

        Raises:
            LoadFailed: a file is missing, damaged, not of this kind, or the context does not fit in memory.
        """
        self.options = options
        self._log = log
        self._model = self._load_model()
        self.vocab = llama.llama_model_get_vocab(self._model)
        self.vocabulary = int(llama.llama_vocab_n_tokens(self.vocab))
        self.rows = max(_MIN_ROWS, options.generator_batch + FORKS, min(N_BATCH, _LOGIT_BYTES // (4 * self.vocabulary)))
        """Most rows of logits of one step."""
        self.projector = self._load_projector()
        self.sequences = options.generator_batch + options.sequences
        """For prompts; `FORKS` more follow."""
        self._context = self._new_context()
        self._memory = llama.llama_get_memory(self._context)
        self._piece = ctypes.create_string_buffer(_PIECE_BYTES)
        self._pieces: dict[int, bytes] = {}
        self._ends: dict[int, bool] = {}
        self._templates: dict[str, list[int]] = {}
        self._logits = np.zeros((0, self.vocabulary), np.float32)
        self._logits_at: int | None = None
        self._abort_flag = ctypes.create_string_buffer(2)
        self._watch_abort_flag()

    @property
    def slot(self) -> PictureSlot:
        """How a picture sits in a prompt."""
        return self.projector.slot if self.projector else NO_SLOT

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Width and height of pictures, pixels; None for a model that reads none."""
        return (self.options.width, self.options.height) if self.projector else None

    @property
    def description(self) -> str:
        """Architecture, size and type; where the file names no size, its number of parameters."""
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        llama.llama_model_desc(self._model, buffer, _PIECE_BYTES)
        millions = llama.llama_model_n_params(self._model) / 1e6
        size = f"{millions / 1e3:.3g}B" if millions >= 1e3 else f"{millions:.3g}M"
        return buffer.value.decode("utf-8", "replace").replace("?B", size)

    @property
    def reads_text(self) -> bool:
        """Whether the file has a tokenizer, without which `tokenise` aborts the process."""
        return bool(llama.llama_vocab_type(self.vocab) != llama.LLAMA_VOCAB_TYPE_NONE)

    @property
    def executor(self) -> str:
        """What the model runs on: cpu or gpu."""
        return "gpu" if llama.llama_supports_gpu_offload() else "cpu"

    def tokenise(self, text: str, *, special: bool) -> list[int]:
        """Token ids of a text; special tokens are parsed only where `special` says so. Safe in any thread.

        Accents are composed (NFC), as they are in what models are trained on.
        """
        if special and (known := self._templates.get(text)) is not None:
            return known.copy()
        encoded = normalize("NFC", text).encode()
        room = len(encoded) + 8
        ids = (ctypes.c_int32 * room)()
        count = int(llama.llama_tokenize(self.vocab, encoded, len(encoded), ids, room, False, special))
        if count < 0:
            raise DecodeFailed(f"{-count} tokens for {len(encoded)} bytes of text")
        tokens: list[int] = ids[:count]
        if special and len(text) <= _TEMPLATE and len(self._templates) < _TEMPLATES:
            self._templates[text] = tokens.copy()
        return tokens

    def piece(self, token: int) -> bytes:
        """UTF-8 bytes of a token, perhaps half a character; empty for control tokens."""
        if (text := self._pieces.get(token)) is None:
            if (length := self._read_piece(token)) < 0:  # there was no room; it says how much it takes
                self._piece = ctypes.create_string_buffer(-length)
                length = self._read_piece(token)
            text = self._pieces[token] = self._piece.raw[:length]
        return text

    def _read_piece(self, token: int) -> int:
        return int(llama.llama_token_to_piece(self.vocab, token, self._piece, len(self._piece), 0, False))

    def ends(self, token: int) -> bool:
        """Whether the model itself ends with this token."""
        if (is_end := self._ends.get(token)) is None:
            is_end = self._ends[token] = bool(llama.llama_vocab_is_eog(self.vocab, token))
        return is_end

    def encode(self, rgb: bytes, *, single: bool = False) -> NDArray[np.float32]:
        """As the projector's. For one thread at a time, which may be another than the one that decodes."""
        if self.projector is None:
            raise DecodeFailed(f"{self.options.model.name} has no projector and reads no pictures")
        return self.projector.encode(rgb, single=single)

    def use_threads(self, count: int) -> None:
        """Decode with so many threads from the next batch on."""
        llama.llama_set_n_threads(self._context, count, count)

    def decode(self, batch: TokenBatch | EmbeddingBatch) -> int:
        """Run a batch of at most `N_BATCH` rows; what `llama_decode` returned."""
        self._abort_flag[0] = b"\0"
        return int(llama.llama_decode(self._context, batch.struct))

    def synchronise(self) -> None:
        """Wait until the last decode is complete, where the device does not make its caller wait."""
        llama.llama_synchronize(self._context)

    def abort(self) -> None:
        """Stop the decode that is running, if one is. Safe in any thread."""
        self._abort_flag[0] = b"\1"

    def logits(self, count: int) -> NDArray[np.float32]:
        """The `count` rows that the last decode was asked for, float32 [count, vocabulary]; overwritten by the next."""
        pointer = llama.llama_get_logits(self._context)
        if not pointer:
            raise EngineBroken("llama.cpp has no logits after a decode that was asked for some")
        address = ctypes.addressof(pointer.contents)
        if address != self._logits_at:
            # Made anew only where llama.cpp has moved its buffer; rows beyond `count` may not exist.
            values = (ctypes.c_float * (self.rows * self.vocabulary)).from_address(address)
            self._logits = np.frombuffer(memoryview(values), np.float32).reshape(self.rows, self.vocabulary)
            self._logits_at = address
        return self._logits[:count]

    def forget(self, sequence: int, start: int = 0, end: int = -1) -> None:
        """Drop the positions of a sequence from `start` on, and below `end` if that is not -1."""
        if not llama.llama_memory_seq_rm(self._memory, sequence, start, end):
            raise EngineBroken("this model's memory cannot be cut; only pure attention models are served")

    def share(self, source: int, target: int, end: int) -> None:
        """Let `target`, which must be empty, start with the positions of `source` below `end`; copies nothing."""
        llama.llama_memory_seq_cp(self._memory, source, target, 0, end)

    def clear(self) -> None:
        """Forget every sequence and overwrite the cells: what is not a number in one would spoil all others."""
        llama.llama_memory_clear(self._memory, True)

    def save_sequence(self, sequence: int) -> bytes:
        """The state of a sequence, for `load_sequence` of the same model with the same options."""
        size = int(llama.llama_state_seq_get_size(self._context, sequence))
        buffer = (ctypes.c_uint8 * size)()
        written = int(llama.llama_state_seq_get_data(self._context, buffer, size, sequence))
        return bytes(memoryview(buffer)[:written])

    def load_sequence(self, sequence: int, state: bytes) -> bool:
        """Whether a saved state was put into a sequence; it is empty otherwise."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if int(llama.llama_state_seq_set_data(self._context, buffer, len(state), sequence)) == len(state):
            return True
        self.forget(sequence)
        return False

    def last_error(self) -> str:
        """What llama.cpp last complained of."""
        return self._log.last()

    def close(self) -> None:
        """Free everything; the object must not be used afterwards."""
        llama.llama_free(self._context)
        if self.projector:
            self.projector.close()
        llama.llama_model_free(self._model)

    def _load_model(self) -> int:
        self._log.begin()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = -1 if llama.llama_supports_gpu_offload() else 0
        params.use_extra_bufts = self.options.extra_buffers
        return self._loaded(llama.llama_model_load_from_file(str(self.options.model).encode(), params))

    def _load_projector(self) -> Projector | None:
        options = self.options
        if options.projector is None:
            return None
        threads = options.vision_threads or options.threads
        projector = Projector(options.projector, self._model, options.width, options.height, threads, self._log)
        if (tokens := projector.slot.tokens) >= options.context:
            raise LoadFailed(f"{options.projector.name}: one picture is {tokens} tokens, context {options.context}")
        return projector

    def _new_context(self) -> int:
        options = self.options
        params = llama.llama_context_default_params()
        # A few more than are promised, for padding.
        params.n_ctx = options.cache_cells + max(FORKS, TILE)
        params.n_batch = params.n_ubatch = N_BATCH
        params.n_seq_max = self.sequences + FORKS
        params.n_outputs_max = self.rows
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = options.threads
        params.no_perf = True
        if llama.llama_model_is_recurrent(self._model) or llama.llama_model_is_hybrid(self._model):
            raise LoadFailed(f"{options.model.name}: recurrent and hybrid models cannot be served")
        if (most := int(llama.llama_max_parallel_sequences())) < params.n_seq_max:
            raise LoadFailed(f"{params.n_seq_max} sequences; llama.cpp takes {most}: keep fewer prompts or batch fewer")
        self._log.begin()
        return self._loaded(llama.llama_init_from_model(self._model, params))

    def _loaded(self, handle: int | None) -> int:
        if not handle:
            raise LoadFailed(f"{self.options.model.name}: llama.cpp cannot load this model: {self._log.first()}")
        return int(handle)

    def _watch_abort_flag(self) -> None:
        """libc's `strlen` over the flag is a callback that needs no Python and so never waits for the GIL."""
        strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
        callback = llama.ggml_abort_callback(strlen)
        address = ctypes.cast(self._abort_flag, ctypes.c_void_p)
        llama.llama_set_abort_callback(self._context, callback, address)


def start_backend(log: LlamaLog) -> None:
    """Initialise llama.cpp for this process and send its log to `log`. To be called once."""
    log.attach()
    load_backends()
    llama.llama_backend_init()
    logging.getLogger(__name__).debug("llama.cpp is ready")
