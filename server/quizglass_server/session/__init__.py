"""Dialogues and wearables' sessions. Knows no gRPC, no messages of the wire and no models.

*A dialogue that its client carries* (`dialogue`, `references`, `token`, `keys`): what a turn takes from the ones
before, and the signed token it travels in; nothing is kept between two turns but the key.

*A session* (`directory`, `session`): what a client says and hears over links that come and go (`link`, `log`),
its frames (`frames`), its questions (`turns`) and what they are about (`asked`), and how much of an answer was heard
(`segments`, `heard`).
"""
