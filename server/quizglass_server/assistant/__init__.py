"""What a request may ask: a turn, a search, a recollection.

Knows no transport: what comes in and goes out are the words of `domain`.
"""
