"""`quizglass ask`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from quizglass_client.sync import Client
from quizglass_client.terminal.output import OK, UsageError, print_json, stdout
from quizglass_client.terminal.show import TurnView
from quizglass_client.types import PictureLike


def ask(client: Client, arguments: argparse.Namespace) -> int:
    """Ask, and show the turn as it happens."""
    events = client.ask(
        arguments.question,
        picture(arguments.picture),
        history=[_exchange(text) for text in arguments.history],
        policy=arguments.policy,
        budget=arguments.budget,
        session=arguments.session,
        remember=arguments.remember,
        recall=arguments.recall,
    )
    view = TurnView(stdout())
    with closing(events):
        try:
            for event in events:
                if arguments.json:
                    print_json(event)
                else:
                    view.event(event)
        finally:
            view.interrupt()
    return OK


def picture(name: str | None) -> PictureLike | None:
    """Path of a picture that is there; "-" is none.

    Raises:
        UsageError: there is no such file.
    """
    if name is None or name == "-":
        return None
    path = Path(name)
    if not path.is_file():
        raise UsageError(f'{name} is no file; give a picture, or "-" for none')
    return path


def _exchange(text: str) -> tuple[str, str]:
    question, mark, answer = text.partition("=")
    if not mark or not question.strip():
        raise UsageError(f'--history {text!r} is not of the form "question=answer"')
    return question.strip(), answer.strip()
