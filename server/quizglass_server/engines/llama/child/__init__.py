"""The generator process itself: its command line, its methods, and the thread that the engine runs on.

Knows the engine and the link to the server; nothing of the server's rooms but how a thread gives way to others.
"""
