"""What of a generator fits on a card: counted from its files before llama-server tries.

llama.cpp keeps the input embedding in the machine's memory; each layer's weights and its share of the KV cache go
together, and the output matrix counts as a last layer.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.engines.generator.checks.gguf_file import GgufFile, read_model
from quizglass_server.engines.generator.checks.weights import cache_bytes
from quizglass_server.engines.generator.process.programs import Origin, Program
from quizglass_server.errors import SettingsError

AUTO = -1
"""As many layers as fit."""
ALL = -1
"""Every card."""
_CONTEXT = 400 << 20
"""Bytes that a card's driver takes for a process that computes on it, about."""
_WORK = 128 << 20
"""Bytes of a layer's intermediate results, about; those of the output come on top, for each token of a batch."""
_PICTURE = 256 << 20
"""Bytes of intermediate results of a picture, about."""
_DEVICE = re.compile(r"^\s+(\S+): .*\((\d+) MiB, (\d+) MiB free\)$", re.MULTILINE)
_LAYER = re.compile(r"^blk\.(\d+)\.")
_INPUT = "token_embd.weight"
_LIST_S = 60
_MIB, _GIB = 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Device:
    """A card, as llama-server names it."""

    name: str
    total: int
    """Bytes."""
    free: int


@dataclass(frozen=True, slots=True)
class CardRoom:
    """How much of the cards the generator may take."""

    devices: tuple[Device, ...]
    share: float
    """Of each card's memory, that this server may take."""
    reserved: int
    """Bytes of the first card for other models of this server."""
    named: bool = False
    """Whether the operator named the card; else llama.cpp takes all there are."""

    @property
    def bytes(self) -> int:
        """Of all cards together; llama.cpp divides the layers between them."""
        return max(0, sum(min(each.free, int(self.share * each.total)) for each in self.devices) - self.reserved)

    def __str__(self) -> str:
        """For a notice: what there is."""
        names = ", ".join(each.name for each in self.devices)
        free, total = sum(each.free for each in self.devices), sum(each.total for each in self.devices)
        kept = f", {self.reserved / _GIB:.1f} kept for ONNX Runtime" if self.reserved else ""
        return f"{names} has {free / _GIB:.1f} of {total / _GIB:.1f} GiB free{kept}, gpu_memory is {self.share:g}"


@dataclass(frozen=True, slots=True)
class CardNeeds:
    """Bytes that a generator takes on a card."""

    layers: tuple[int, ...]
    """Of each layer in llama.cpp's order, with its part of the KV cache; the output is the last."""
    work: int
    """Whatever is on the card."""
    projector: int
    """With a picture's intermediate results; 0: there is none."""

    def of(self, layers: int, *, projector: bool) -> int:
        """Bytes with the last so many layers on the card, which llama.cpp takes first."""
        return self.work + sum(self.layers[len(self.layers) - layers :]) + (self.projector if projector else 0)


@dataclass(frozen=True, slots=True)
class CardPlan:
    """What goes on the card."""

    layers: int
    of: int
    """How many the model has, with the output."""
    projector: bool
    """Whether pictures are read on the card too."""
    bytes: int
    """Taken by it, about."""
    notice: str = ""
    """What does not fit, with the numbers; empty where everything does."""
    device: str = ""
    """The card that was named, as llama-server names it; empty: all there are."""
    spared: int = 0
    """Bytes of weights and cache that the machine's memory does not have to hold."""

    @property
    def flags(self) -> list[str]:
        """llama-server's; none is left to a default that another version may have changed."""
        return [
            *("--n-gpu-layers", str(self.layers)),
            *(["--flash-attn", "on"] if self.layers else []),
            "--mmproj-offload" if self.projector else "--no-mmproj-offload",
            *(["--device", self.device] if self.device else []),
        ]

    def __str__(self) -> str:
        """For log and ready line."""
        return f"{self.layers} of {self.of} layers on the card, about {self.bytes / _GIB:.1f} GiB"


def room(program: Program, share: float, reserved: int, number: int = ALL) -> CardRoom | None:
    """The cards that a llama-server can use, as it lists them itself; None without one.

    Args:
        program: the one that will be started. xllamacpp's is compiled for CPUs alone, and not asked.
        share: of each card's memory, that this server may take.
        reserved: bytes of the first of them for other models of this server.
        number: of the one card that may be used, in the order of the list; `ALL`: every card.

    Raises:
        SettingsError: there are cards, and none of that number.
    """
    if program.origin is Origin.PREBUILT:
        return None
    try:
        done = subprocess.run(  # noqa: S603
            [*program.command, "--list-devices"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIST_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # one that cannot be started fails by name later
        return None
    found = tuple(
        Device(name, int(total) * _MIB, int(free) * _MIB) for name, total, free in _DEVICE.findall(done.stdout)
    )
    if not found:
        return None
    if number == ALL:
        return CardRoom(found, share, reserved)
    if number >= len(found):
        names = ", ".join(each.name for each in found)
        raise SettingsError(f"gpu_device: llama-server lists {names}, counted from 0, and none is {number}")
    return CardRoom((found[number],), share, reserved, named=True)


def needs(model: Path, projector: Path | None, cells: int, batch: int) -> CardNeeds:
    """Count what a generator takes, from its files.

    Args:
        model: GGUF of the text model.
        projector: GGUF of the vision model, if there is one.
        cells: tokens that its KV cache holds, of all slots together.
        batch: tokens of a prompt that are read in one step.

    Raises:
        OSError, ValueError: a file cannot be read.
    """
    text = read_model(model)
    layers = [0] * (text.number(f"{text.architecture}.block_count") + 1)
    sizes = {name: size for file in (text, *text.more) for name, size in _tensor_sizes(file)}
    for name, size in sizes.items():
        found = _LAYER.match(name)
        if found is not None and int(found[1]) < len(layers) - 1:
            layers[int(found[1])] += size
        elif name != _INPUT:
            layers[-1] += size
    if "output.weight" not in sizes:  # tied: a copy of the input's
        layers[-1] += sizes.get(_INPUT, 0)
    cache = cache_bytes(text, cells) // max(1, len(layers) - 1)
    words = len(text.strings("tokenizer.ggml.tokens"))
    return CardNeeds(
        tuple(size + (cache if place < len(layers) - 1 else 0) for place, size in enumerate(layers)),
        _CONTEXT + _WORK + 4 * words * batch,
        0 if projector is None else projector.stat().st_size + _PICTURE,
    )


def plan(needed: CardNeeds, there: CardRoom, wanted: int = AUTO) -> CardPlan:
    """What goes on the card: everything where it fits, else the projector and as many layers as there is room for.

    Args:
        needed: by the generator.
        there: on the cards.
        wanted: layers that the operator asks for, the output among them; `AUTO`: as many as fit.

    Raises:
        SettingsError: that many do not fit; with the numbers.
    """
    whole, most = len(needed.layers), there.bytes
    sees = needed.projector > 0
    fitting = [
        (layers, projector)
        for projector in ((True, False) if sees else (True,))
        for layers in range(whole, 0, -1)
        if needed.of(layers, projector=projector and sees) <= most
    ]
    best = fitting[0] if fitting else (0, False)
    if wanted != AUTO and wanted > (fitted := max((layers for layers, _ in fitting), default=0)):
        asked = min(wanted, whole)
        if fitted < asked:
            raise SettingsError(
                f"gpu_layers: {asked} of {whole} layers need about {needed.of(asked, projector=False) / _GIB:.1f} GiB "
                f"of the card and {most / _GIB:.1f} can be taken ({there}); {fitted} fit. Take fewer, a smaller model "
                "or quantisation, fewer --generator-cells, or leave gpu_layers out"
            )
    layers = best[0] if wanted == AUTO else min(wanted, whole)
    projector = layers > 0 and needed.of(layers, projector=True) <= most
    taken = needed.of(layers, projector=projector) if layers else 0
    short = layers < whole and wanted == AUTO
    notice = ""
    if short or (sees and not projector and layers > 0):
        on = f"{layers} of {whole} layers" + ("" if projector or not sees else ", without what reads pictures,")
        notice = (
            f"has {on} on the card: all of it needs about {needed.of(whole, projector=sees) / _GIB:.1f} GiB and "
            f"{most / _GIB:.1f} can be taken ({there}); take a smaller quantisation, fewer --generator-cells, or a "
            "larger --gpu-memory"
        )
    device = there.devices[0].name if there.named else ""
    return CardPlan(layers, whole, projector, taken, notice, device, max(0, taken - needed.work))


def _tensor_sizes(file: GgufFile) -> list[tuple[str, int]]:
    """Bytes of each tensor: they lie behind each other."""
    placed = sorted(file.tensors, key=lambda tensor: tensor.offset)
    ends: Sequence[int] = [tensor.offset for tensor in placed[1:]] + [file.size]
    return [(tensor.name, end - tensor.offset) for tensor, end in zip(placed, ends, strict=True)]
