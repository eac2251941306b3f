"""pocketworld: the fictional world that the starter models learned, made from a seed.

Rooms, lowest first: drawing (shapes on a picture); this one (the world, its articles and scenes, and what questions
are made with); families (one function a question family); questions (which of them, in which shares); dataset (files).
Everything here is plain Python, numpy and Pillow; nothing knows about models or training.
"""
