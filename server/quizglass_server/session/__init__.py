"""Wearables' sessions. Knows no gRPC, no messages of the wire and no models.

A session (`directory`, `session`) is what a client says and hears over links that come and go (`link`, `log`): its
frames (`frames`, `frame_sources`) and what is done for them ahead (`frame_preparation`), its questions (`turns`,
`asked_question`) and what they are about (`question_frames`), and how much of an answer was heard (`segments`,
`conversation`). What a question takes from those before it, in a session and without one, is in `dialogue/`;
what is wrong with a frame as it was taken, in `session/coaching/`.
"""
