"""pocketworld: the fictional world that the starter models learned, made from a seed.

Everything here is plain Python, numpy and Pillow; nothing knows about models or training.
"""
