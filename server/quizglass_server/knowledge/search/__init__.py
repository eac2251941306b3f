"""How a search is answered from the indexes and the database, and how its results are ranked.

Is given vectors and words; knows no encoder.
"""
