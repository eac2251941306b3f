"""Says where a server's page is, and keeps a server of one's own for it until the user has had enough."""

from __future__ import annotations

import signal
from contextlib import suppress

from rich.console import Console


def show_page(console: Console, address: str, *, later: str, stay: bool) -> None:
    """Print the page's address, and wait for Ctrl+C at a terminal.

    Args:
        console: where it is printed.
        address: of the page.
        later: what serves it again after this, and where.
        stay: whether to wait.
    """
    console.print(f"\nIn a browser, with a camera or any picture: [bold]{address}[/]")
    if not stay:
        console.print(f"That ends with this demo; {later}")
        return
    with suppress(KeyboardInterrupt):  # which may come as soon as the line is there
        console.print("The server goes on for it until you press Ctrl+C.")
        signal.pause()
