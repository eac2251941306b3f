"""Every option of a server, declared once: name, type, bounds, default, and what it trades.

One name is the flag, the variable, the key of the file, and the attribute that code reads. `config.load` gathers
them; help and documentation are made from the docstrings here. A group is handed whole to the code that needs it, in
this process or another. Bounds hold for what users give; a group that is made in code is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from annotated_types import Ge, Gt, Le, MinLen

from quizglass import PORT
from quizglass_bundle.speech_server import SpeechServer
from quizglass_server.config.address import MilvusAddress
from quizglass_server.config.generator_address import GeneratorAddress

WEB_PACKAGES = ("uvicorn", "connectrpc", "python_multipart")
"""What serving HTTP needs; the extra web installs them."""
OPERATIONS_PACKAGES = ("uvicorn", "prometheus_client")
"""What the operations port needs; the same extra installs them."""
TRACING_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter")
"""What sending spans needs; the extra otel installs them."""
TLS_PACKAGES = ("cryptography",)
"""What making certificates needs, though not serving with them; the extra tls installs them."""
Seconds = Annotated[float, Gt(0), Le(3600)]


@dataclass(frozen=True)
class Options:
    """A group of options, under a title of the command line's help."""

    title: ClassVar[str] = ""

    @classmethod
    def of(cls, whole: Self) -> Self:
        """This group alone, out of settings that have more."""
        return cls(**{each.name: getattr(whole, each.name) for each in fields(cls)})


@dataclass(frozen=True, kw_only=True)
class BundleOptions(Options):
    """What is served."""

    title: ClassVar[str] = "models and knowledge"
    bundle: Path | None
    """Directory with the models, prompts and manifest. Required, unless a generator is given. Every file is hashed at
    the start: a damaged bundle never serves, at the price of reading it once."""
    require_signature: Path | None = None
    """File of public keys of Ed25519, PEM: a bundle that none of them has signed (quizglass-export sign) does not
    serve. Without one, bundles need no signature. Needs the extra tls."""


@dataclass(frozen=True, kw_only=True)
class KnowledgeOptions(Options):
    """Where the knowledge is, and how one that is not a directory is used."""

    title: ClassVar[str] = "models and knowledge"
    knowledge: Path | MilvusAddress
    """Directory of the knowledge store; made when it does not exist. Required. One server at a time owns it. Or a
    Milvus, which several servers share and which is slower: http://HOST:PORT, https://HOST:PORT, or milvus:FILE.db for
    one in this process; needs the extra milvus."""
    knowledge_collections: str = "quizglass"
    """What the names of the collections in Milvus begin with. Another name is another, empty store: take one for a
    bundle with other encoders."""
    knowledge_token_file: Path | None = None
    """File with the token for Milvus: user:password or an API key. Without one, none is sent."""
    knowledge_timeout_s: Seconds = 5.0
    """Seconds that one call of Milvus may take. Less gives up sooner; more waits out a busy one."""


@dataclass(frozen=True, kw_only=True)
class SourceOptions(Options):
    """What is asked beside the knowledge."""

    title: ClassVar[str] = "models and knowledge"
    sources: Path | None = None
    """File of further sources of knowledge, a TOML table each: SearXNG, a folder of Markdown, kinds of other packages.
    They are asked beside the store, each within its own time. Without one, the default, nothing but the store is."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """How the machine is shared between engines."""

    title: ClassVar[str] = "models and knowledge"
    threads: Annotated[int, Ge(0), Le(1024)] = 0
    """Threads of one run of an engine. 0: half of the cores for models before the answer, because two of them often run
    at once, and for the generator what suits the machine and the model. More speed up a single turn, fewer leave room
    for other programs."""
    provider: Literal["auto", "tensorrt", "cuda", "tensorrt-rtx", "openvino", "cpu"] = "auto"
    """What ONNX Runtime executes models with. auto takes the best that it is compiled with; tensorrt-rtx and openvino
    are plug-ins of the extras `rtx` and `openvino`. A named one that is not there refuses to start instead of being
    slow."""
    gpu_memory: Annotated[float, Gt(0), Le(1)] = 0.9
    """Share of a card's memory that this server may take, models of ONNX Runtime and the generator together. Less
    leaves room for other programs; what of the generator then does not fit stays on the CPU."""
    gpu_device: Annotated[int, Ge(-1), Le(63)] = -1
    """Number of the card that runs all models, as CUDA counts cards; with CUDA_DEVICE_ORDER=PCI_BUS_ID in the
    environment it is nvidia-smi's. -1: the first card runs models of ONNX Runtime, and the generator's layers are
    divided between all cards. A number leaves the others to other programs."""
    tensorrt_fp16: bool = False
    """Whether TensorRT may compute in float16 where a bundle's graph has float32. Faster on most cards; scores change
    in the third digit, so that a close decision may be another. Graphs of `tensorrt-fp16` have float16 already, and
    TensorRT for RTX computes as the graph says."""
    picture_cache_bytes: Annotated[int, Ge(1 << 20), Le(1 << 40)] = 96 << 20
    """Memory for pictures that may be asked about again, the largest part of a server's growth: two thirds for
    decoded ones, the rest for the forms that models take. More keeps more of them, which a second question finds."""
    search_cache_bytes: Annotated[int, Ge(0), Le(1 << 40)] = 320 << 20
    """Memory for rows of the knowledge that were found last, and for answers of searches that may come again, of all
    stores and tenants together: three fifths for rows. Less saves memory; searches then read more from the disk."""
    engine_cache: Path | None = None
    """Directory where TensorRT keeps the engines it builds, and where those that `quizglass-export tensorrt` built are
    looked for. Without one it builds them at every start, which takes minutes."""


@dataclass(frozen=True, kw_only=True)
class BatchOptions(Options):
    """How much the generator does at once."""

    title: ClassVar[str] = "generator"
    generator_batch: Annotated[int, Ge(1), Le(64)] = 8
    """Most answers that the generator writes together, and prompts that it keeps for later questions. More serve more
    clients at once and give each fewer tokens a second."""
    generator_cells: Annotated[int, Ge(0), Le(1 << 24)] = 0
    """Tokens that the generator's memory (KV cache) holds, kept prefixes and running answers together. More remember
    more pictures and dialogues, at the price of memory; 0 lets the engine choose from the bundle's context."""
    generator_queue: Annotated[int, Ge(1), Le(65536)] = 64
    """Requests that wait for the generator beyond that; a turn makes up to three of them. Fewer refuse sooner."""


@dataclass(frozen=True, kw_only=True)
class GeneratorOptions(BatchOptions):
    """How the generator process is run."""

    llama_server: Path | None = None
    """llama.cpp's server that the generator runs, whatever its build: a file, or a name in PATH. Without one, that of
    the installed llama-cpp-python (python server/native/wheel.py), and else that of xllamacpp."""
    gpu_layers: Annotated[int, Ge(-1), Le(10_000)] = -1
    """Layers of the generator that run on the card, its output among them, where llama-server is compiled for one. -1:
    as many as fit; more than fit are refused with the numbers; 0 leaves the card to other models."""
    generator_hang_s: Seconds = 10.0
    """Silence after which the generator process counts as hanging and is replaced; twelve times as much where it
    computes meanwhile. Shorter frees its turns sooner; too short ends one that is merely slow."""
    generator_crashes: Annotated[int, Ge(1), Le(1_000_000)] = 5
    """Deaths of the generator process within a minute after which it is paused and turns that need it are refused at
    once. More try for longer; fewer spare the machine."""
    generator_pause_s: Seconds = 30.0
    """Seconds of the first such pause; it doubles, up to sixteen times, while the process that is started after it dies
    too."""
    state_directory: Path | None = None
    """Directory where the generator keeps what it has read of pictures and dialogues when the server stops, so that the
    next start answers as fast. It holds content of users' requests; only this user may read it. Without one, nothing is
    kept."""


@dataclass(frozen=True, kw_only=True)
class GivenOptions(Options):
    """A generator in place of the bundle's own: model files, or remote servers."""

    title: ClassVar[str] = "generator"
    generator: Path | None = None
    """GGUF file of a model that writes in place of the bundle's generator: any that llama.cpp loads. It gets the
    prompts for general models, in its own chat format. Without a bundle it answers from the picture, printed words and
    `sources`."""
    projector: Path | None = None
    """GGUF file (mmproj) of the part of that model that sees. Without one it reads text alone."""
    generator_url: tuple[GeneratorAddress, ...] = ()
    """Addresses of servers that write in place of a generator on this machine, with commas between them:
    http://HOST:PORT of a llama-server, or of one with OpenAI's API (vLLM, SGLang, Triton, Ray Serve). All serve one
    model; each takes over for the others. Questions, pictures and evidence are sent there."""
    generator_token_file: Path | None = None
    """File with the token that they ask for, one word. It is sent as a bearer token, and never logged."""
    generator_model: str = ""
    """Which model to ask for where they serve several."""


@dataclass(frozen=True, kw_only=True)
class SpeechOptions(Options):
    """Who recognises speech and who speaks."""

    title: ClassVar[str] = "speech"
    hearing: SpeechServer | None = None
    """What recognises speech: a server of the Wyoming protocol (tcp://HOST:PORT, unix:///PATH), or the command of one
    that is started here, with `--uri` and its address behind it. Needs the extra voice. Without one, the default, the
    bundle's own, or none."""
    voice: SpeechServer | None = None
    """What speaks, named in the same way."""
    speech_patience_s: Annotated[float, Ge(0.1), Le(600)] = 20.0
    """Seconds that either may say nothing of a request before it is given up. Longer suits large models on slow
    machines; shorter goes on in text sooner."""


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(Options):
    """How much is remembered, and for how long; beyond its bounds the oldest sightings are forgotten."""

    title: ClassVar[str] = "visual memory"
    memory_directory: Path | None = None
    """Directory of the visual memory: frames that turns ask to remember, with what was asked and answered. Only this
    user may read it. Without one, the default, nothing is ever remembered."""
    memory_ttl_s: Annotated[int, Ge(1), Le(100 * 366 * 86_400)] = 30 * 86_400
    """Seconds that a frame is remembered. Shorter keeps less of the wearer's life; longer finds more."""
    memory_sightings: Annotated[int, Ge(1)] = 10_000
    """Most frames that are remembered; beyond, the oldest are forgotten."""
    memory_bytes: Annotated[int, Ge(1)] = 1 << 30
    """Most bytes that they take on the disk, without indexes; beyond, the oldest are forgotten."""
    memory_thumbnail_side: Annotated[int, Ge(0), Le(1024)] = 256
    """Longest side of the small pictures that are kept of them, in pixels. 0 keeps none: frames are then found by what
    was computed from them, until the bundle has another image encoder."""
    memory_texts: bool = True
    """Whether question and answer are kept with a frame. Without them it is found by its looks, its time and what was
    recognised in it."""


@dataclass(frozen=True, kw_only=True)
class AddressOptions(Options):
    """Where clients connect to."""

    title: ClassVar[str] = "address"
    host: Annotated[str, MinLen(1)] = "127.0.0.1"
    """Address to listen on. The default can be reached from this machine only; others (0.0.0.0, ::) need `tls_cert`,
    `tls_key` and `tokens`."""
    port: Annotated[int, Ge(0), Le(65535)] = PORT
    """Port to listen on; 0 takes a free one, see the ready line."""


@dataclass(frozen=True, kw_only=True)
class WebOptions(Options):
    """Where browsers and other clients of HTTP connect to, if they may."""

    title: ClassVar[str] = "address"
    web_port: Annotated[int, Ge(0), Le(65535)] | None = None
    """Port for HTTP: a page for browsers, the services over Connect and gRPC-Web, and OpenAI's chat completions; 0
    takes a free one, see the ready line. Without one, the default, nothing listens. Needs the extra web."""
    web_host: Annotated[str, MinLen(1)] = "127.0.0.1"
    """Address to listen on for HTTP. The default can be reached from this machine only; others need what they need for
    `host`."""
    web_origins: tuple[str, ...] = ()
    """Origins under which the port is reached or whose pages may ask it, https://glasses.example, with commas between
    them. This machine's own names need none, and with `tls_cert` none that the certificate has. Each that is added is
    trusted with everything the server knows."""
    all_policies: bool = False
    """List every policy that the bundle can serve in /v1/models. By default those that an application needs: the
    server's default, adaptive, planning-agent+, both, none and quote. Each can be asked for either way."""


@dataclass(frozen=True, kw_only=True)
class OperationsOptions(Options):
    """Where whoever runs the server watches it, if they want to."""

    title: ClassVar[str] = "address"
    operations_port: Annotated[int, Ge(0), Le(65535)] | None = None
    """Port for /metrics (Prometheus), /livez, /readyz and /config; 0 takes a free one, see the ready line. It answers
    from before the models are loaded until the engines have ended. Without one, the default, nothing listens and
    nothing is counted. Needs the extra web."""
    operations_host: Annotated[str, MinLen(1)] = "127.0.0.1"
    """Address to listen on for that. The default can be reached from this machine only; others need what they need for
    `host`. A token needs `operate`."""
    traces_url: str = ""
    """Address of an OpenTelemetry collector, http://HOST:4318, that is sent a span for each turn and each of its stages
    (OTLP over HTTP); never anything of a question, an answer, a picture or a token. Empty, the default: none is. Needs
    the extra otel."""


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(Options):
    """Who may connect from other machines, and what protects what they say."""

    title: ClassVar[str] = "network"
    tls_cert: Path | None = None
    """File of the certificate that clients of every port are shown, PEM, with those between it and its authority behind
    it. With it all connections are encrypted (TLS 1.2 or later). Read again when it changes, and at SIGHUP."""
    tls_key: Path | None = None
    """File of the certificate's key, PEM, without a password. Required with `tls_cert`."""
    tls_client_ca: Path | None = None
    """File of authorities, PEM. Clients then have to show a certificate of one of them (mutual TLS)."""
    tokens: Path | None = None
    """File of the tokens that clients need, which `quizglass-server token` makes and changes. Read again when it
    changes, and at SIGHUP. Without one, the default, whoever reaches a port may do everything."""
    tenants: Path | None = None
    """Directory with a directory for each tenant that tokens name (`quizglass-server token add --tenant`), made at its
    first use: its knowledge, and its visual memory where `memory_directory` is given. Tenants neither see nor find
    anything of each other. Without one, the default, all tokens share one knowledge and one memory."""
    max_tenants: Annotated[int, Ge(1), Le(1024)] = 16
    """Tenants whose stores are open at once; beyond, one that has been idle is closed first, and opened again when it
    comes back. More keep more threads, files and caches."""
    share_knowledge: bool = False
    """Whether tenants also find the entries of `knowledge`, which only tokens without a tenant can change."""
    insecure: bool = False
    """Whether to listen on addresses that other machines reach without encryption or without a login. Only in a network
    you trust, or behind a proxy that has both."""


@dataclass(frozen=True, kw_only=True)
class PictureLimits(Options):
    """What pictures may be at most, those asked about and those of entries alike."""

    title: ClassVar[str] = "limits on requests"
    max_frame_bytes: Annotated[int, Ge(1), Le(30 << 20)] = 8 << 20
    """Largest encoded picture, in bytes. More admits sharper pictures, which the models scale down anyway; less
    protects a small machine's memory."""
    max_frame_pixels: Annotated[int, Ge(1)] = 40_000_000
    """Largest picture, in pixels; each takes 1 to 17 bytes while it is decoded, by format. What has more than 8.3
    million (4K) is kept at a half or a third of its sides, which no model notices."""
    max_frame_aspect: Annotated[float, Ge(1), Le(10_000)] = 8.0
    """Longest side of a picture over its shortest. Extremes carry no content and upset image code."""


@dataclass(frozen=True, kw_only=True)
class PrivacyOptions(Options):
    """What becomes of frames before anything looks at them."""

    title: ClassVar[str] = "privacy"
    local_only: bool = False
    """Whether nothing of a question may leave this machine: remote sources stay shut, and a start with `knowledge`,
    `generator_url`, `hearing` or `voice` behind a network address is refused. Sessions can want the same for themselves
    (LOCAL_ONLY)."""
    frame_filter: str = ""
    """MODULE:FUNCTION of the operator's own that every frame asked about passes before anything else sees its pixels,
    to blur faces or plates. Where it fails, the frame is refused. Without one, frames are used as they come."""


@dataclass(frozen=True, kw_only=True)
class RequestLimits(Options):
    """What requests may be at most besides."""

    title: ClassVar[str] = "limits on requests"
    work_memory_bytes: Annotated[int, Ge(32 << 20)] = 832 << 20
    """Memory that messages and pictures under way may take together, beyond what the server takes when idle. Requests
    wait for it, and are refused where they wait in vain. Less protects a small machine and refuses the largest
    pictures; the default takes one WebP of 40 million pixels at a time."""
    max_question_chars: Annotated[int, Ge(1), Le(20_000)] = 2000
    """Longest question. Longer ones crowd evidence out of the prompt."""
    max_history: Annotated[int, Ge(0), Le(64)] = 8
    """Most earlier exchanges a request may carry. Each makes every prompt longer."""


@dataclass(frozen=True, kw_only=True)
class TurnOptions(Options):
    """How turns are answered, and how many at once."""

    title: ClassVar[str] = "turns"
    default_policy: str | None = None
    """Policy of requests that name none. This server's own: quote answers in sentences of the entries, without a
    generator; none, image, text and both always look up the same; planning-agent+ asks its planner, adaptive goes on
    from there in rounds, draft-first asks the tool router about a draft. Published systems: planning-agent,
    prompt-based, cogplanner-parallel, cogplanner-sequential, omnisearch, core-mmrag and qa-dragon. What those are
    compared with: no-search, always-image, always-text, always-both, fixed-text, fixed-image, self-reflective,
    core-one-stage, core-two-stage and core-chain-of-thought. A published name with a plus, such as qa-dragon+, is that
    system with what this server adds. One that the bundle cannot serve refuses to start. Without one the best that it
    can serve is taken, in the order adaptive, planning-agent+, draft-first, both, image, text, none, quote; quote first
    where the bundle says so."""
    default_budget_s: Seconds = 10.0
    """Seconds a turn may take when its request names no budget; a deadline that is sooner ends it sooner. Shorter
    answers sooner with fewer lookups: steps that no longer fit are skipped."""
    max_turns: Annotated[int, Ge(1), Le(1024)] = 8
    """Turns and searches that run at once; of 8 or more, an eighth is kept for addresses that have none running. More
    keep the engines busy, and make each slower."""
    queue: Annotated[int, Ge(0), Le(65536)] = 16
    """Turns that wait for a place beyond that. More smooths bursts; fewer refuse sooner, so that clients can go
    elsewhere."""
    withdraw_s: Annotated[float, Ge(0), Le(3600)] = 0.0
    """Seconds for which a stopping server still takes calls, while health and readiness say that it is not
    ready. Give it as long as whoever spreads calls over several servers takes to look at that; 0 suits one alone."""
    grace_s: Seconds = 10.0
    """Seconds that running turns get to finish once the server is stopping. Longer loses fewer answers and restarts
    later."""


@dataclass(frozen=True, kw_only=True)
class SessionOptions(Options):
    """How dialogues go on from turn to turn."""

    title: ClassVar[str] = "dialogues"
    session_key_file: Path | None = None
    """File of the keys that sign sessions, 64 hexadecimal digits a line, the first for new ones; made when it does not
    exist. Servers with the same file go on with each other's dialogues. Without one it is session.key in the directory
    of the knowledge; with a Milvus there is none, and the key ends with the process."""
    session_ttl_s: Annotated[int, Ge(1), Le(100 * 366 * 86_400)] = 3600
    """Seconds after a turn within which its dialogue can go on. Longer suits slow conversations; shorter ends sooner
    what a lost session can be used for."""


@dataclass(frozen=True, kw_only=True)
class LinkOptions(Options):
    """What a wearable's session may hold, and how long it outlives its link."""

    title: ClassVar[str] = "wearables' sessions"
    max_sessions: Annotated[int, Ge(1), Le(1_000_000)] = 1024
    """Sessions that are open at once, of which no address gets all. Beyond, one that is idle or without a link makes
    room, or the new one is refused. More serve more wearers; each takes memory while it is open."""
    session_away_s: Seconds = 120.0
    """Seconds that a session waits for its client to come back. What it is asked goes on meanwhile and is cancelled
    then. Longer bridges longer walks through dead spots; shorter frees frames and engines sooner."""
    session_unacknowledged_bytes: Annotated[int, Ge(16 << 10), Le(64 << 20)] = 256 << 10
    """Bytes of messages that a session keeps for a client that has not acknowledged them. More survives longer answers
    without a link; a turn that exceeds this while no client reads is cancelled."""
    session_unacknowledged_s: Seconds = 120.0
    """Seconds that they are kept once they were sent. Longer lets a client that seldom acknowledges resume from further
    back; shorter takes less memory."""
    session_frames_bytes: Annotated[int, Ge(1 << 20), Le(1 << 40)] = 24 << 20
    """Bytes of encoded frames that one session holds; beyond, its oldest that are not pinned go. More spares
    uploads."""
    all_frames_bytes: Annotated[int, Ge(1 << 20), Le(1 << 40)] = 256 << 20
    """Bytes of encoded frames of all sessions together; beyond, frames that are not pinned go, the oldest of the
    address that has most. More spares uploads; less protects a small machine's memory."""
    session_frames: Annotated[int, Ge(1), Le(10_000)] = 64
    """Frames that one session holds or has announced."""
    session_pins: Annotated[int, Ge(0), Le(10_000)] = 4
    """Frames that one session pins, which nothing but itself makes go. More can hold memory for longer."""
    session_queue: Annotated[int, Ge(0), Le(64)] = 4
    """Questions that wait behind the one that a session runs, where their client wants that."""
    session_speech_s: Annotated[float, Ge(1), Le(600)] = 30.0
    """Seconds of one spoken question; silence before its first word does not count. Longer takes more memory and time
    of the recogniser."""
    max_speeches: Annotated[int, Ge(1), Le(10_000)] = 64
    """Spoken questions, open microphones among them, that are listened to at once, of which no address gets all. Each
    takes a few hundredths of a core while sound comes."""
    frame_wait_s: Seconds = 10.0
    """Seconds that a question waits for a frame it names and the session lacks. Longer suits slow links."""
    look_ahead: bool = True
    """Whether a frame is decoded, embedded, read and looked at by the generator as soon as it is whole, before there is
    a question. Faster answers, for work that is wasted if no question follows; it gives way to every turn."""
    coaching: Literal["off", "blur", "all"] = "blur"
    """Hints to clients about how a frame was taken: that it is blurred, or also that it is dark, tilted, cut,
    covered or noisy, of which tilt is hardly ever seen in photographs. Costs a few milliseconds a frame."""
    keepalive_s: Seconds = 60.0
    """Seconds without a word after which the server asks a connection with calls under way whether it is still there.
    Shorter notices sooner that a client is gone, and wakes its radio more often."""
    keepalive_timeout_s: Seconds = 20.0
    """Seconds that a connection may leave that without an answer."""
    least_keepalive_s: Seconds = 5.0
    """Seconds that clients have to leave between two such questions of their own; those that ask more often are cut off
    (too_many_pings). Shorter permits clients that notice a dead link sooner; it has to be below their interval."""


@dataclass(frozen=True, kw_only=True)
class ClientOptions(Options):
    """What is granted to clients together."""

    title: ClassVar[str] = "clients"
    max_connections: Annotated[int, Ge(0), Le(65536)] = 0
    """Connections of clients that are open at once on the port for gRPC, of which no address gets all. Beyond, idle
    ones make room, or the new one is refused. 0 is as many as the descriptors that the system grants this process
    leave, and at most 1024. More serve more clients; each costs memory as soon as it is used."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks (10.0.0.0/8) of proxies, with commas between them, whose `X-Forwarded-For` says for whom
    they ask. Without it all that comes through a proxy counts as one client's. Name only those that write this header
    themselves: whoever can send from these addresses can pass for anybody."""
    message_s: Seconds = 60.0
    """Seconds that a client may take to send a message, and may pause between two entries of an import. Longer suits
    slow links and slow sources; shorter frees the places of clients that stopped midway."""
    message_bytes: Annotated[int, Ge(256 << 10)] = 256 << 20
    """Bytes of requests that are not whole yet, over all clients; and as many of unread responses.
    Beyond, clients of the address that holds most are cut off. More admits more large uploads at once; less protects a
    small machine's memory."""


@dataclass(frozen=True, kw_only=True)
class LogOptions(Options):
    """What is logged, and how."""

    title: ClassVar[str] = "logs"
    log_format: Literal["human", "json"] = "human"
    """Logs and the ready line for people, or as one JSON object a line for machines."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log shown. Info has one line a turn; questions and answers are never logged."""
    audit_log: Path | None = None
    """File to which a JSON line is added for each change, export, refused login and change of certificate or tokens,
    whatever the level: who, from where, what, how many, and never the content. The commands `token`, `tls` and
    `quizglass knowledge` add theirs to the same file. Without one they are in the log only."""
