"""What is derived from the database for searching: vector graphs, the catalog of words, their snapshots.

Everything here can be made again from the database; nothing here embeds or ranks.
"""
