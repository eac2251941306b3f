"""One turn: its picture, budget and journal, the models it shares with others, and how a step is run and told of.

Knows no policy and no transport.
"""
