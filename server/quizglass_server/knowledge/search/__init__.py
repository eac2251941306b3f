"""How a search is answered from indexes and truth, and how its results are ranked."""
