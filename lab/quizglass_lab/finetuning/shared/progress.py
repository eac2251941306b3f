"""Progress bars on standard error, one a phase."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Progress:
    """Shows how far a command is.

    Args:
        quiet: show nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    def phase(self, name: str, total: int) -> Callable[[int], None]:
        """Begin a phase; returns what counts its items."""
        from tqdm import tqdm  # --help needs none of the exporter's packages

        bar: tqdm[None] = tqdm(total=total, desc=name, file=sys.stderr, disable=self.quiet, dynamic_ncols=True)

        def tick(count: int) -> None:
            bar.update(count)
            if bar.n >= total:
                bar.close()

        return tick

    @contextmanager
    def counting(self, name: str) -> Iterator[Callable[[int], None]]:
        """A phase of which it is not known how many items there are; gives what counts them."""
        from tqdm import tqdm

        with tqdm(desc=name, file=sys.stderr, disable=self.quiet, dynamic_ncols=True) as bar:
            yield bar.update
