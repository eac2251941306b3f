"""BEM (Bulian et al., EMNLP 2022): a BERT that tells whether two answers to a question say the same.

The model is not part of this project. What is needed: `google/answer_equivalence/bem/1` of TensorFlow Hub as an ONNX
file (`python -m tf2onnx.convert --saved-model DIR --output bem.onnx`), inputs `input_ids` and `segment_ids` (int64,
[batch, 512]), output logits [batch, 2]; and `vocab.txt` of BERT base, uncased. It runs on onnxruntime, which the extra
`cpu` brings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

_LENGTH = 512
_INPUTS = ("input_ids", "segment_ids")


class Bem:
    """Probability that a candidate answer says the same as a reference."""

    def __init__(self, model: Path, vocabulary: Path) -> None:
        """Load the ONNX file and the words.

        Raises:
            ValueError: one of the files is missing or damaged, the model has other inputs than `input_ids` and
                `segment_ids`, or onnxruntime is not installed.
        """
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise ValueError("BEM needs onnxruntime; in the clone: pip install '.[cpu]'") from None
        from tokenizers import BertWordPieceTokenizer

        for path in (model, vocabulary):
            if not path.is_file():
                raise ValueError(f"{path}: missing; BEM needs its ONNX file and BERT's vocab.txt")
        try:
            self._session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no base of their own
            raise ValueError(f"{model}: not a model that onnxruntime reads: {error}") from error
        names = {each.name for each in self._session.get_inputs()}
        if names != set(_INPUTS):
            expected = " and ".join(_INPUTS)
            raise ValueError(f"{model}: inputs {', '.join(sorted(names))}; expected {expected}")
        try:
            self._tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        except Exception as error:  # nor have those of tokenizers
            raise ValueError(f"{vocabulary}: not BERT's vocab.txt: {error}") from error

    def __call__(self, question: str, reference: str, candidate: str) -> float:
        """0 to 1, from [CLS] candidate [SEP] reference [SEP] question [SEP], cut to 512 tokens."""
        ids = [self._tokenizer.token_to_id("[CLS]")]
        segments = [0]
        for number, text in enumerate((candidate, reference, question)):
            part = [*self._tokenizer.encode(text, add_special_tokens=False).ids, self._tokenizer.token_to_id("[SEP]")]
            ids += part
            segments += [number] * len(part)
        feeds = {name: _padded(values) for name, values in zip(_INPUTS, (ids, segments), strict=True)}
        logits = np.asarray(self._session.run(None, feeds)[0], dtype=np.float64).reshape(-1)[:2]
        odds = np.exp(logits - logits.max())
        return float(odds[1] / odds.sum())


def loaded_bem(folder: Path) -> Bem:
    """BEM of a folder that has `bem.onnx` and `vocab.txt`; raises as `Bem`."""
    return Bem(folder / "bem.onnx", folder / "vocab.txt")


def _padded(values: list[int]) -> np.ndarray:
    row = np.zeros((1, _LENGTH), dtype=np.int64)
    row[0, : len(values)] = values[:_LENGTH]
    return row
