"""What is wrong with a frame as the camera took it: `statistics` are numbers of its pixels, `coach` judges them.

Knows pictures and the gate for words; no session, no turn and no wire.
"""
