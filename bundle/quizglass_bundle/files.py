"""A bundle on disk: what it holds, and the proof that it is intact.

A bundle is a directory with everything that a server loads: models, tokenizers, prompts, and
`manifest.json`, which names the SHA-256 and size of every file. Files are checked before any engine parses
them, because model formats are input too. This module knows nothing of engines: it hands out verified paths
and settings.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from pydantic import ValidationError

from quizglass_bundle.errors import BundleError
from quizglass_bundle.fields import MANIFEST
from quizglass_bundle.hashes import file_sha256
from quizglass_bundle.manifest import Manifest, Roles
from quizglass_bundle.parts import DeciderPart, RerankerPart
from quizglass_bundle.signature import SIGNATURE, check_signature
from quizglass_bundle.tuning import Answers
from quizglass_bundle.weights import GRAPH, weights_beside

_MAX_MANIFEST_BYTES = 4 << 20
_DISCRIMINATED = frozenset(
    kind
    for role in (DeciderPart, RerankerPart)
    for part in get_args(get_args(role)[0])
    for kind in get_args(part.model_fields["kind"].annotation)
)
"""Names of the kinds of part that one role can have, such as the kinds of decider."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A verified bundle.

    Attributes:
        root: the directory, absolute.
        manifest: the parsed `manifest.json`.
        digest: SHA-256 (hex) of `manifest.json`; it names every file's hash, so it identifies the whole
            bundle.
        given: files from elsewhere, by the names that the manifest has for them.
    """

    root: Path
    manifest: Manifest
    digest: str
    given: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def load(cls, root: Path, *, hashes: bool = True, signers: Path | None = None) -> Bundle:
        """Read and verify a bundle.

        Args:
            root: the bundle's directory.
            hashes: whether to compare every file's SHA-256; sizes, links and unlisted files are always checked.
            signers: file of public keys, one of which has to have signed it; None: it need not be signed.

        Raises:
            BundleError: anything is missing, extra, linked, changed, not signed, or not as the format says.
            SettingsError: `signers` has no key.
        """
        root = root.absolute()
        try:
            if not root.is_dir():
                raise BundleError(f"bundle {root}: not a directory; give the directory that holds {MANIFEST}")
            content = _read_manifest(root)
            if signers is not None:
                check_signature(root, content, signers)
            bundle = cls(root=root, manifest=_parse(content), digest=hashlib.sha256(content).hexdigest())
            bundle._check_references()
            bundle._check_files(hashes)
        except OSError as error:
            raise BundleError(
                f"{error.filename or root}: cannot be read: {error.strerror}; check the path and its permissions"
            ) from error
        return bundle

    def path(self, name: str) -> Path:
        """Absolute path of a file that the manifest lists.

        Raises:
            BundleError: the manifest does not list it.
        """
        if name in self.given:
            return self.given[name]
        if name not in self.manifest.files:
            raise BundleError(f"{MANIFEST}: files has no entry {name!r}")
        return self.root.joinpath(*PurePosixPath(name).parts)

    def sha256(self, name: str) -> str:
        """SHA-256 of a file, in hex; of an ONNX model with weights in files beside it, the SHA-256 of all their hashes.

        Raises:
            BundleError: the manifest does not list it.
        """
        if name in self.given:
            return file_sha256(self.given[name])
        self.path(name)
        files = self.manifest.files
        hashes = [files[each].sha256 for each in (name, *self._weights(name))]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()

    def _weights(self, name: str) -> list[str]:
        """Files that may hold weights of an ONNX model: those in its folder that the manifest has for nothing else."""
        if not name.endswith(GRAPH):
            return []
        folder, used = PurePosixPath(name).parent, {each for _, each in self.manifest.references()}
        beside = weights_beside(name, (each for each in self.manifest.files if PurePosixPath(each).parent == folder))
        return [each for each in beside if each not in used]

    @property
    def roles(self) -> Roles:
        """What fills its roles."""
        return self.manifest.roles

    def has(self, part: str) -> bool:
        """Whether the bundle fills a role, such as `planner`, and of it a part such as `generator.prompts.plan`."""
        return self.roles.has(part)

    @property
    def answers(self) -> Answers:
        """How its answers come about; without a generator they are quotes, whatever the manifest says."""
        return self.manifest.evidence.answers if self.has("generator") else Answers.QUOTE

    @property
    def quotes(self) -> bool:
        """Whether its answers are quotes of the evidence, ordinarily."""
        return self.manifest.evidence.answers is Answers.QUOTE

    def _check_references(self) -> None:
        for key, name in self.manifest.references():
            if name not in self.manifest.files:
                raise BundleError(f"{MANIFEST}: {key} names {name!r}, which files does not list")

    def _check_files(self, hashes: bool) -> None:
        listed = self.manifest.files
        for name in _walk(self.root):
            if name not in (MANIFEST, SIGNATURE) and name not in listed:
                raise BundleError(f"{name}: not in {MANIFEST}; remove it, a bundle holds listed files only")
        for name, expected in listed.items():
            path = self.path(name)
            try:
                size = path.stat(follow_symlinks=False).st_size
            except FileNotFoundError:
                raise BundleError(f"{name}: listed in {MANIFEST} but missing; copy it again") from None
            if size != expected.bytes:
                raise BundleError(f"{name}: {size} bytes, {MANIFEST} says {expected.bytes}; copy it again")
            if hashes and file_sha256(path) != expected.sha256:
                raise BundleError(f"{name}: SHA-256 differs from {MANIFEST}: it was changed or damaged; copy it again")


def _read_manifest(root: Path) -> bytes:
    path = root / MANIFEST
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        raise BundleError(
            f"bundle {root}: {MANIFEST} is missing; give the directory that holds it, or copy the bundle again"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise BundleError(f"{MANIFEST}: not a plain file")
    if status.st_size > _MAX_MANIFEST_BYTES:
        raise BundleError(f"{MANIFEST}: {status.st_size} bytes, at most {_MAX_MANIFEST_BYTES} are read")
    return path.read_bytes()


def _parse(content: bytes) -> Manifest:
    try:
        document = json.loads(content, object_pairs_hook=_once)
        json.dumps(document, ensure_ascii=False).encode()  # escapes can spell half a character, which is no text
        return Manifest.model_validate(document)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            unknown = first["type"] == "extra_forbidden"
            told = "this version knows no such key; build the bundle again" if unknown else first["msg"]
            raise BundleError(f"{MANIFEST}: {_key(first['loc'])}: {told}") from None
        raise BundleError(f"{MANIFEST}: not valid JSON: {error}; copy it again") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError where a key is there twice: readers differ in which of the two counts."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:200]!r} is there twice")
    return made


def _walk(root: Path) -> Iterator[str]:
    """Every file's name relative to the bundle, with forward slashes; refuses links and special files."""
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                name = Path(entry.path).relative_to(root).as_posix()
                if entry.is_symlink():
                    raise BundleError(f"{name}: a link; a bundle holds plain files only")
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield name
                else:
                    raise BundleError(f"{name}: not a plain file")


def _key(path: tuple[str | int, ...]) -> str:
    """The key that an error is about, without the kind that pydantic names after a role of several kinds."""
    parts = [part for at, part in enumerate(path) if part not in _DISCRIMINATED or path[at - 1] == "deciders"]
    return ".".join(map(str, parts)) or "top level"
