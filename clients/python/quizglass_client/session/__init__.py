"""A wearable's session: one link that is made anew when it breaks, and what goes over it.

Programs use `aio` and `sync`, which is generated from it. `core` keeps the link, `outgoing` has what is to be sent over
it, `turns` what comes of a question. Only `core` and `link` know gRPC.
"""
