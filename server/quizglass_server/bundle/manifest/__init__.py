"""The schema of a bundle's `manifest.json`, format 1.

Unknown keys are refused, so that a typing mistake never passes as a default. Reading and hashing are
`bundle`'s.
"""

from __future__ import annotations

from quizglass_server.bundle.manifest.document import FORMAT, EvidenceLimits, FileEntry, Manifest, Thresholds, Views
from quizglass_server.bundle.manifest.fields import MANIFEST, Channels, Grid, Normalised, Patched, Size, graphs
from quizglass_server.bundle.manifest.roles import (
    CrossEncoder,
    Detector,
    Generator,
    GeneratorPrompts,
    ImageEncoder,
    QFormer,
    QFormerClassifier,
    Reader,
    Role,
    Roles,
    Scorer,
    TextEncoder,
    TextScorer,
    VisionScorer,
    picture_sizes,
    role_files,
)

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Channels",
    "CrossEncoder",
    "Detector",
    "EvidenceLimits",
    "FileEntry",
    "Generator",
    "GeneratorPrompts",
    "Grid",
    "ImageEncoder",
    "Manifest",
    "Normalised",
    "Patched",
    "QFormer",
    "QFormerClassifier",
    "Reader",
    "Role",
    "Roles",
    "Scorer",
    "Size",
    "TextEncoder",
    "TextScorer",
    "Thresholds",
    "Views",
    "VisionScorer",
    "graphs",
    "picture_sizes",
    "role_files",
]
