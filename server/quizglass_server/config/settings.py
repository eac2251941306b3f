"""The server's settings: flags before environment before file, unknown names refused.

Each field's description says what it trades; the command line's help and the docs are made from them.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from quizglass_server.config.address import MilvusAddress, knowledge_address
from quizglass_server.config.layers import (
    CONFIG_VARIABLE,
    FLAG,
    PREFIX,
    VARIABLE,
    environment_layer,
    explained,
    file_layer,
)

if TYPE_CHECKING:
    from quizglass_server.decoding.pictures import PictureLimits

Bytes = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]


def _place(given: Any) -> Any:
    try:
        return knowledge_address(given)
    except ValueError as error:
        raise PydanticCustomError("knowledge_address", "{why}", {"why": str(error)}) from None


KnowledgePlace = Annotated[Path | MilvusAddress, BeforeValidator(_place)]


class Settings(BaseSettings):
    """What a server is started with. Relative paths are relative to the working directory."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    bundle: Path = Field(
        description="Directory with the models, prompts and manifest. Required. Every file is hashed at the start: a "
        "damaged bundle never serves, at the price of reading it once."
    )
    knowledge: KnowledgePlace = Field(
        description="Directory of the knowledge store; made when it does not exist. Required. One server at a time "
        "owns it. Or a Milvus, which several servers share and which is slower: http://HOST:PORT, https://HOST:PORT, "
        "or milvus:FILE.db for one in this process; needs the extra milvus."
    )
    knowledge_collections: str = Field(
        "quizglass",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$",
        description="What the names of the collections in Milvus begin with. Another name is another, empty store: "
        "take one for a bundle with other encoders.",
    )
    knowledge_token_file: Path | None = Field(
        None,
        description="File with the token for Milvus: user:password or an API key. Without one, none is sent.",
    )
    knowledge_timeout_s: Seconds = Field(
        5.0,
        description="Seconds that one call of Milvus may take. Less gives up sooner; more waits out a busy one.",
    )
    host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address to listen on. The default can be reached from this machine only. There is no encryption "
        "and no login: listen on others (0.0.0.0, ::) only in a network you trust.",
    )
    port: int = Field(50061, ge=0, le=65535, description="Port to listen on; 0 takes a free one, see the ready line.")
    max_frame_bytes: Bytes = Field(
        8 << 20,
        le=30 << 20,
        description="Largest encoded picture, in bytes. More admits sharper pictures, which the models scale down "
        "anyway; less protects a small machine's memory.",
    )
    max_frame_pixels: Bytes = Field(
        40_000_000,
        description="Largest picture, in pixels; each takes 1 to 17 bytes while it is decoded, by format. What has "
        "more than 8.3 million (4K) is kept at a half or a third of its sides, which no model notices.",
    )
    work_memory_bytes: int = Field(
        832 << 20,
        ge=32 << 20,
        description="Memory that messages and pictures under way may take together, beyond what the server takes when "
        "idle. Requests wait for it, and are refused where they wait in vain. Less protects a small machine and "
        "refuses the largest pictures; the default takes one WebP of 40 million pixels at a time.",
    )
    max_frame_aspect: float = Field(
        8.0,
        ge=1,
        description="Longest side of a picture over its shortest. Extremes carry no content and upset image code.",
    )
    max_question_chars: int = Field(
        2000, ge=1, le=20_000, description="Longest question. Longer ones crowd evidence out of the prompt."
    )
    max_history: int = Field(
        8, ge=0, le=64, description="Most earlier exchanges a request may carry. Each makes every prompt longer."
    )
    default_policy: str | None = Field(
        None,
        description="Policy of requests that name none: none, image, text and both always look up the same; "
        "planning-agent asks its planner, prompt-based the generator, draft-first the tool router about a draft. One "
        "that the bundle cannot serve refuses to start. Without one the best that it can serve is taken, in the order "
        "planning-agent, draft-first, both, image, text, none.",
    )
    default_budget_s: Seconds = Field(
        10.0,
        description="Seconds a turn may take when the request has no deadline. Shorter answers sooner with fewer "
        "lookups: steps that no longer fit are skipped.",
    )
    max_turns: int = Field(
        8,
        ge=1,
        le=1024,
        description="Turns and searches that run at once. More keep the engines busy, and make each slower.",
    )
    queue: int = Field(
        16,
        ge=0,
        le=65536,
        description="Turns that wait for a place beyond that. More smooths bursts; fewer refuse sooner, so that "
        "clients can go elsewhere.",
    )
    max_connections: int = Field(
        0,
        ge=0,
        le=65536,
        description="Connections of clients that are open at once; further ones are closed as they come. 0 is as many "
        "as the descriptors that the system grants this process leave, and at most 1024. More serve more clients; "
        "each costs memory as soon as it is used.",
    )
    message_s: Seconds = Field(
        60.0,
        description="Seconds that a client may take to send a message, and may pause between two entries of an "
        "import. Longer suits slow links and slow sources; shorter frees the places of clients that stopped midway.",
    )
    message_bytes: Bytes = Field(
        256 << 20,
        description="Bytes of requests that are not whole yet, over all clients; and as many of responses that nobody "
        "has read yet. Beyond, the clients that hold most are cut off. More admits more large uploads at once; less "
        "protects a small machine's memory.",
    )
    threads: int = Field(
        0,
        ge=0,
        le=1024,
        description="Threads of one run of an engine; 0 is half of the cores, because two engines often run at once. "
        "More speed up a single turn, fewer leave room for other programs.",
    )
    provider: Literal["auto", "tensorrt", "cuda", "cpu"] = Field(
        "auto",
        description="What ONNX Runtime executes models with. auto takes the best that is there; a named one that is "
        "not there refuses to start instead of being slow.",
    )
    engine_cache: Path | None = Field(
        None,
        description="Directory where TensorRT keeps the engines it builds, and where those that "
        "`quizglass-export tensorrt` built are looked for. Without one it builds them at every start, which takes "
        "minutes.",
    )
    generator_batch: int = Field(
        8,
        ge=1,
        le=64,
        description="Most answers that the generator writes together. More serve more clients at once and give each "
        "fewer tokens a second; the engine batches only as many as it measured to be worth it on this machine.",
    )
    generator_cells: int = Field(
        0,
        ge=0,
        le=1 << 24,
        description="Tokens that the generator's memory (KV cache) holds, kept prefixes and running answers together. "
        "More remember more pictures and dialogues, at the price of memory; 0 lets the engine choose from the "
        "bundle's context.",
    )
    generator_queue: int = Field(
        64,
        ge=1,
        le=65536,
        description="Requests that wait for the generator beyond that; a turn makes up to three of them. Fewer refuse "
        "sooner.",
    )
    vision_threads: int = Field(
        0,
        ge=0,
        le=1024,
        description="Threads of the generator's picture encoder, which runs beside the answers; 0 is as many as "
        "`threads`. More see sooner and slow the answers down meanwhile.",
    )
    generator_hang_s: Seconds = Field(
        10.0,
        description="Silence after which the generator process counts as hanging and is replaced. Shorter frees its "
        "turns sooner; too short ends one that is merely slow. A model whose calls were measured to be slow gets more.",
    )
    generator_crashes: int = Field(
        5,
        ge=1,
        le=1_000_000,
        description="Deaths of the generator process within a minute after which it is paused and turns that need it "
        "are refused at once. More try for longer; fewer spare the machine.",
    )
    generator_pause_s: Seconds = Field(
        30.0,
        description="Seconds of the first such pause; it doubles, up to sixteen times, while the process that is "
        "started after it dies too.",
    )
    state_directory: Path | None = Field(
        None,
        description="Directory where the generator keeps what it has read of pictures and dialogues when the server "
        "stops, so that the next start answers as fast. It holds content of users' requests; only this user may read "
        "it. Without one, nothing is kept.",
    )
    memory_directory: Path | None = Field(
        None,
        description="Directory of the visual memory: frames that turns ask to remember, with what was asked and "
        "answered. Only this user may read it. Without one, the default, nothing is ever remembered.",
    )
    memory_ttl_s: int = Field(
        30 * 86_400,
        ge=1,
        le=100 * 366 * 86_400,
        description="Seconds that a frame is remembered. Shorter keeps less of the wearer's life; longer finds more.",
    )
    memory_sightings: int = Field(
        10_000, ge=1, description="Most frames that are remembered; beyond, the oldest are forgotten."
    )
    memory_bytes: Bytes = Field(
        1 << 30,
        description="Most bytes that they take on the disk, without indexes; beyond, the oldest are forgotten.",
    )
    memory_thumbnail_side: int = Field(
        256,
        ge=0,
        le=1024,
        description="Longest side of the small pictures that are kept of them, in pixels. 0 keeps none: frames are "
        "then found by what was computed from them, until the bundle has another image encoder.",
    )
    memory_texts: bool = Field(
        True,
        description="Whether question and answer are kept with a frame. Without them it is found by its looks, its "
        "time and what was recognised in it.",
    )
    grace_s: Seconds = Field(
        10.0,
        description="Seconds that running turns get to finish once the server is told to stop. Longer loses fewer "
        "answers and restarts later.",
    )
    log_format: Literal["human", "json"] = Field(
        "human", description="Logs and the ready line for people, or as one JSON object a line for machines."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe log shown. Info has one line a turn; questions and answers are never logged."
    )

    @property
    def picture_limits(self) -> PictureLimits:
        """What pictures may be at most, those asked about and those of entries alike."""
        from quizglass_server.decoding.pictures import PictureLimits  # heavy: --help needs no picture library

        return PictureLimits(self.max_frame_bytes, self.max_frame_pixels, self.max_frame_aspect)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is given: `load_settings` decides what goes before what."""
        return (init_settings,)


def load_settings(
    flags: Mapping[str, Any], config: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Settings from flags, then the environment, then a file.

    Args:
        flags: values by field name, only those that were given.
        config: TOML file; None: the file that QUIZGLASS_CONFIG names, if any.
        environment: variables; None: this process's.

    Raises:
        SettingsError: an unknown name, a wrong value, a missing required setting, an unreadable file; it says where.
    """
    environment = os.environ if environment is None else environment
    if config is None and environment.get(CONFIG_VARIABLE):
        config = Path(environment[CONFIG_VARIABLE])
    layers: dict[str, Mapping[str, Any]] = {
        FLAG: {name: value for name, value in flags.items() if value is not None},
        VARIABLE: environment_layer(environment, Settings.model_fields),
    }
    if config is not None:
        layers[f"{config}: {{}}"] = file_layer(config, Settings.model_fields)
    merged: dict[str, Any] = {}
    for layer in reversed(layers.values()):
        merged.update(layer)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise explained(error, layers) from None


def as_toml(settings: Settings) -> str:
    """Settings as a file that `load_settings` reads back, each with its description."""
    lines = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        unset = "# " if value is None else ""
        lines += textwrap.wrap(field.description or "", 100, initial_indent="# ", subsequent_indent="# ")
        shown = value if isinstance(value, bool | int | float | str) else str(value or "")
        lines.append(f"{unset}{name} = {json.dumps(shown)}")
    return "\n".join(lines) + "\n"
