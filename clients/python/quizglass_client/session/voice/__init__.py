"""Sound of a session: where that of a question comes from (`audio`, `device`), how it is sent so that nothing is lost
(`upload`), and how far an answer's was played (`playback`).
"""
