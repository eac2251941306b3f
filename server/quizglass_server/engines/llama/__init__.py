"""llama.cpp in a process of its own.

llama.cpp aborts its process on failed assertions, so it runs in a child that the server supervises:

    parent                                            child
    supervisor  keeps a process serving               child      command line, watches for the parent's death
    process     starts one and ends it                proof      that it computes what it should, before it serves
    spawn       the system calls of that              service    methods of `quizglass.internal.v1`
    heartbeat   tells a hang from hard work           worker     the engine's thread, and its face to the event loop
    breaker     when to start the next                engine     one step after the other, for many requests together
    state       where prefixes outlive a restart      native     llama.cpp's C calls
    client      typed calls over one connection

`link` carries their messages over a pair of sockets that has no name in any directory, `wire` turns plain types into
messages and back, `pixels` lets a picture cross once, and `prompt` has the plain types.
"""
