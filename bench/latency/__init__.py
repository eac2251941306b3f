"""How long turns take, where their time goes, and the same of a peer: the server as it was at another commit.

`setup` is what every section works with, `peer` runs the server of another commit, `timed` asks and keeps one turn;
the other modules are one section each.
"""
