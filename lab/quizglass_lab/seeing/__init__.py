"""Trains the roles by which a turn sees: the detector, the coarse reranker and the domain router of the starter bundle.

Each is a stage of `quizglass-lab starter`. They start from the starter's image and text encoders and know nothing of
the base model.
"""
