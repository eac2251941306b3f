"""A generator that the settings give in place of the bundle's own: model files, or servers elsewhere.

It was tuned for none of the bundle's prompts, so it gets those for general models, in its own chat format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from quizglass_bundle.files import Bundle
from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS
from quizglass_bundle.manifest import Manifest, Roles
from quizglass_bundle.parts import GeneratorPart, ReaderPart
from quizglass_server import __version__
from quizglass_server.config.settings import GivenOptions
from quizglass_server.engines.generator.checks.gguf_file import GgufError, read_model
from quizglass_server.engines.generator.remote.server import Facts
from quizglass_server.errors import SettingsError

MODEL, PROJECTOR = "given/model.gguf", "given/mmproj.gguf"
"""What a manifest would call the files; of servers elsewhere there are none."""
_CONTEXT = 4096
"""Tokens of a prompt and its answer, of models that could take more: memory grows with it, and no prompt is longer."""
_ANSWER = 256
_SCORERS_OWN = "rerank"


class GivenPart(GeneratorPart):
    """What is known of such a generator."""

    engine: Literal["llama", "openai"]  # type: ignore[assignment]  # a manifest cannot name the second
    tells: bool = True
    """Whether it tells probabilities."""

    @property
    def general(self) -> bool:
        """Always true."""
        return True

    @property
    def choices(self) -> bool | None:
        """As it tells probabilities; None: not."""
        return self.tells or None


@dataclass(frozen=True)
class Given:
    """Such a generator."""

    title: str
    """What it is called."""
    part: GivenPart
    files: Mapping[str, Path]
    """By the names that the part has for them."""


def given_files(options: GivenOptions) -> Given | None:
    """The generator of model files that the settings name; None where they name none.

    Raises:
        SettingsError: a file cannot be read, is no GGUF, or is none of its kind; names the setting.
    """
    if options.generator is None:
        if options.projector is not None:
            raise SettingsError("projector: goes with a model; name that too: --generator MODEL.gguf")
        return None
    kind, trained = _looked_into(options.generator, "generator")
    if kind == "clip":
        raise SettingsError(
            f"generator: {options.generator} is a projector; name it by --projector, and its model here"
        )
    files = {MODEL: options.generator, **_prompts()}
    if options.projector is not None:
        if _looked_into(options.projector, "projector")[0] != "clip":
            raise SettingsError(f"projector: {options.projector} is no projector, which llama.cpp calls mmproj")
        files[PROJECTOR] = options.projector
    part = _part("llama", sees=options.projector is not None, context=min(trained or _CONTEXT, _CONTEXT))
    return Given(options.generator.stem, part, files)


def given_servers(facts: Facts) -> Given:
    """The generator that servers elsewhere are."""
    engine: Literal["llama", "openai"] = "llama" if facts.native else "openai"
    context = min(facts.context or _CONTEXT, _CONTEXT)
    part = _part(engine, sees=facts.sees, context=context, tells=facts.tells)
    return Given(Path(facts.model).name, part, _prompts())


def completed(bundle: Bundle | None, given: Given | None) -> Bundle:
    """A bundle with the generator that the settings give in place of its own.

    Args:
        bundle: None: one with no files of its own, which reads printed words.
        given: the generator and its files; None: the bundle's own stays.
    """
    if given is None:
        assert bundle is not None, "settings without a bundle give a generator"
        return bundle
    if bundle is None:
        manifest = Manifest(
            format=1,
            name=given.title,
            version=__version__,
            roles=Roles(reader=ReaderPart(engine="rapidocr", kind="reader")),
            abstain="I don't know",
            files={},
            parity="parity.json",
            provenance={},
        )
        bundle = Bundle(root=Path(), manifest=manifest, digest="")
    roles = bundle.roles.model_copy(update={"generator": given.part})
    return replace(bundle, manifest=bundle.manifest.model_copy(update={"roles": roles}), given=given.files)


def _part(engine: Literal["llama", "openai"], *, sees: bool, context: int, tells: bool = True) -> GivenPart:
    return GivenPart(
        engine=engine,
        kind="generator",
        model=MODEL,
        projector=PROJECTOR if sees else None,
        prompts={Path(name).stem: name for name in _prompts()},
        context=context,
        max_new_tokens=min(_ANSWER, context // 2),
        tells=tells,
    )


def _prompts() -> dict[str, Path]:
    found = sorted(GENERAL_PROMPTS.glob("*.jinja"))
    return {f"given/{path.name}": path for path in found if path.stem != _SCORERS_OWN}


def _looked_into(path: Path, setting: str) -> tuple[str, int]:
    """A file's architecture, and for how many tokens it was trained; 0 where it does not say."""
    try:
        found = read_model(path)
    except GgufError as error:
        raise SettingsError(f"{setting}: {path} {error}") from None
    except OSError as error:
        raise SettingsError(f"{setting}: {path}: cannot be read ({error.strerror}); name a GGUF file") from None
    return found.architecture, found.number(f"{found.architecture}.context_length")
