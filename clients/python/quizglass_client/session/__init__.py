"""A wearable's session: one link that is made anew when it breaks, and what goes over it.

Programs use `aio` and `sync`, which is generated from it. `core` has the session, `turns` what comes of a question,
`frames` its pictures, `outgoing` what is to be sent, and `position` what has come. `reconnect` makes one `link` after
the other, and `liveness` says when one is dead. Only `reconnect` and `link` know gRPC.
"""
