"""The `quizglass` command."""

from quizglass_client.cli.command import main

__all__ = ["main"]
