"""llama.cpp in a process of its own.

llama.cpp aborts its process on failed assertions, so it runs in a child that the server supervises:

    parent                                           child
    supervisor  starts it, notices its death,        child      command line, watches for the parent's death
                restarts it with backoff             service    gRPC servicer over a Unix socket
    client      typed calls over one connection      worker     one engine thread, requests first come, first served
                                                     engine     prompts and greedy decoding
                                                     sequences  prompts kept for reuse
                                                     native     llama.cpp's C calls

This package is the one exception to the rule that only `rpc/` knows gRPC: `client` and `service` speak the internal
protocol `quizglass.internal.v1`, and nothing outside this package sees it.
"""
