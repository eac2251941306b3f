"""The server's side of the generator process: started, supervised, called, and started again.

Knows messages of the link and the system's processes; neither the engine nor what a prompt says.
"""
