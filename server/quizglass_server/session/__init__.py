"""Wearables' sessions. Knows no gRPC, no messages of the wire and no models.

A session (`directory`, `session`) is what a client says and hears over links that come and go (`link`, `log`): its
frames (`frames`) and what is done for them ahead (`looking`), its questions (`turns`) and what they are about
(`asked`), and how much of an answer was heard (`segments`, `heard`). What a question takes from those before it, in a
session and without one, is in `dialogue/`.
"""
