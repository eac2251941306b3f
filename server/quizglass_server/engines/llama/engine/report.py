"""What an engine says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quizglass_server.engines.llama.engine.liveness import Pulse
from quizglass_server.engines.llama.link.prompt import Vitals

if TYPE_CHECKING:
    from quizglass_server.engines.llama.engine.engine import Engine


def vitals(engine: Engine, pulse: Pulse) -> Vitals:
    """How an engine is; for any thread, so that some numbers may be a step older than others."""
    costs, ledger, encoder = engine.scheduler.costs, engine.prefixes.ledger, engine.encoder
    active = sum(request.held is not None for request in tuple(engine.scheduler.requests))
    return Vitals(
        beat=pulse.last,
        busy=pulse.busy,
        active=active,
        waiting=max(0, engine.pending - active),
        cells_used=ledger.size - ledger.free,
        cells=ledger.size,
        decode_steps=engine.decode_steps,
        encoded_pictures=engine.encoded_pictures,
        kept=len(engine.prefixes),
        reused_tokens=engine.reused_tokens,
        prefilled_tokens=engine.prefilled_tokens,
        step_us=costs.step_us,
        prefill_us=int(costs.piece_cost(costs.alone)),
        piece=costs.alone,
        encoding_us=encoder.encoding_us,
        encode_us=int(encoder.encode_us),
    )
