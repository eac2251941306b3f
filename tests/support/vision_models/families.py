"""Vision-language models that people have, each as a tiny checkpoint with random weights.

Those that transformers has a class for are made by it (`by_transformers`), the others tensor by tensor (`by_hand`).
Special tokens and chat templates are shaped as those of the published models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.vision_models import by_hand, by_transformers
from tests.support.vision_models.tokenizers_of import write_byte_fallback, write_byte_level

_CHATML = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message['role'] + '\n' }}
{%- if message['content'] is string -%}{{ message['content'] }}{%- else -%}
{%- for item in message['content'] -%}
{%- if item['type'] == 'text' -%}{{ item['text'] }}{%- else -%}{{ 'IMAGE' }}{%- endif -%}
{%- endfor -%}{%- endif -%}
{{ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}
"""
_GEMMA = """\
{{- bos_token -}}
{%- set said = '' -%}
{%- if messages[0]['role'] == 'system' -%}
{%- set first = messages[0]['content'] -%}
{%- set said = (first if first is string else first[0]['text']) + '\n\n' -%}
{%- endif -%}
{%- for message in messages if message['role'] != 'system' -%}
{{ 'BEGIN' + ('model' if message['role'] == 'assistant' else 'user') + '\n' + (said if loop.first else '') }}
{%- if message['content'] is string -%}{{ message['content'] }}{%- else -%}
{%- for item in message['content'] -%}
{%- if item['type'] == 'text' -%}{{ item['text'] }}{%- else -%}{{ 'IMAGE' }}{%- endif -%}
{%- endfor -%}{%- endif -%}
{{ 'END\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ 'BEGINmodel\n' }}{%- endif -%}
"""
_SMOLVLM = """\
<|im_start|>
{%- for message in messages -%}
{{ message['role'] | capitalize + ': ' }}
{%- if message['content'] is string -%}{{ message['content'] }}{%- else -%}
{%- for item in message['content'] -%}
{%- if item['type'] == 'text' -%}{{ item['text'] }}{%- else -%}{{ '<image>' }}{%- endif -%}
{%- endfor -%}{%- endif -%}
{{ '<end_of_utterance>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ 'Assistant:' }}{%- endif -%}
"""
_NO_DRAFTS = ("--no-nextn",)
"""Without the layers that guess tokens ahead, which these have none of."""
_QWEN = (
    "<|endoftext|>",
    "<|im_end|>",
    "<|pad|>",
    "<|im_start|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
)


@dataclass(frozen=True)
class Family:
    """One family: its name, special tokens, and what writes its checkpoint."""

    name: str
    specials: Sequence[str]
    """Beginning and end of a text, padding, and further ones."""
    template: str
    write: Callable[[Path, int], None]
    """Writes configuration, weights and the preprocessor's settings; given the number of tokens."""
    tokenizer: Callable[[Path, Sequence[str], str], int] = write_byte_level
    splitting: str = "qwen2"
    """llama.cpp's name of how the tokenizer splits texts."""
    flags: tuple[str, ...] = ()
    """Of the converter, for the language model."""

    def make(self, folder: Path) -> None:
        """Write the checkpoint into an empty directory."""
        self.write(folder, self.tokenizer(folder, self.specials, self.template))


def _gemma(begin: str, end: str, image: str) -> str:
    return _GEMMA.replace("BEGIN", begin).replace("END", end).replace("IMAGE", image)


def _chatml(image: str) -> str:
    return _CHATML.replace("IMAGE", image)


_SEEN = _chatml("<|vision_start|><|image_pad|><|vision_end|>")
FAMILIES = (
    Family("qwen2vl", _QWEN, _SEEN, by_transformers.qwen2_vl),
    Family("qwen2.5vl", _QWEN, _SEEN, by_transformers.qwen2_5_vl),
    Family("qwen3vl", _QWEN, _SEEN, by_transformers.qwen3_vl),
    Family(
        "gemma3",
        ("<bos>", "<end_of_turn>", "<pad>", "<start_of_turn>", "<start_of_image>", "<end_of_image>"),
        _gemma("<start_of_turn>", "<end_of_turn>", "<start_of_image>"),
        by_transformers.gemma3,
    ),
    Family(
        "gemma4",
        ("<bos>", "<turn|>", "<pad>", "<|turn>", "<|image>", "<image|>", "<|image|>"),
        _gemma("<|turn>", "<turn|>", "<|image|>"),
        by_hand.gemma4,
        write_byte_fallback,
    ),
    Family(
        "smolvlm2",
        (
            *("<|im_start|>", "<end_of_utterance>", "<|pad|>", "<fake_token_around_image>", "<global-img>", "<image>"),
            *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
        ),
        _SMOLVLM,
        by_transformers.smolvlm,
    ),
    Family(
        "internvl3",
        ("<|endoftext|>", "<|im_end|>", "<|pad|>", "<|im_start|>", "<img>", "</img>", "<IMG_CONTEXT>"),
        _chatml("<IMG_CONTEXT>\\n"),
        by_transformers.internvl3,
    ),
    Family(
        "lfm2-vl",
        (
            *(
                "<|startoftext|>",
                "<|im_end|>",
                "<|pad|>",
                "<|im_start|>",
                "<|image_start|>",
                "<|image_end|>",
                "<image>",
            ),
            *("<|img_thumbnail|>", *(f"<|img_row_{row}_col_{at}|>" for row in range(1, 5) for at in range(1, 5))),
        ),
        "{{- bos_token -}}" + _chatml("<image>"),
        by_transformers.lfm2_vl,
    ),
    Family(
        "minicpmv4.6",
        ("<|endoftext|>", "<|im_end|>", "<|pad|>", "<|im_start|>", "<image>", "</image>", "<slice>", "</slice>"),
        _chatml("(<image>./</image>)"),
        by_hand.minicpmv,
        flags=_NO_DRAFTS,
    ),
    Family("qwen3.5", _QWEN, _SEEN, by_hand.qwen3_5, flags=_NO_DRAFTS),
)
"""All of them, in the order of `docs/models.md`."""
