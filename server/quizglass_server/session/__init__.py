"""Wearables' sessions. Knows no gRPC, no messages of the wire and no models.

A session (`directory`, `session`) is what a client says and hears over links that come and go (`link`, `log`): its
frames (`frames`), its questions (`turns`) and what they are about (`asked`), and how much of an answer was heard
(`segments`, `heard`). What a question takes from the ones before it, in a session and without one, is in `dialogue/`.
"""
