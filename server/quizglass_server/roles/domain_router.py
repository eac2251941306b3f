"""The domain router: BLIP-2's Q-Former (Li et al. 2023) with a head names the kind of a question."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import graphs
from quizglass_bundle.inputs.prompts import clean
from quizglass_bundle.inputs.text_rows import TextTokenizer
from quizglass_bundle.parts import DomainRouterPart
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.grids import Grids
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import checked, softmax
from quizglass_server.roles.shared.question_graph import Asked, QuestionGraph


class DomainRouter(Protocol):
    """Tells what kind of question is asked about what kind of picture."""

    async def domains(self, picture: Picture, question: str) -> list[tuple[str, float]]:
        """Every domain that the model knows, with its probability."""
        ...


DOMAIN_ROUTER = RoleKey[DomainRouter]("domain_router")


class OnnxDomainRouter:
    """Which domain a question about a picture belongs to."""

    def __init__(self, spec: DomainRouterPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or gives other logits than the manifest says.
        """
        self.labels = spec.labels
        """Names of the domains."""
        self._fitter = loading.fitter
        self._tokenizer = TextTokenizer(loading.files.path(spec.tokenizer), spec.max_tokens)
        sized = [
            (size, QuestionGraph(name, size, spec.max_tokens, "logits", self._probabilities, loading))
            for size, name in graphs(spec)
        ]
        self._graphs = Grids(sized)
        self.executor = self._graphs.first.executor
        """What runs it: tensorrt, cuda or cpu."""
        for _, graph in sized:
            if not graph.asks:
                raise BundleError(f"{spec.model}: the model has no input 'input_ids', which a domain router reads")
            graph.warm_up(self._tokenizer.rows(["a"])[0])

    async def domains(self, picture: Picture, question: str) -> list[tuple[str, float]]:
        """Every domain with its probability, in the order of the manifest; a long question is cut at its end."""
        graph = self._graphs.fitting(picture.width, picture.height)

        def asked() -> list[Asked]:
            return [Asked(self._fitter.fit(picture, graph.size), self._tokenizer.rows([clean(question)])[0])]

        (probabilities,) = await graph.run(asked)
        return list(zip(self.labels, map(float, probabilities), strict=True))

    def _probabilities(self, logits: NDArray[np.float32], rows: int, name: str) -> list[NDArray[np.float64]]:
        return list(softmax(checked(logits, (rows, len(self.labels)), name)))
