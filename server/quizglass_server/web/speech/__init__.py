"""Speech as OpenAI's clients ask for it: `/v1/audio/transcriptions` and `/v1/audio/speech`.

Knows the two roles of speech, and no turns.
"""
