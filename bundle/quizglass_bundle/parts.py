"""What a manifest says of each role: the settings of the model that fills it, and the files it is in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from quizglass_bundle.fields import Count, FileName, Grid, Gridded, ManifestPart, Normalised, Patched, Size
from quizglass_bundle.speech_server import SpeechServer, speech_server

ANSWER = "answer"
"""The task whose prompt every generator has."""
LARGEST = Size(width=768, height=768)
"""Pictures that keep their shape have at most as many pixels: what a model makes of more is too slow for a turn."""
NAMED = ("planner", "tool_router", "verifier")
"""Deciders with a place of their own in the manifest, because of the demands on their labels."""
OWL = "owlv2"

Probability = Annotated[float, Field(ge=0, le=1)]
Labels = Annotated[tuple[tuple[str, str], ...], Field(min_length=2)]
Rows = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2)]
Weights = Annotated[tuple[float, ...], Field(min_length=1)]
GraphFile = Annotated[FileName, Field(description="The model, a file of the bundle.")]
TokenizerFile = Annotated[FileName, Field(description="The model's tokenizer, a file of the bundle.")]
LongestText = Annotated[Count, Field(description="The longest text, in tokens.")]
Dimension = Annotated[Count, Field(description="Length of a vector.")]
NormalisedPicture = Annotated[
    Normalised, Field(description="`width` and `height` of pictures in pixels, `mean` and `std` of each channel.")
]


class RolePart(ManifestPart):
    """What a manifest says of a role's model."""

    engine: str
    kind: str

    def sizes(self) -> list[tuple[int, int]]:
        """(width, height) of every size of pictures that the model takes; none of one without pictures, or of any."""
        return []

    @property
    def sees_pictures(self) -> bool:
        """Whether the model is given pictures."""
        return bool(self.sizes())


class Batched(RolePart):
    """What a manifest says of a model that runs batches."""

    pad_to: Literal["longest", "steps"] = "longest"
    """How large a batch is made: as it is, with rows as long as its longest, or in a few steps of rows and lengths. The
    latter is for a graph made for a card: each step's kernels are launched as one, and prompts share a beginning by
    `packed` alone."""


class Scorer(Batched):
    """What a manifest says of a scorer."""

    engine: Literal["onnx"]
    model: GraphFile
    tokenizer: TokenizerFile
    prompt: FileName
    """Template of the model's text."""
    labels: Labels
    """Pairs of name and text, in the order of the logits or of `rows`; each text is one token, and each another."""
    rows: Rows | None = None
    """Of each label the place of its logit, where the model gives those of several roles; None: in this order."""
    max_tokens: LongestText

    @model_validator(mode="after")
    def _a_row_each(self) -> Scorer:
        if self.rows is not None and len(self.rows) != len(self.labels):
            raise ValueError(f"rows: {len(self.rows)} places for {len(self.labels)} labels")
        return self


class TowerGrid(Grid):
    """A further picture size of a vision-language model, with its graphs."""

    tower: FileName | None = None
    """The graph of its vision tower for this size, where the first size has one."""


class VisionScorer(Gridded, Scorer):
    """A vision-language model."""

    kind: Literal["vl-scorer"]
    tower: FileName | None = None
    """The graph of the vision tower: `pixel_values` of one picture to `image_features`, which `model` then takes in
    place of pictures. It runs once a picture, for all decisions of all roles that name the file. None: `model` takes
    pictures."""
    grids: Annotated[tuple[TowerGrid, ...], Field(min_length=1)] | None = None
    """Further sizes, each with `width`, `height` and a `model` of its own, and a `tower` where the first size has one;
    None: one size."""
    picture: Patched
    """`width` and `height` of pictures in pixels, `mean` and `std` of each channel, `patch`, `merge` and `temporal`."""
    image_token: str
    """The token that stands for a piece of the picture."""
    most_pictures: Annotated[int, Field(ge=2)] | None = None
    """How many pictures a prompt shows at most, where the graph takes several; None: one."""

    @model_validator(mode="after")
    def _a_tower_for_each_size(self) -> VisionScorer:
        for index, grid in enumerate(self.grids or ()):
            if (grid.tower is None) != (self.tower is None):
                wanted = "is missing" if grid.tower is None else "is there"
                raise ValueError(f"grids.{index}.tower: {wanted}; every size has a tower of its own, or none has")
        return self

    @property
    def towers(self) -> tuple[str | None, ...]:
        """The graph of the vision tower for each size, in the order of `graphs`."""
        return (self.tower, *(grid.tower for grid in self.grids or ()))

    @property
    def takes(self) -> int:
        """How many pictures a prompt shows at most."""
        return self.most_pictures or 1


class TextScorer(Scorer):
    """A text model."""

    kind: Literal["text-scorer"]
    packed: FileName | None = None
    """A second graph of the same weights, which computes once the tokens that prompts of a batch begin with alike.
    None: every prompt is computed whole, or from the keys and values of its beginning where `model` takes those."""


class LinearDeciderPart(RolePart):
    """A decider by multinomial logistic regression on numbers, in a manifest."""

    engine: Literal["numpy"]
    kind: Literal["linear"]
    features: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the values that it reads: a number as it is, a list by its length, a text by its words."""
    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    """Names, in the order of `weights` and `bias`."""
    weights: Annotated[tuple[Weights, ...], Field(min_length=2)]
    """A row for each label, a column for each feature."""
    bias: Annotated[tuple[float, ...], Field(min_length=2)]
    """What is added to each label's value."""

    @model_validator(mode="after")
    def _shapes_fit(self) -> LinearDeciderPart:
        labels, features = len(self.labels), len(self.features)
        for name, values in (("labels", self.labels), ("features", self.features)):
            if twice := sorted({value for value in values if values.count(value) > 1}):
                raise ValueError(f"{name}: {twice[0]!r} is there twice")
        if len(self.weights) != labels or any(len(row) != features for row in self.weights):
            raise ValueError(f"weights: must have {labels} rows of {features} numbers, one for each label and feature")
        if len(self.bias) != labels:
            raise ValueError(f"bias: must have {labels} numbers, one for each label")
        return self


DeciderPart = Annotated[VisionScorer | TextScorer | LinearDeciderPart, Field(discriminator="kind")]


class CrossEncoderPart(Batched):
    """A query and a passage, encoded as a pair by the tokenizer, to logits [B, logits] (BERT-style rerankers)."""

    engine: Literal["onnx"]
    kind: Literal["cross-encoder"]
    model: GraphFile
    tokenizer: TokenizerFile
    max_tokens: LongestText
    logits: Count
    """How many the model gives; of one, the relevance is its sigmoid, of more, the softmax at `relevant`."""
    relevant: Annotated[int, Field(ge=0)] = 0
    """Which of several logits is relevance; 0 the first."""

    @model_validator(mode="after")
    def _inside(self) -> CrossEncoderPart:
        if self.relevant >= self.logits:
            raise ValueError(f"relevant is {self.relevant}, the model gives {self.logits} logits")
        return self


RerankerPart = Annotated[TextScorer | CrossEncoderPart, Field(discriminator="kind")]


class CoarseRerankerPart(Gridded, RolePart):
    """BLIP-2's Q-Former, in a manifest."""

    engine: Literal["onnx"]
    kind: Literal["q-former"]
    model: FileName
    """The graph of picture and question: `pixel_values`, with `input_ids` and `attention_mask` of the question, to
    `image_embeds` [B, queries, dimension]; without a question where the graph lacks these."""
    text_model: FileName
    """`input_ids`, `attention_mask` to `text_embeds` [B, dimension]."""
    tokenizer: TokenizerFile
    picture: NormalisedPicture
    queries: Count
    """How many vectors a picture becomes."""
    dimension: Dimension
    max_tokens: LongestText


class TextEncoderPart(Batched):
    """A text to one vector of `dimension` floats, pooled over its tokens."""

    engine: Literal["onnx"]
    kind: Literal["text-encoder"]
    model: GraphFile
    tokenizer: TokenizerFile
    dimension: Dimension
    pooling: Literal["mean", "cls", "last"]
    """How the token states become one vector: their mean, the first, or that of the last token."""
    query_prefix: str = ""
    """Put before queries."""
    passage_prefix: str = ""
    """Put before passages."""
    max_tokens: LongestText


class ImageEncoderPart(Gridded, Batched):
    """A picture to one vector of `dimension` floats."""

    engine: Literal["onnx"]
    kind: Literal["image-encoder"]
    model: GraphFile
    picture: NormalisedPicture
    dimension: Dimension


class DetectorPart(Gridded, RolePart):
    """An open-vocabulary detector: a picture and phrases to boxes (centre x, centre y, width, height, 0 to 1)."""

    engine: Literal["onnx"]
    kind: Literal["grounding-dino", "owlv2"]
    model: GraphFile
    tokenizer: TokenizerFile
    picture: NormalisedPicture
    boxes: Count
    """How many the model gives for a picture."""
    max_tokens: LongestText
    text_model: FileName | None = None
    """OWLv2's graph of phrases, where `model` is the one of pictures: those are then looked at once, whatever is looked
    for in them, and before that is known. None: `model` takes both."""

    @model_validator(mode="after")
    def _in_halves(self) -> DetectorPart:
        if self.text_model is not None and (self.kind != OWL or self.grids):
            raise ValueError("text_model: only OWLv2 has a graph of its own for phrases, and no grids beside it")
        return self


class DomainRouterPart(Gridded, RolePart):
    """BLIP-2's Q-Former reading a picture and a question, with a classification head: `logits` [B, labels]."""

    engine: Literal["onnx"]
    kind: Literal["q-former-classifier"]
    model: GraphFile
    tokenizer: TokenizerFile
    picture: NormalisedPicture
    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    """Names of the domains, in the order of the logits."""
    max_tokens: LongestText


class TaggerPart(Gridded, Batched):
    """A picture to one value for each label: `logits` or `probabilities` [B, labels]."""

    engine: Literal["onnx"]
    kind: Literal["image-classifier"]
    model: GraphFile
    picture: NormalisedPicture
    labels: FileName
    """UTF-8, a label a line, in the order of the model's values."""
    output: Literal["logits", "probabilities"] = "logits"
    """Name of the model's output. Logits become probabilities by a softmax; probabilities are taken as they are, so
    that several labels of one picture can be likely."""
    least: Probability = 0.5
    """The least probability of a label."""
    most: Count = 3
    """Most labels of one picture."""


class ReaderPart(RolePart):
    """Reads printed words; its models come with the RapidOCR package, but for a detector of lines in the bundle."""

    engine: Literal["rapidocr"]
    kind: Literal["reader"]
    detector: FileName | None = None
    """The graph that finds lines of words, in place of the package's: one input of pictures float32 [1, 3, H, W], -1 to
    1, blue first, to a map [1, 1, H, W] of how likely a place shows words. None: the package's."""
    gate: Probability | None = None
    """Probability of words from which a picture is read at all; 0 reads every picture, whatever is asked. None: as the
    gate was fitted."""

    @property
    def sees_pictures(self) -> bool:
        """Always true: it reads pictures of any size."""
        return True


def _tasks(prompts: dict[str, str]) -> dict[str, str]:
    if ANSWER not in prompts:
        raise ValueError(f"{ANSWER} is missing; every generator has this prompt")
    return prompts


Task = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Prompts = Annotated[dict[Task, FileName], AfterValidator(_tasks)]


class GeneratorPart(RolePart):
    """A model for llama.cpp: text GGUF and, if it sees pictures, its vision projector."""

    engine: Literal["llama"]
    kind: Literal["generator"]
    model: GraphFile
    projector: FileName | None = None
    """The part that sees, a GGUF file. None: it reads text alone, and a picture reaches it as what was read and
    found."""
    prompts: Prompts
    """Task to template; `answer` is required, others as policies need them: `rewrite`, `plan`, any other."""
    picture: Size | None = None
    """What pictures are stretched to. None: they keep their shape, and are made smaller beyond 768 x 768 pixels."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer, besides the tokens that the model's file names for that; each is one token."""
    context: Count
    """Tokens of prompt and answer together."""
    max_new_tokens: Count
    """Tokens of an answer, where a request does not say."""

    @model_validator(mode="after")
    def _sees(self) -> GeneratorPart:
        if self.projector is None and self.picture is not None:
            raise ValueError("picture: a model without projector reads text alone; leave it out, or name the projector")
        return self

    def sizes(self) -> list[tuple[int, int]]:
        """The size of its pictures, if it sees any and they have one."""
        return [] if self.picture is None else [(self.picture.width, self.picture.height)]

    @property
    def sees_pictures(self) -> bool:
        """Whether the model is given pictures."""
        return self.projector is not None

    @property
    def general(self) -> bool:
        """Whether its prompts are those for general models, to be put into the model's own chat format."""
        return False

    @property
    def choices(self) -> bool | None:
        """Whether labels can be chosen by their probabilities; None: not."""
        return True

    @property
    def largest_picture(self) -> Size:
        """The size of the largest pictures that it is given."""
        return self.picture or LARGEST


def _of_this_machine(address: str) -> str:
    """Accept the address of a server on this machine: a bundle starts no programs, and sends speech nowhere."""
    server = speech_server(address)
    if server.command or server.leaves_machine:
        raise ValueError("a bundle names a server of its own machine, unix:///PATH or tcp://127.0.0.1:PORT")
    return address


SpeechAddress = Annotated[str, AfterValidator(_of_this_machine)]


class SpeechPart(RolePart):
    """A server of the Wyoming protocol."""

    engine: Literal["wyoming"] = "wyoming"
    address: SpeechAddress
    """Where it listens, on this machine: `unix:///PATH` or `tcp://127.0.0.1:PORT`. Of a server that the settings name
    it may be the command that starts it."""

    @property
    def server(self) -> SpeechServer:
        """The same, understood."""
        return speech_server(self.address)


class HearingPart(SpeechPart):
    """Recognises speech."""

    kind: Literal["hearing"] = "hearing"


class VoicePart(SpeechPart):
    """Speaks."""

    kind: Literal["voice"] = "voice"
