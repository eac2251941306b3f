"""Questions as OpenAI's clients ask them: `/v1/chat/completions` and `/v1/models`.

A model is a policy. What came in is a `Question` for `assistant/asking.py`, what goes out is made of the turn's events.
"""
