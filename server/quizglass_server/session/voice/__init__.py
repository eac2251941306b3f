"""Speech in a session: spoken questions are heard, and answers are said aloud. Knows no wire and no speech server.

`sound` is what the session sees. `speeches` takes what the client says, `speech` is one spoken question: `intake` makes
its sound one of 16,000 samples a second, `endpoint` finds the voice in it, `barge_in` and `echo` tell it from an
answer's own, `commands` the words that need no answer.
`aloud` says answers. `pool` bounds what all sessions take. Sound is in memory alone, and gone with its transcript.
"""
