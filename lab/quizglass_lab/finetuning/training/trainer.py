"""Trains with transformers' Trainer: resumes with optimiser and random states, draws curves, writes training.json."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import transformers
from peft import LoraConfig, get_peft_model
from peft.tuners.tuners_utils import BaseTunerLayer
from torch.nn import functional

from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS
from quizglass_export.checkpoints.files import ADAPTER_WEIGHTS, TRAINING, how_to_download, read_json, weight_files
from quizglass_export.checkpoints.peft_models import load_adapted, save_adapter
from quizglass_export.directory import fresh_directory
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.models.checkpoint import Loaded, load, picture_size
from quizglass_lab.finetuning.shared.records import file_hash, written_whole
from quizglass_lab.finetuning.training.begun import STATE, check_begun, last_checkpoint
from quizglass_lab.finetuning.training.examples import (
    HELD_OUT,
    TRAIN,
    TrainingExample,
    mixed,
    objectives,
    read_examples,
)
from quizglass_lab.finetuning.training.rows import ExampleRows, collated
from quizglass_lab.finetuning.training.sampler import SimilarLengths
from quizglass_lab.finetuning.training.settings import Training
from quizglass_lab.finetuning.training.time_limit import Diary, falling, peak_memory, time_is_up
from quizglass_lab.starter.model.precision import has_tiles

_ATTENTION = "q_proj|k_proj|v_proj|o_proj"
TARGETS = {
    layers: rf"(?!.*visual\.).*\.({names})"
    for layers, names in {"all": f"{_ATTENTION}|gate_proj|up_proj|down_proj", "attention": _ATTENTION}.items()
}
"""Linear layers of the language model; a vision tower stays as it is."""
ADAPTER, MODEL, PROMPTS, PROGRESS, CURVES = "adapter", "model", "prompts", "progress", "tensorboard"
_IGNORED = -100
_BESIDE = (".json", ".txt", ".jinja", ".model")


def train(settings: Training, recipe: str, *, quiet: bool = True) -> dict[str, Any]:
    """Train, or go on where an earlier sitting stopped.

    Returns:
        What `training.json` holds: minutes of all sittings, steps, peak memory, measurements, hashes.

    Raises:
        ExportError: an input is wrong, or `out` was begun with another configuration or other data.
    """
    examples = _to_train_on(settings)
    held_out = _held_out(settings)
    if settings.general is not None:
        general = [_rebased(each, settings) for each in read_examples(settings.general)]
        examples = mixed(examples, general, settings.seed)
    facts = _facts(settings, recipe)
    progress = settings.out / PROGRESS
    last = last_checkpoint(progress)
    finished = (settings.out / TRAINING).is_file()
    check_begun(progress, facts, anything=finished or last is not None)
    if finished:
        return read_json(settings.out / TRAINING)
    trainer = _trainer(settings, examples, held_out, quiet=quiet)
    _run(trainer, last)
    measured = trainer.evaluate() if held_out else {}
    _save(trainer, settings)
    facts |= _measured(trainer, measured) | {"examples": objectives(examples)}
    with written_whole(settings.out / TRAINING) as file:
        file.write(json.dumps(facts, indent=1) + "\n")
    return facts


def _trainer(
    settings: Training, examples: list[TrainingExample], held_out: list[TrainingExample], *, quiet: bool
) -> transformers.Trainer:
    """The model with what trains it; leaves its prompts beside what will come of it."""
    transformers.set_seed(settings.seed)
    loaded = load(
        settings.checkpoint,
        prompts=settings.prompts,
        picture=picture_size(settings.picture),
        max_tokens=settings.max_tokens,
        device=settings.device,
    )
    loaded.prompts.save(settings.out / PROMPTS)
    rows = ExampleRows(loaded, examples, settings.data)
    measured = ExampleRows(loaded, held_out, settings.data)
    rows.check()
    measured.check()
    trainer = _AnswerTrainer(
        settings=settings,
        model=_trainable(loaded, settings),
        args=_arguments(settings, len(held_out), loaded, quiet=quiet),
        data_collator=partial(collated, loaded.inputs),
        train_dataset=rows,
        eval_dataset=measured if held_out else None,
        compute_metrics=lambda result: _right(held_out, result.predictions),
        callbacks=[Diary(limit=settings.minutes)],
    )
    trainer.remove_callback(transformers.PrinterCallback)  # would print every entry of the log
    return trainer


def _right(held_out: Sequence[TrainingExample], predictions: Any) -> dict[str, float]:
    """Share of the held-out examples that are said as they are to be, of all and of each objective."""
    named = [each.objective for each in held_out]
    places = {name: [at for at, each in enumerate(named) if each == name] for name in sorted(set(named))}
    each = {f"right_{name}": float(predictions[some].mean()) for name, some in places.items()}
    return {"right": float(predictions.mean()), **each}


def _measured(trainer: Any, held_out: dict[str, float]) -> dict[str, Any]:
    """What a run took and reached."""
    diary = _diary(trainer)
    return {
        "minutes": round(diary.minutes, 4),
        "steps": trainer.state.global_step,
        "peak_memory_bytes": max(diary.peak, peak_memory()),
        "held_out": {name.removeprefix("eval_"): value for name, value in held_out.items() if "_per_" not in name},
        "curve": [entry for entry in trainer.state.log_history if "loss" in entry or "eval_loss" in entry],
    }


def _diary(trainer: Any) -> Diary:
    """The one that counts: a resumed run has another object than the one it was given."""
    return next(each for each in trainer.callback_handler.callbacks if isinstance(each, Diary))


def _run(trainer: Any, last: Path | None) -> None:
    """Train from the last checkpoint. One that is already at the end would be taken a step further, so it is not."""
    if last is not None:
        state = transformers.TrainerState.load_from_json(str(last / STATE))
        if state.global_step >= state.max_steps or time_is_up(state):
            trainer._load_from_checkpoint(str(last))
            trainer.state = state
            trainer._load_callback_state()
            return
    trainer.train(resume_from_checkpoint=None if last is None else str(last))


class _AnswerTrainer(transformers.Trainer):  # type: ignore[misc]
    """Loss on answers alone: the mean over an answer's tokens, then over examples, so that a letter counts as much as a
    sentence. Logits are computed where answers stand and nowhere else.
    """

    def __init__(self, settings: Training | None = None, **how: Any) -> None:
        super().__init__(**how)
        self._settings = settings
        self.model_accepts_loss_kwargs = True  # `compute_loss` gets the number of examples of a step

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        if self._settings is None or not self._settings.minutes:
            return super().create_scheduler(num_training_steps, optimizer)
        optimizer = optimizer or self.optimizer
        self.lr_scheduler = falling(optimizer, num_training_steps, self._settings, lambda: _diary(self).minutes)
        return self.lr_scheduler

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        if self._settings is None or self._settings.batch == 1:
            return super()._get_train_sampler(train_dataset)
        return SimilarLengths(self.train_dataset.lengths(), self._settings.batch, self._settings.seed)

    def _get_num_items_in_batch(self, batch_samples: Any, device: Any) -> int:
        """Examples of an optimiser step; the last batch of an epoch may be short, and its examples count no more."""
        return sum(len(batch["labels"]) for batch in batch_samples)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: int | None = None
    ) -> Any:
        labels = inputs["labels"]
        columns = (labels != _IGNORED).any(0).nonzero()[:, 0]
        rest = {name: value for name, value in inputs.items() if name != "labels"}
        logits = model(**rest, logits_to_keep=columns - 1).logits.float()
        wanted = labels[:, columns]
        losses = functional.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=_IGNORED, reduction="none")
        said = wanted != _IGNORED
        loss = (losses.sum(1) / said.sum(1)).sum() / (num_items_in_batch or len(labels))
        if not return_outputs:
            return loss
        right = ((logits.argmax(-1) == wanted) | ~said).all(1).float()
        return loss, {"loss": loss, "right": right}


def _trainable(loaded: Loaded, settings: Training) -> Any:
    model = loaded.model.train()
    model.config.use_cache = False
    if settings.full:
        return model.float()
    adapted = (
        _fresh(model, settings) if settings.adapter is None else load_adapted(model, settings.adapter, trained=True)
    )
    if _in_halves(settings, loaded):
        _halve_base(adapted)
    return adapted


def _fresh(model: Any, settings: Training) -> Any:
    """With an adapter that changes nothing yet."""
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=TARGETS[settings.layers],
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def _in_halves(settings: Training, loaded: Loaded) -> bool:
    """Whether a CPU computes in bfloat16; without AMX that would be slower than float32."""
    return loaded.device.type == "cpu" and settings.bfloat16 and not settings.full and has_tiles()


def _halve_base(model: Any) -> None:
    """The frozen matrices in the precision they are multiplied in, so that no step converts them again."""
    for module in model.modules():
        if isinstance(module, BaseTunerLayer):
            module.get_base_layer().weight.data = module.get_base_layer().weight.data.bfloat16()
            module.cast_input_dtype_enabled = False


def _arguments(settings: Training, held_out: int, loaded: Loaded, *, quiet: bool) -> transformers.TrainingArguments:
    on_gpu = loaded.device.type == "cuda"
    return transformers.TrainingArguments(
        output_dir=str(settings.out / PROGRESS),
        logging_dir=str(settings.out / CURVES),
        per_device_train_batch_size=settings.batch,
        per_device_eval_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup" if settings.schedule == "constant" else settings.schedule,
        warmup_ratio=settings.warm_up,
        num_train_epochs=settings.epochs,
        max_steps=settings.steps or -1,
        eval_strategy="steps" if held_out else "no",
        eval_steps=settings.evaluate_every,
        save_steps=settings.evaluate_every,
        save_total_limit=2,
        logging_steps=max(1, min(10, settings.evaluate_every)),
        logging_first_step=True,
        gradient_checkpointing=settings.checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False} if settings.checkpointing else None,
        bf16=on_gpu or _in_halves(settings, loaded),
        use_cpu=not on_gpu,
        seed=settings.seed,
        report_to=["tensorboard"],
        disable_tqdm=quiet,
        remove_unused_columns=False,
        label_names=["labels"],
        restore_callback_states_from_checkpoint=True,
        dataloader_pin_memory=on_gpu,
    )


def _to_train_on(settings: Training) -> list[TrainingExample]:
    path = settings.data / TRAIN
    if not path.is_file():
        raise ExportError(
            f"{path}: is not there; quizglass-lab annotate writes it once every question is asked, and goes on "
            "where it was stopped when it is given again"
        )
    return read_examples(path, without=settings.without, only=settings.only)


def _held_out(settings: Training) -> list[TrainingExample]:
    path = settings.data / HELD_OUT
    if not path.is_file():
        return []
    return read_examples(path, without=settings.without, only=settings.only, needed=False)


def _rebased(example: TrainingExample, settings: Training) -> TrainingExample:
    """A general example whose pictures are found from the folder of the data."""
    folder = Path() if settings.general is None else settings.general.parent
    paths = tuple(str(path.absolute()) for path in example.picture_paths(folder))
    return example.model_copy(update={"pictures": paths})


def _facts(settings: Training, recipe: str) -> dict[str, Any]:
    files = {TRAIN: settings.data / TRAIN, HELD_OUT: settings.data / HELD_OUT, "--general": settings.general}
    prompts = settings.prompts or GENERAL_PROMPTS
    paths = {"out", "checkpoint", "adapter", "data", "general", "prompts"}
    config = settings.model_dump(mode="json", exclude={*paths, "device"})
    adapter = {} if settings.adapter is None else {"adapter_sha256": file_hash(settings.adapter / ADAPTER_WEIGHTS)}
    return {
        "recipe": recipe,
        "config": config,
        "base": {
            "name": settings.checkpoint.name,
            "config_sha256": file_hash(_config_file(settings)),
            "weights_sha256": {path.name: file_hash(path) for path in weight_files(settings.checkpoint)},
            **adapter,
        },
        "data": {name: file_hash(path) for name, path in files.items() if path is not None and path.is_file()},
        "prompts": {path.name: file_hash(path) for path in sorted(prompts.glob("*.jinja"))},
        "versions": {name: version(name) for name in ("torch", "transformers", "peft", "accelerate")},
        "machine": platform.machine(),
    }


def _config_file(settings: Training) -> Path:
    path = settings.checkpoint / "config.json"
    if not path.is_file():
        advice = how_to_download(settings.checkpoint)
        raise ExportError(f"{path}: missing; --checkpoint must name the folder of a model{advice}")
    return path


def _save(trainer: Any, settings: Training) -> None:
    """Write the adapter or the model, whole or not at all."""
    if not settings.full:
        name = settings.checkpoint.name
        save_adapter(trainer.model, settings.out / ADAPTER, base=name, half=settings.half)
        return
    with fresh_directory(settings.out / MODEL) as folder:
        _save_model(trainer, settings.checkpoint, folder)


def _save_model(trainer: Any, base: Path, folder: Path) -> None:
    trainer.save_model(str(folder))
    (folder / "training_args.bin").unlink(missing_ok=True)  # which names this machine's paths; training.json has them
    for path in base.iterdir():  # the tokenizer and what goes with it, byte by byte
        target = folder / path.name
        if path.suffix in _BESIDE and not path.name.endswith(".index.json") and not target.exists():
            shutil.copyfile(path, target)
