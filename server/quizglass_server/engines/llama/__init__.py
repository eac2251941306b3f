"""llama.cpp in a process of its own.

llama.cpp aborts its process on failed assertions, so it runs in a child that the server supervises:

    server                                            generator process
    process/  supervised, started, called             child/     command line, methods, the engine's thread
              link/  frames, messages, values         engine/    one step after the other, for many requests
                                                      costs/     what steps cost here
                                                      prefixes/  what the KV cache holds, shares and saves
                                                      native/    llama.cpp's C calls, and the proof that they work

Nothing outside this package knows the private messages or llama.cpp.
"""
