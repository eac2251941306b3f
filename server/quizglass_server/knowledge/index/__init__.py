"""What is derived from the truth for searching: vector graphs, the catalog of words, their snapshots."""
