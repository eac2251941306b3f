"""Options of `quizglass-lab benchmark`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from quizglass_lab.finetuning.shared.options import Options

BUNDLE = Path("models/starter/bundle")


class Benchmarking(Options):
    """A benchmark's files, a server, and what the answers are scored with."""

    data: tuple[Path, ...] = Field(description="folder of the benchmark's files as they are published; or the files")
    split: str = Field("", description="split to measure (default: the one that papers report)")
    limit: int | None = Field(None, ge=1, description="at most so many questions")
    pictures: Path | None = Field(None, description="folder of the questions' pictures (default: the folder of --data)")
    knowledge: tuple[Path, ...] = Field((), description="what the server is to search: files or folders to import")
    entry_pictures: Path | None = Field(None, description="folder of the pictures of --knowledge, where they lie apart")
    page_props: Path | None = Field(None, description="page_props.sql.gz of a MediaWiki dump: ids are Wikidata items")
    out: Path = Field(description="folder for answers, knowledge and the server's log; a stopped run goes on from it")
    server: str = Field("", description="address of a running server (default: one is started on --bundle)")
    bundle: Path = Field(BUNDLE, description="bundle of the server that is started")
    policies: tuple[str, ...] = Field((), description="rows of the table (default: every policy that is served)")
    paper: tuple[str, ...] = Field((), description="whose tables stand beside (default: all with this benchmark)")
    judge: str = Field("", description="URL#MODEL of an endpoint that grades answers, as some papers do")
    claims: str = Field("", description="URL#MODEL of an endpoint that compares claims, as CogPlanner's paper does")
    bem: Path | None = Field(None, description="folder with bem.onnx and vocab.txt, for Encyclopedic-VQA")
    history: Literal["own", "gold"] = Field(
        "own", description="answers before a later turn of a conversation: own or gold"
    )
    key_variable: str = Field("OPENAI_API_KEY", description="environment variable that has the endpoints' key")
    budget: float = Field(120.0, gt=0, description="seconds for a turn of the server")
    parallel: int = Field(4, ge=1, description="questions under way at once")
    chunk: int = Field(16, ge=1, description="questions between two savings")
