"""Ready-made GGUF files of other families: their own tokenizer, chat format and endings."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS, ChatFormat, PromptError
from quizglass_export.assembly.plan import make_plan
from quizglass_export.errors import ExportError
from quizglass_export.gguf.chat import chat_format
from quizglass_export.gguf.header import GgufHeader, TensorInfo, read_gguf
from quizglass_export.gguf.jobs import quantise
from quizglass_export.gguf.slow_types import slow_notice
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import Recipe
from quizglass_export.roles.generator import Generator
from quizglass_export.roles.shared.samples import random_samples
from tests.support.bundles.tiny_models import write_llama

GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "{% for m in messages %}<start_of_turn>{{ m['role'] }}\n{{ m['content'] | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PROMPT = (
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n{{ question }}<|im_end|>\n<|im_start|>assistant\n\n"
)


def built(folder: Path, model: Path, prompts: Any = "general", **more: Any) -> tuple[Any, Any, dict[str, Any]]:
    """The generator's entry in the manifest, its checks by name, and its notes."""
    content = {"format": 1, "name": "tiny", "version": "1", "prompts": prompts}
    content["roles"] = {"generator": {"model": model, "context": 256, **more}}
    plan = make_plan(RecipeFile(Recipe.model_validate(content), folder))
    job = plan.job("generator", folder / "files", "", random_samples(2))
    exporter, spec = plan.exporter("generator"), plan.spec("generator")
    exported = exporter.export(job, spec)
    checks = {check.measure: check for check in exporter.check(job, spec, exported.part)}
    return exported.part, checks, exported.notes


def test_a_llama_needs_no_tokenizer_beside_it_and_keeps_its_chatml(tmp_path: Path) -> None:
    part, checks, notes = built(tmp_path, write_llama(tmp_path / "m.gguf", CHATML))
    assert part.stop == ("<|im_end|>",)
    assert part.prompts["answer"] == "prompts/answer.jinja"
    assert notes["rewritten_prompts"] == []
    assert checks["finite logits after a prompt"].passed
    assert checks["equal tokens of hostile texts"].demand == "reported"


def test_prompts_are_put_in_the_models_own_chat_format(tmp_path: Path) -> None:
    part, checks, _ = built(tmp_path, write_llama(tmp_path / "m.gguf", GEMMA, begins=True), max_new_tokens=1)
    assert all(check.passed for check in checks.values())
    text = (tmp_path / "files" / part.prompts["answer"]).read_text()
    assert text.startswith("<|endoftext|><start_of_turn>user\nYou help somebody who wears smart glasses")
    assert text.endswith("<end_of_turn>\n<start_of_turn>model\n\n")
    assert "{{ question }}" in text
    assert "<|im_" not in text


def test_prompts_of_another_form_stay_but_for_the_token_that_texts_begin_with(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for name in ("answer", "rewrite", "plan"):
        (prompts / f"{name}.jinja").write_text("Q: {{ question }}\nA:")
    part, _, notes = built(tmp_path, write_llama(tmp_path / "m.gguf", GEMMA, begins=True), str(prompts))
    assert (tmp_path / "files" / part.prompts["answer"]).read_text() == "<|endoftext|>Q: {{ question }}\nA:"
    assert len(notes["rewritten_prompts"]) == 3


def header(template: str) -> GgufHeader:
    tokens = {
        "tokenizer.ggml.tokens": ["<s>", "</s>"],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
    }
    return GgufHeader(3, {**tokens, "tokenizer.chat_template": template}, {})


def test_a_chat_format_is_read_from_its_template() -> None:
    assert chat_format(header(CHATML), "m.gguf") == ChatFormat(
        "<|im_start|>system\n",
        "<|im_end|>\n<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>user\n",
    )
    form = chat_format(header(CHATML), "m.gguf")
    assert form is not None
    assert form.rewrite(PROMPT) == PROMPT
    for path in GENERAL_PROMPTS.glob("*.jinja"):
        assert form.rewrite(path.read_text()).rstrip("\n") == path.read_text().rstrip("\n"), path.name


@pytest.mark.parametrize(
    "template",
    [
        *("{{ messages", "{{ messages[0]['content'] }}{{ messages[0]['content'] }}", "no"),
        *("{{ 1 + 'a' }}", "{{ 1 / 0 }}", "{% for each in range(10 ** 9) %}x{% endfor %}"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_by_name(template: str) -> None:
    with pytest.raises(ExportError, match=r"m\.gguf: tokenizer\.chat_template cannot be used"):
        chat_format(header(template), "m.gguf")


def test_a_prompt_of_several_turns_is_refused() -> None:
    form = ChatFormat("", "", "", "")
    with pytest.raises(PromptError, match="ChatML is not a system's turn"):
        form.rewrite("<|im_start|>user\na<|im_end|>\n<|im_start|>user\nb<|im_end|>\n")


def test_what_llama_cpp_does_not_know_is_refused_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"m\.gguf: llama\.cpp cannot load it: .*unknown model .*'mamba9'"):
        built(tmp_path, write_llama(tmp_path / "m.gguf", kind="mamba9"))


def test_types_without_a_fast_path_are_named_with_what_to_take_instead(tmp_path: Path) -> None:
    tensors = {"a": TensorInfo((32, 32), "q4_1", 0, 640), "b": TensorInfo((32, 2), "q5_1", 640, 48)}
    notice = slow_notice(GgufHeader(3, {}, tensors))
    assert notice == "Q4_1 reads prompts 1.9 times as slowly as Q8_0; take the same model in Q4_0"
    quantise(write_llama(tmp_path / "m.gguf"), tmp_path / "q.gguf", "q8_0")
    assert slow_notice(read_gguf(tmp_path / "q.gguf")) == ""


def test_endings_of_the_recipe_go_before_those_of_the_file(tmp_path: Path) -> None:
    part, _, _ = built(tmp_path, write_llama(tmp_path / "m.gguf", CHATML), stop=["<|endoftext|>"])
    assert part.stop == ("<|endoftext|>",)
    assert Generator(model=Path("m.gguf")).tokenizer is None


def test_a_prompt_with_examples_stays_as_it_is_for_a_model_of_chatml() -> None:
    prompt = "".join(f"<|im_start|>{role}\na<|im_end|>\n" for role in ("user", "assistant", "user"))
    prompt += "<|im_start|>assistant\n"
    form = ChatFormat("", "", "<|im_end|>\n<|im_start|>assistant\n", "<|im_start|>user\n")
    assert form.rewrite(prompt) == prompt
