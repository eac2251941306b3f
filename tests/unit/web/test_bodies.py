"""Bodies that come in at once leave the event loop to others."""

import asyncio
from collections import Counter

from quizglass_server.web.http.bodies import Bodies


async def test_few_pieces_are_received_in_one_iteration_of_the_event_loop():
    bodies = Bodies(1 << 20, 60.0)
    iteration, received = 0, []

    async def receive():
        received.append(iteration)
        return {"type": "http.request"}

    pieces = asyncio.gather(*(bodies.next_piece(receive) for _ in range(60)))
    while not pieces.done():
        iteration += 1
        await asyncio.sleep(0)
    assert len(received) == 60
    assert max(Counter(received).values()) <= 10  # what comes between two of our turns is of two iterations


async def test_a_piece_that_is_given_up_leaves_its_turn_to_the_next():
    bodies = Bodies(1 << 20, 60.0)

    async def receive():
        return {"type": "http.request"}

    pieces = [asyncio.create_task(bodies.next_piece(receive)) for _ in range(60)]
    await asyncio.sleep(0)
    for piece in pieces[4:40]:
        piece.cancel()
    ended = await asyncio.wait_for(asyncio.gather(*pieces, return_exceptions=True), 120)
    assert [isinstance(each, asyncio.CancelledError) for each in ended] == [4 <= number < 40 for number in range(60)]
