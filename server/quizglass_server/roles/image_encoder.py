"""The image encoder: pictures to vectors of length one, so that a dot product is a cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import graphs
from quizglass_bundle.hashes import fingerprint
from quizglass_bundle.parts import ImageEncoderPart
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.roles.shared.grids import PictureGraphs
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import normalised


class ImageEncoder(Protocol):
    """Embeds pictures for image search."""

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that makes a picture's vector: vectors of different fingerprints do not compare."""
        ...

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        """One vector a picture."""
        ...


IMAGE_ENCODER = RoleKey[ImageEncoder]("image_encoder")


class OnnxImageEncoder:
    """A picture to a vector."""

    def __init__(self, spec: ImageEncoderPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: the model file is damaged or gives other vectors than the manifest says.
        """
        self.dimension = spec.dimension
        """Length of the vectors."""
        self.fingerprint = fingerprint(
            graphs=[
                [loading.files.sha256(name), size.model_dump(mode="json", exclude_defaults=True)]
                for size, name in graphs(spec)
            ]
        )
        """Hash of every graph, and of how pictures are put into it."""
        self._graphs = PictureGraphs(spec, "image_embeds", self._vectors, loading)
        self.executor = self._graphs.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        """One vector a picture, float32 [dimension]; one that is there several times is embedded once."""
        return await self._graphs.rows(pictures)

    def _vectors(self, values: NDArray[np.float32], _: int, name: str) -> list[Vector]:
        return list(normalised(values, self.dimension, name))
