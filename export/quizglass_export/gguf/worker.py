"""llama.cpp in a process of its own: quantises a GGUF, answers prompts greedily, tokenises, gives logits.

llama.cpp's asserts abort the process, and an export must end with an error and not with a crash. Run as
`python -m quizglass_export.gguf.worker JOB.json RESULT.json`; the other side is `jobs`.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as llama
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.generator.checks.backends import load_backends

Job = dict[str, Any]
_BATCH = 512
_ERROR = 4
_log: list[str] = []
_errors: list[str] = []
"""The errors among the logged lines: they have the reason, which much else follows."""


@llama.llama_log_callback  # type: ignore[untyped-decorator,unused-ignore]
def _collect(level: int, text: bytes, _: Any) -> None:
    for lines in (_log, _errors) if level == _ERROR else (_log,):
        lines.append(text.decode("utf-8", "replace"))
        del lines[:-20]


def quantise(job: Job) -> Job:
    """Quantise `source` to `target` with llama.cpp's file type `file_type` ."""
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = job["file_type"]
    parameters.nthread = job["threads"]
    if job["token_embedding"] is not None:
        parameters.token_embedding_type = job["token_embedding"]
    if job["output"] is not None:
        parameters.output_tensor_type = job["output"]
    code = llama.llama_model_quantize(job["source"].encode(), job["target"].encode(), ctypes.byref(parameters))
    if code:
        raise RuntimeError(f"quantising failed with {code}: {_reasons()}")
    return {}


def tokenise(job: Job) -> Job:
    """Token ids of `texts`; the vocabulary alone is loaded."""
    parameters = llama.llama_model_default_params()
    parameters.vocab_only = True
    vocabulary = llama.llama_model_get_vocab(load(job["model"], parameters))
    return {"ids": [token_ids(vocabulary, text, special=job["special"]) for text in job["texts"]]}


def logits(job: Job) -> Job:
    """Write the logits [S, V] of every position of `rows` to the file `out`."""
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = 0
    model = load(job["model"], parameters)
    size = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    longest = max(len(row) for row in job["rows"])
    context = new_context(model, longest + 8, max(longest, _BATCH), exact=True)
    if job["adapter"] is not None:
        adapter = llama.llama_adapter_lora_init(model, job["adapter"].encode())
        if not adapter:
            raise RuntimeError(f"{job['adapter']}: llama.cpp cannot load it: {_reasons()}")
        adapters = (llama.llama_adapter_lora_p_ctypes * 1)(adapter)
        llama.llama_set_adapters_lora(context, adapters, 1, (ctypes.c_float * 1)(1.0))
    batch = llama.llama_batch_init(longest, 0, 1)
    found = []
    for row in job["rows"]:
        llama.llama_memory_clear(llama.llama_get_memory(context), True)
        fill(batch, row, 0, every=True)
        if code := llama.llama_decode(context, batch):
            raise RuntimeError(f"llama.cpp cannot decode ({code}): {_reasons()}")
        values = llama.llama_get_logits(context)
        found.append(np.ctypeslib.as_array(values, shape=(len(row), size)).copy())
    np.savez(job["out"], *found)
    return {}


def load(path: str, parameters: Any) -> Any:
    """A model; RuntimeError with llama.cpp's reason if it cannot be loaded."""
    model = llama.llama_model_load_from_file(path.encode(), parameters)
    if not model:
        raise RuntimeError(f"{path}: llama.cpp cannot load it: {_reasons()}")
    return model


def new_context(model: Any, length: int, batch: int, *, exact: bool = False) -> Any:
    """A context on one thread; an `exact` one keeps keys and values in float32, so that only weights differ."""
    parameters = llama.llama_context_default_params()
    parameters.n_ctx = length
    parameters.n_batch = parameters.n_ubatch = batch
    parameters.n_threads = parameters.n_threads_batch = 1
    parameters.no_perf = True
    if exact:
        parameters.type_k = parameters.type_v = llama.GGML_TYPE_F32
        parameters.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
    context = llama.llama_init_from_model(model, parameters)
    if not context:
        raise RuntimeError(f"llama.cpp cannot make a context: {_reasons()}")
    return context


def token_ids(vocabulary: Any, text: str, *, special: bool) -> list[int]:
    """Token ids of a text, without a beginning token."""
    data = text.encode()
    room = len(data) + 8
    ids = (ctypes.c_int32 * room)()
    count = llama.llama_tokenize(vocabulary, data, len(data), ids, room, False, special)
    return list(ids[:count])


def text_of(vocabulary: Any, ids: Sequence[int]) -> str:
    """The text of tokens, special ones left out."""
    tokens = (ctypes.c_int32 * len(ids))(*ids)
    room = 16 * len(ids) + 16
    while True:
        text = ctypes.create_string_buffer(room)
        length = llama.llama_detokenize(vocabulary, tokens, len(ids), text, room, True, False)
        if length >= 0:
            return text.raw[:length].decode("utf-8", "replace")
        room = -length


def fill(batch: Any, ids: Sequence[int], position: int, *, every: bool) -> None:
    """Put tokens of sequence 0 in a batch, with logits of the last or of `every` one."""
    batch.n_tokens = len(ids)
    for index, token in enumerate(ids):
        batch.token[index] = token
        batch.pos[index] = position + index
        batch.n_seq_id[index] = 1
        batch.seq_id[index][0] = 0
        batch.logits[index] = every or index == len(ids) - 1


def picture_tokens(job: Job) -> Job:
    """How many tokens a picture of `width` x `height` is, of a model and its projector that go together."""
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = 0
    vision = new_vision(job["projector"], load(job["model"], parameters))
    chunks = picture_chunks(vision, np.zeros((job["height"], job["width"], 3), np.uint8))
    return {"tokens": mtmd.mtmd_helper_get_n_tokens(chunks)}


def answer(job: Job) -> Job:
    """Answer every prompt greedily, each in a fresh context position with nothing left of the one before.

    Returns:
        `prompts`: token ids of each prompt as llama.cpp sees it. `answers`: token ids of each answer without the
        stop token. `probabilities`: of its tokens. `texts`: the answers. The logits after each prompt, of `first_of` or
        of all, go to the file `first`, float32 [prompts, V]: of a large vocabulary they would be hundreds of megabytes
        of JSON.
    """
    runner = _Runner(job)
    results = [runner.run(prompt) for prompt in job["prompts"]]
    np.save(job["first"], np.array([result[3] for result in results], np.float32))
    return {
        "prompts": [result[0] for result in results],
        "answers": [result[1] for result in results],
        "probabilities": [result[2] for result in results],
        "texts": [text_of(runner.vocabulary, result[1]) for result in results],
    }


def new_vision(projector: str, model: Any, *, exact: bool = False) -> Any:
    """A projector for a model; RuntimeError with llama.cpp's reason if it cannot be loaded, or is another model's.

    An `exact` one takes pictures in the size that they have, as far as llama.cpp lets it.
    """
    parameters = mtmd.mtmd_context_params_default()
    parameters.use_gpu = False
    parameters.print_timings = False
    parameters.warmup = False
    parameters.n_threads = 1
    if exact:
        parameters.image_min_tokens, parameters.image_max_tokens = 1, 4096
    vision = mtmd.mtmd_init_from_file(projector.encode(), model, parameters)
    if not vision:
        raise RuntimeError(f"{projector}: llama.cpp cannot load it: {_reasons()}")
    return vision


def picture_chunks(vision: Any, picture: NDArray[np.uint8]) -> Any:
    """What stands for a picture [H, W, 3] in a prompt; to be freed."""
    pixels = np.ascontiguousarray(picture)
    pointer = pixels.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
    bitmap = mtmd.mtmd_bitmap_init(pixels.shape[1], pixels.shape[0], pointer)
    chunks = mtmd.mtmd_input_chunks_init()
    text = mtmd.mtmd_input_text()
    marker = mtmd.mtmd_default_marker()
    text.text, text.text_len = marker, len(marker)
    text.add_special, text.parse_special = False, True
    bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
    try:
        if code := mtmd.mtmd_tokenize(vision, chunks, ctypes.byref(text), bitmaps, 1):
            mtmd.mtmd_input_chunks_free(chunks)
            raise RuntimeError(f"llama.cpp cannot take the picture ({code}): {_reasons()}")
    finally:
        mtmd.mtmd_bitmap_free(bitmap)
    return chunks


class _Runner:
    """A loaded model, its projector if it has one, and one sequence."""

    def __init__(self, job: Job) -> None:
        self.limit: int = job["max_new_tokens"]
        self.stop: set[int] = set(job["stop"])
        self.pad: int = job["image_token"]
        self.first_of: list[int] | None = job["first_of"]
        self.pictures: NDArray[np.uint8] = np.load(job["pictures"], allow_pickle=False)
        model_parameters = llama.llama_model_default_params()
        model_parameters.n_gpu_layers = 0
        self.model = load(job["model"], model_parameters)
        self.vocabulary = llama.llama_model_get_vocab(self.model)
        self.size: int = llama.llama_vocab_n_tokens(self.vocabulary)
        self.context = new_context(self.model, job["context"], _BATCH)
        self.vision = None if job["projector"] is None else new_vision(job["projector"], self.model, exact=True)
        self.batch = llama.llama_batch_init(_BATCH, 0, 1)

    def run(self, prompt: Job) -> tuple[list[int], list[int], list[float], NDArray[np.float32]]:
        """Prefill one prompt and decode its answer."""
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)
        seen: list[int] = []
        position = 0
        for kind, text in prompt["segments"]:
            if kind == "image":
                ids, position = self._see(self.pictures[prompt["picture"]], position)
            else:
                ids = token_ids(self.vocabulary, text, special=kind == "text")
                position = self._read(ids, position)
            seen += ids
        first = logits = self._logits()
        answer: list[int] = []
        probabilities: list[float] = []
        while (token := int(logits.argmax())) not in self.stop and len(answer) < self.limit:
            answer.append(token)
            probabilities.append(float(1 / np.exp(logits.astype(np.float64) - logits[token]).sum()))
            position = self._read([token], position)
            logits = self._logits()
        wanted = first if self.first_of is None else first[np.array(self.first_of, np.int64)]
        return seen, answer, probabilities, wanted

    def _read(self, ids: Sequence[int], position: int) -> int:
        for start in range(0, len(ids), _BATCH):
            part = ids[start : start + _BATCH]
            fill(self.batch, part, position, every=False)
            if code := llama.llama_decode(self.context, self.batch):
                raise RuntimeError(f"llama.cpp cannot decode ({code}): {_reasons()}")
            position += len(part)
        return position

    def _see(self, picture: NDArray[np.uint8], position: int) -> tuple[list[int], int]:
        chunks = picture_chunks(self.vision, picture)
        try:
            end = llama.llama_pos(0)
            code = mtmd.mtmd_helper_eval_chunks(
                self.vision, self.context, chunks, position, 0, _BATCH, True, ctypes.byref(end)
            )
            if code:
                raise RuntimeError(f"llama.cpp cannot read the picture ({code}): {_reasons()}")
            return self._chunk_ids(chunks), int(end.value)
        finally:
            mtmd.mtmd_input_chunks_free(chunks)

    def _chunk_ids(self, chunks: Any) -> list[int]:
        ids: list[int] = []
        for index in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk = mtmd.mtmd_input_chunks_get(chunks, index)
            if mtmd.mtmd_input_chunk_get_type(chunk) == mtmd.MTMD_INPUT_CHUNK_TYPE_TEXT:
                count = ctypes.c_size_t()
                tokens = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
                ids += [tokens[place] for place in range(count.value)]
            else:
                ids += [self.pad] * mtmd.mtmd_input_chunk_get_n_tokens(chunk)
        return ids

    def _logits(self) -> NDArray[np.float32]:
        row = llama.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(row, shape=(self.size,)).copy()


def _reasons() -> str:
    return " ".join("".join((_errors or _log)[-4:]).split())


def main(arguments: Sequence[str]) -> int:
    """Carry out the job file and write the result file; the reason of a failure goes to stderr."""
    source, target = map(Path, arguments)
    job: Job = json.loads(source.read_text(encoding="utf-8"))
    llama.llama_log_set(_collect, None)
    mtmd.mtmd_log_set(_collect, None)
    mtmd.mtmd_helper_log_set(_collect, None)
    load_backends()
    llama.llama_backend_init()
    _log.clear()
    _errors.clear()  # what was loaded until here is no reason for anything
    try:
        every = (quantise, answer, tokenise, logits, picture_tokens)
        tasks = {task.__name__: task for task in every}
        result = tasks[job["task"]](job)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    target.write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
