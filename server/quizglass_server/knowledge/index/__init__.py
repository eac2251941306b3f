"""What is derived from the database for searching: vector graphs, the catalog of words, their snapshots."""
