"""What turns have to do with the visual memory: what they leave in it, and when they are answered from it.

Nothing here runs for a turn that did not ask for it, or on a server without a memory, but for a word in `done.skipped`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from quizglass.values import AnswerDelta, Done, FinishReason, Plan, PlanMade
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.resources import Resources, VisualMemory
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.sightings import Seen, Sighting, SightingHit, SightingQuery
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Picture, StepDetail, Turn, Vector
from quizglass_server.errors import InvalidInput, MemoryOff, needed
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.ledger import handed, text_size
from quizglass_server.steps.lookup.image_search import embed_views
from quizglass_server.steps.lookup.parts.crop import WHOLE, View, views_of
from quizglass_server.steps.lookup.recall import (
    asks_for_sighting,
    last_seen,
    last_seen_by_name,
    recognised,
    told_sighting,
)
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts


async def recall(turn: Turn, runner: StepRunner, resources: Resources, journal: Journal) -> Draft | None:
    """The answer from the visual memory to a question for an earlier sighting, for a turn that opted in.

    Returns:
        None when the question is one for the policy: it asks for something else, or the memory is off, failed, too slow
        for the budget, or without the encoder that it would be searched with.
    """
    if not asks_for_sighting(turn.question):
        return None
    if resources.memory is None:
        journal.skip("recall", "MEMORY_OFF")
        return None
    if resources.filling(TEXT_ENCODER.name if turn.picture is None else IMAGE_ENCODER.name) is None:
        return None
    sightings = await runner.run(_last_seen, turn, resources)
    if sightings is None:
        return None
    plan = Plan.TEXT if turn.picture is None else Plan.IMAGE
    journal.searched = True
    journal.emit(PlanMade(plan, "memory"))
    draft, now = Draft(finish=FinishReason.COMPLETE), datetime.now()
    for evidence in journal.found([told_sighting(hit, now) for hit in sightings]):
        draft = replace(draft, text=evidence.text)
        journal.emit(AnswerDelta(evidence.text))
    return draft


def remember(turn: Turn, done: Done | None, resources: Resources, journal: Journal) -> None:
    """Hand a turn that is over, and asked for it, to the memory. `done` is None when it failed."""
    picture, memory = turn.picture, resources.memory
    if memory is None or picture is None:
        return
    answer = done.answer if done is not None and not done.abstain_reason else ""
    sighting = Sighting(
        turn.id, int(time.time()), picture.sha256, turn.session, turn.question, answer, recognised(journal.evidence)
    )
    views = tuple(dict.fromkeys((WHOLE, *views_of("", resources.tuning.views))))  # any may be looked for one day
    memory.remember(Seen(sighting, picture, lambda: _vectors(resources, picture, views)))


def note_remembered(turn: Turn, done: Done, resources: Resources, journal: Journal) -> None:
    """Count what `remember` is about to hand to the memory, since the turn's end is sent first."""
    if turn.picture is not None and resources.memory is not None:
        texts = (turn.question, "" if done.abstain_reason else done.answer, *recognised(journal.evidence))
        handed("memory", turn.picture.pixels.nbytes + text_size(*texts))


def note_unremembered(turn: Turn, resources: Resources, journal: Journal) -> None:
    """Note for the turn's end why it is not remembered, though it asked for it."""
    if resources.memory is None:
        journal.skip("remember", "MEMORY_OFF")
    elif turn.picture is None:
        journal.skip("remember", "NO_PICTURE")


async def search_memory(
    resources: Resources, text: str, picture: Picture | None, query: SightingQuery
) -> list[SightingHit]:
    """Sightings that look like a picture, fit a text, or (with neither) the latest.

    Raises:
        InvalidInput: both text and picture are given.
        MemoryOff: the server has no memory.
        RoleMissing: the bundle lacks the encoder.
    """
    memory, models = resources.memory, resources.models
    if memory is None:
        raise MemoryOff
    if text and picture is not None:
        raise InvalidInput("text", "give a text or a picture, not both")
    if picture is not None:
        if query.least_score is None:
            query = replace(query, least_score=resources.tuning.image_accept)
        return await memory.by_picture(await _vectors(resources, picture, [WHOLE]), query)
    if not text:
        return await memory.latest(query)
    encoder = needed(models[TEXT_ENCODER], "text_encoder", "searching the memory by text")
    (vector,) = await encoder.embed_queries([text])
    return await memory.by_text(vector, text, query)


def _told_recall(sightings: list[SightingHit] | None, turn: Turn, _: Resources) -> Telling:
    seen = (StepDetail("sighting", hit.sighting.id, hit.score) for hit in sightings or ())
    return texts("question", turn.question), seen


@step("recall", role="memory", optional=True, told=_told_recall)
async def _last_seen(memory: VisualMemory, turn: Turn, resources: Resources) -> list[SightingHit]:
    """The last sighting of the thing in the picture, or of the one that the question names; none, or one."""
    if turn.picture is not None:
        look = partial(_vectors, resources, turn.picture)
        hit = await last_seen(memory, look, turn.question, resources.tuning)
    else:
        encoder = needed(resources.models[TEXT_ENCODER], "text_encoder", "searching the memory by text")
        hit = await last_seen_by_name(memory, encoder, turn.question)
    return [] if hit is None else [hit]


async def _vectors(resources: Resources, picture: Picture, views: Sequence[View]) -> list[Vector]:
    encoder = needed(resources.models[IMAGE_ENCODER], "image_encoder", "the visual memory")
    return await resources.vectors(picture, views, lambda missing: embed_views(encoder, picture, missing))
