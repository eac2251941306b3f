"""What texts say, by their words alone: words, clauses, and whether one sentence follows from another.

Nothing here knows of turns, evidence or models.
"""
