"""How a search is answered from the indexes and the database, and how its results are ranked."""
