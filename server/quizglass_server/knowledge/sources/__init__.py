"""Sources of knowledge beside the store: what a source is, those that come with the server, and how they are asked.

A source is a stranger: it may hang, die, lie or send too much. `guarded.py` is the only way in, and bounds all of that.
"""
